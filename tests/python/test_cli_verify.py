"""`headrace verify`: every damage is found, at its shard, member and byte."""

import json
import random
import shutil
import tarfile
from pathlib import Path

import pytest
from program import flip, make_tar, ok, run, shards_of, table


def verify(folder, *options):
    done = run("verify", folder, "--json", "--quiet", *options)
    return done.returncode, json.loads(done.stdout) if done.stdout else json.loads(done.stderr)


def found(report, kind):
    return [f for f in report["findings"] if f["kind"] == kind]


def member(shard: Path, number: int) -> tarfile.TarInfo:
    with tarfile.open(shard) as tar:
        return tar.getmembers()[number]


def test_verify_of_an_intact_set(packed):
    code, report = verify(packed)
    assert code == 0 and report["ok"] and report["findings"] == []
    assert report["samples"] == 60 and report["bytes"] == sum(
        s.stat().st_size for s in shards_of(packed)
    )
    assert verify(packed, "--quick")[0] == 0
    assert b"all is well" in run("verify", packed).stderr
    assert run("verify", packed, "--quiet").stderr == b""


@pytest.mark.parametrize("byte", [0, 100, 125, 148, 156, 257])
def test_a_flipped_header_byte_is_found_at_its_member(packed, byte):
    shard = shards_of(packed)[3]
    hit = member(shard, 5)
    flip(shard, hit.offset + byte)
    code, report = verify(packed)
    (finding,) = found(report, "header")
    assert code == 4
    place = (finding["shard"], finding["member"], finding["offset"])
    assert place == (str(shard), hit.name, hit.offset)
    assert [f["shard"] for f in found(report, "checksum")] == [str(shard)]


def test_all_damages_of_one_shard_are_found(packed):
    shard = shards_of(packed)[1]
    hits = [member(shard, n) for n in (2, 9, 15)]
    for hit in hits:
        flip(shard, hit.offset + 3)
    _, report = verify(packed)
    assert [f["offset"] for f in found(report, "header")] == [h.offset for h in hits]


def test_a_flipped_payload_byte_is_found(packed):
    shard = shards_of(packed)[2]
    flip(shard, member(shard, 4).offset_data)
    code, report = verify(packed)
    (finding,) = report["findings"]
    hit = member(shard, 4)
    assert code == 4 and finding["kind"] == "checksum" and finding["shard"] == str(shard)
    assert (finding["member"], finding["offset"]) == (hit.name, hit.offset_data)


def test_every_changed_member_is_named(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    rng = random.Random(3)
    for i, size in enumerate((0, 1, 511, 512, 70_000, 5_000_000, 300_000)):  # of many pieces too
        (source / f"{i}.bin").write_bytes(rng.randbytes(size))
    ok("pack", source, "--out", tmp_path / "packed", "--quiet")
    (shard,) = shards_of(tmp_path / "packed")
    with tarfile.open(shard) as tar:
        members = [m for m in tar.getmembers() if m.size > 0]
    hits = [(members[n], at) for n, at in ((0, 0), (2, 511), (4, 4_999_999), (5, 150_000))]
    for hit, at in hits:
        flip(shard, hit.offset_data + at)
    wanted = [(hit.name, hit.offset_data) for hit, _ in hits]
    report = verify(tmp_path / "packed")[1]
    assert [(f["member"], f["offset"]) for f in found(report, "checksum")] == wanted

    # An index of others' shards knows them as well.
    for hit, at in hits:
        flip(shard, hit.offset_data + at)
    shutil.copytree(tmp_path / "packed", tmp_path / "theirs", ignore=lambda *_: ["_headrace"])
    (tmp_path / "theirs/headrace.json").unlink()
    ok("index", tmp_path / "theirs", "--quiet")
    assert verify(tmp_path / "theirs")[0] == 0
    for hit, at in hits:
        flip(shards_of(tmp_path / "theirs")[0], hit.offset_data + at)
    report = verify(tmp_path / "theirs")[1]
    assert [(f["member"], f["offset"]) for f in found(report, "checksum")] == wanted


def test_a_flipped_padding_byte_is_found_at_its_place(packed):
    shard = shards_of(packed)[2]
    hit = member(shard, 4)
    offset = hit.offset_data + hit.size + 3
    flip(shard, offset)
    code, report = verify(packed)
    (finding,) = found(report, "padding")
    assert code == 4
    place = (finding["shard"], finding["member"], finding["offset"])
    assert place == (str(shard), hit.name, offset)


def test_a_flip_anywhere_in_a_shard_is_found(packed):
    shard = shards_of(packed)[5]
    data = shard.read_bytes()
    for offset in range(0, len(data), 331):
        changed = bytearray(data)
        changed[offset] ^= 0x10
        shard.write_bytes(changed)
        code, report = verify(packed)
        assert code == 4 and {f["shard"] for f in report["findings"]} == {str(shard)}, offset


@pytest.mark.parametrize("name", ["index", "keys", "places", "shards"])
def test_a_flip_in_a_table_is_found(packed, name):
    path = table(packed, name)
    size = path.stat().st_size
    original = path.read_bytes()
    for offset in (0, size // 2, size - 1):
        flip(path, offset)
        for options in ([], ["--quick"]):
            code, report = verify(packed, *options)
            assert code == 4
            assert str(path) in [f["shard"] for f in found(report, "table")]
        path.write_bytes(original)
    path.write_bytes(original[:-1])
    assert verify(packed)[0] == 4
    path.unlink()
    code, report = verify(packed)
    assert code == 3
    assert [f["shard"] for f in found(report, "missing")] == [str(path)]


def test_a_changed_root_is_found(packed):
    root = packed / "headrace.json"
    text = root.read_text()
    fingerprint = json.loads(text)["fingerprint"]
    for changed in (
        text[:-10],
        "",
        "[]",
        text.replace(fingerprint, "0" * 64),
        text.replace('"samples"', '"sanples"'),
    ):
        root.write_text(changed)
        code, report = verify(packed)
        assert code == 4 and found(report, "manifest"), changed
    fields = json.loads(text)["fields"]
    fields[0]["samples"] -= 1
    root.write_text(json.dumps({**json.loads(text), "fields": fields}))
    code, report = verify(packed)
    assert code == 4 and found(report, "manifest")


def test_a_cut_at_every_member_boundary_is_found(packed):
    shard = shards_of(packed)[4]
    data = shard.read_bytes()
    with tarfile.open(shard) as tar:
        members = tar.getmembers()
    boundaries = [m.offset for m in members] + [len(data) - 1024, len(data) - 512]
    for cut in boundaries:
        shard.write_bytes(data[:cut])
        for options in ([], ["--quick"]):
            code, report = verify(packed, *options)
            (finding,) = report["findings"]
            assert code == 4 and finding["kind"] == "truncated"
            assert (finding["shard"], finding["offset"]) == (str(shard), cut)
        behind = [m.name for m in members if m.offset >= cut]
        _, report = verify(packed)
        assert report["findings"][0].get("member") == (behind[0] if behind else None)


def test_a_cut_anywhere_is_found(packed):
    shard = shards_of(packed)[4]
    data = shard.read_bytes()
    for cut in range(1, len(data), 777):
        shard.write_bytes(data[:cut])
        code, report = verify(packed)
        assert code == 4 and found(report, "truncated")[0]["offset"] == cut


def test_a_missing_shard_is_found(packed):
    shard = shards_of(packed)[0]
    shard.unlink()
    for options in ([], ["--quick"]):
        code, report = verify(packed, *options)
        (finding,) = report["findings"]
        assert code == 3 and finding["kind"] == "missing" and finding["shard"] == str(shard)


def test_appended_bytes_are_found(packed):
    shard = shards_of(packed)[1]
    size = shard.stat().st_size
    for extra in (b"x", b"garbage" * 1000, bytes(512)):
        with open(shard, "r+b") as file:
            file.truncate(size)
            file.seek(size)
            file.write(extra)
        code, report = verify(packed)
        (finding,) = report["findings"]
        assert code == 4 and finding["kind"] == "size"
        assert (finding["shard"], finding["offset"]) == (str(shard), size)


def test_swapped_shards_are_found_and_named(packed):
    a, b = shards_of(packed)[1:3]
    first, second = a.read_bytes(), b.read_bytes()
    a.write_bytes(second)
    b.write_bytes(first)
    code, report = verify(packed)
    assert code == 4
    assert {str(a), str(b)} == {f["shard"] for f in report["findings"]}
    messages = [f["message"] for f in found(report, "checksum")]
    if len(first) == len(second):
        assert f"this is the content of {b}" in messages


def test_a_shard_copied_over_its_twin_is_named(tmp_path):
    source = tmp_path / "src"
    source.mkdir()
    for i in range(4):
        (source / f"{i}.bin").write_bytes(bytes([i]) * 100)
    out = tmp_path / "set"
    ok("pack", source, "--out", out, "--samples", "2", "--quiet")
    a, b = shards_of(out)
    b.write_bytes(a.read_bytes())
    code, report = verify(out)
    assert code == 4
    assert f"this is the content of {a}" in [f["message"] for f in found(report, "checksum")]
    places = [(f["member"], f["offset"]) for f in found(report, "index")]
    assert places == [("0.bin", 0), ("1.bin", 1024)]


def test_objects_that_nobody_named_are_warnings(packed):
    (packed / "extra.tar").write_bytes(shards_of(packed)[0].read_bytes())
    code, report = verify(packed)
    (finding,) = report["findings"]
    assert code == 0 and finding["severity"] == "warning" and finding["kind"] == "unexpected"
    assert finding["shard"] == str(packed / "extra.tar")
    assert verify(packed, "--strict")[0] == 4


def test_findings_are_limited_but_all_are_counted(packed):
    for shard in shards_of(packed):
        shard.write_bytes(shard.read_bytes()[:512])
    _, report = verify(packed, "--max-findings", "2")
    assert len(report["findings"]) == 2 and report["errors"] == 6


def test_threads_do_not_change_the_report(packed):
    for n, shard in enumerate(shards_of(packed)):
        flip(shard, member(shard, n).offset)
    assert verify(packed, "--threads", "1") == verify(packed, "--threads", "4")


def test_without_a_manifest_the_structure_is_checked(tmp_path):
    make_tar(tmp_path / "0.tar", ["a.txt", "b.txt", "c.txt"])
    make_tar(tmp_path / "1.tar", ["d.txt", "b.txt"])
    code, report = verify(tmp_path)
    assert code == 0 and not report["manifest"] and report["samples"] == 5
    assert found(report, "unprotected")
    (twice,) = found(report, "duplicate_key")
    place = (twice["shard"], twice["member"], twice["offset"])
    assert place == (str(tmp_path / "1.tar"), "b", 1024)
    assert "0.tar at byte 1024" in twice["message"]
    assert verify(tmp_path, "--strict")[0] == 4

    shard = tmp_path / "0.tar"
    data = shard.read_bytes()
    shard.write_bytes(data[:2048])  # between two members: cannot be told for sure
    code, report = verify(tmp_path)
    assert code == 0 and found(report, "end")[0]["offset"] == 2048
    shard.write_bytes(data[:1700])
    code, report = verify(tmp_path)
    (finding,) = found(report, "truncated")
    assert code == 4 and (finding["shard"], finding["member"]) == (str(shard), "b.txt")
    shard.write_bytes(b"")
    assert found(verify(tmp_path)[1], "truncated")


def test_a_field_that_comes_twice_is_found(tmp_path):
    make_tar(tmp_path / "0.tar", ["a.txt", "a.txt"])
    code, report = verify(tmp_path)
    (finding,) = found(report, "duplicate_key")
    assert code == 4 and finding["member"] == "a.txt" and finding["offset"] == 1024


def test_text_findings_say_shard_member_and_byte(packed):
    shard = shards_of(packed)[0]
    hit = member(shard, 1)
    flip(shard, hit.offset + 1)
    done = run("verify", packed)
    assert done.returncode == 4
    assert f"(shard {shard}, member {hit.name}, at byte {hit.offset})" in done.stdout.decode()
    assert b"errors" in done.stderr


def places(report):
    return {(f["kind"], Path(f["shard"]).name) for f in report["findings"]}


def test_keys_that_come_again_in_another_shard_are_named_with_both_places(tmp_path):
    make_tar(tmp_path / "0.tar", ["a.txt", "b.txt"])
    make_tar(tmp_path / "1.tar", ["c.txt", "a.txt"])
    ok("index", tmp_path)
    code, report = verify(tmp_path)
    (twice,) = report["findings"]
    assert code == 0 and report["manifest"] and twice["severity"] == "warning"
    place = (twice["kind"], twice["shard"], twice["member"], twice["offset"])
    assert place == ("duplicate_key", str(tmp_path / "1.tar"), "a", 1024)
    assert twice["message"].endswith(f"was there before, in {tmp_path / '0.tar'} at byte 0")
    assert verify(tmp_path, "--strict")[0] == 4


@pytest.fixture(params=["beside the files", "elsewhere"])
def loose(request, files, tmp_path):
    """(the files, their manifest): an indexed folder of loose files."""
    folder = tmp_path / "loose"
    shutil.copytree(files[0], folder)
    if request.param == "beside the files":
        ok("index", folder)
        return folder, folder
    ok("index", folder, "--out", tmp_path / "manifest")
    return folder, tmp_path / "manifest"


def test_intact_loose_files_have_no_findings(loose):
    code, report = verify(loose[1])
    assert code == 0 and report["findings"] == [] and report["samples"] == 60


def test_loose_files_that_changed_size_vanished_or_came_are_named(loose):
    folder, manifest = loose
    (folder / "cat/000.bin").write_bytes(b"")
    with open(folder / "cat/001.bin", "ab") as file:
        file.write(b"more")
    (folder / "dog/002.cls").unlink()
    code, report = verify(manifest)
    expected = {
        ("truncated", "cat/000.bin"),
        ("size", "cat/001.bin"),
        ("missing", "dog/002.cls"),
    }
    assert code == 4 and {(f["kind"], f["member"]) for f in report["findings"]} == expected

    (folder / "dog/new.bin").write_bytes(b"new")
    _, report = verify(manifest)
    assert [f["shard"] for f in found(report, "unexpected")] == [str(folder / "dog/new.bin")]


@pytest.mark.parametrize("out", ["manifest", "set/own"])
def test_shards_elsewhere_are_checked_and_looked_around(packed, tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)  # names relative and absolute mean the same folder
    (packed / "headrace.json").unlink()
    ok("index", packed, "--out", out)
    code, report = verify(out)
    assert code == 0 and report["findings"] == [] and report["samples"] == 60

    flip(packed / "shard-000002.tar", 3)
    (packed / "extra.tar").write_bytes((packed / "shard-000000.tar").read_bytes())
    (tmp_path / out / "stray.bin").write_bytes(b"")
    code, report = verify(out)
    assert code == 4
    assert places(report) == {
        ("unexpected", "extra.tar"),
        ("unexpected", "stray.bin"),
        ("header", "shard-000002.tar"),
        ("checksum", "shard-000002.tar"),
    }
