"""The command line, called as people call it: the built program, real files, exit codes."""

import io
import json
import os
import pty
import random
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _binary() -> str:
    named = os.environ.get("HEADRACE_BIN")
    built = [ROOT / ".venv/bin/headrace", ROOT / "build/release/cli/headrace"]
    candidates = [named] if named else built
    for candidate in candidates:
        if Path(candidate).is_file():
            return str(candidate)
    pytest.skip("the headrace program is not built", allow_module_level=True)


HEADRACE = _binary()


def run(*args, stdin=None, env=None, **kwargs):
    return subprocess.run([HEADRACE, *map(str, args)], input=stdin, capture_output=True,
                          env={**os.environ, **(env or {})}, timeout=60, **kwargs)


def ok(*args, **kwargs) -> bytes:
    done = run(*args, **kwargs)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """60 samples in two folders: {key: {field: bytes}}, and the folder that holds them."""
    folder = tmp_path_factory.mktemp("files")
    rng = random.Random(7)
    samples = {}
    for animal in ("cat", "dog"):
        (folder / animal).mkdir()
        for i in range(30):
            fields = {"bin": rng.randbytes(rng.randint(1, 1500)), "cls": b"%d" % (animal == "dog")}
            if i % 7 == 0:
                fields["txt"] = b"" if i == 7 else b"a note\n"
            samples[f"{animal}/{i:03}"] = fields
            for field, data in fields.items():
                (folder / animal / f"{i:03}.{field}").write_bytes(data)
    return folder, samples


@pytest.fixture
def packed(files, tmp_path):
    """A fresh data set of six shards, to be damaged."""
    out = tmp_path / "set"
    ok("pack", files[0], "--out", out, "--samples", "10", "--quiet")
    return out


def shards_of(folder: Path):
    return sorted(folder.glob("*.tar"))


def table(folder: Path, name: str) -> Path:
    (path,) = (folder / "_headrace").glob(name + "-*.bin")
    return path


def flip(path: Path, offset: int, bit: int = 1):
    data = bytearray(path.read_bytes())
    data[offset] ^= bit
    path.write_bytes(data)


def verify(folder, *options):
    done = run("verify", folder, "--json", "--quiet", *options)
    return done.returncode, json.loads(done.stdout) if done.stdout else json.loads(done.stderr)


def found(report, kind):
    return [f for f in report["findings"] if f["kind"] == kind]


# The frame


def test_alone_and_help_show_examples_first_and_fit_a_screen():
    for args in ([], ["--help"], ["help"]):
        lines = ok(*args).decode().splitlines()
        assert len(lines) <= 24
        assert "Examples:" in lines[2]
    for verb in ("ls", "cat", "info", "verify", "pack"):
        text = ok(verb, "--help").decode()
        assert text.index("Examples:") < text.index("Options:")


def test_help_comes_at_once():
    def seconds():
        start = time.perf_counter()
        ok("--help")
        return time.perf_counter() - start

    assert min(seconds() for _ in range(10)) < 0.05


def test_version():
    assert ok("--version").decode().startswith("headrace ")
    version = json.loads(ok("--version", "--json"))
    assert version["name"] == "headrace" and version["version"]


@pytest.mark.parametrize("args, hint", [
    (["verfy", "x"], "Did you mean 'headrace verify'?"),
    (["ls", "x", "--membres"], "Did you mean '--members'?"),
    (["ls", "x", "--limit", "many"], "--help"),
    (["ls"], "--help"),
    (["cat", "x"], ""),
])
def test_wrong_usage_exits_2_and_says_what_was_meant(args, hint):
    done = run(*args)
    assert done.returncode == 2 and done.stdout == b""
    assert done.stderr.startswith(b"error: ") and hint in done.stderr.decode()


def test_errors_are_json_with_json(tmp_path):
    done = run("info", tmp_path / "nothing", "--json")
    error = json.loads(done.stderr)["error"]
    assert done.returncode == error["exit"] == 3
    assert error["code"] == "not_found" and error["shard"].endswith("nothing")


def test_exit_codes(packed, tmp_path):
    assert run("info", packed).returncode == 0
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        listing = subprocess.run([HEADRACE, "ls", "-"], stdin=directory, capture_output=True)
        assert listing.returncode == 1
    finally:
        os.close(directory)
    assert run("info").returncode == 2
    assert run("info", tmp_path / "nothing").returncode == 3
    flip(packed / "headrace.json", 5)
    assert run("info", packed).returncode == 4
    half = tmp_path / "half"
    (half / "_headrace").mkdir(parents=True)
    (half / "_headrace/pending.json").write_text("{}")
    for verb in ("ls", "info", "verify"):
        assert run(verb, half).returncode == 5
    with open("/dev/full", "wb") as full:
        done = subprocess.run([HEADRACE, "--help"], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 8 and b"error: " in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_shard_exits_7(packed):
    (packed / "headrace.json").chmod(0)
    assert run("info", packed).returncode == 7


def stderr_on_terminal(args, **env):
    """What a command writes when standard error is a terminal."""
    ours, theirs = pty.openpty()
    subprocess.run([HEADRACE, *map(str, args)], stdout=subprocess.DEVNULL, stderr=theirs,
                   env={**os.environ, "TERM": "xterm", **env})
    os.close(theirs)
    text = os.read(ours, 10000)
    os.close(ours)
    return text


def test_colours_on_a_terminal_only_and_not_with_no_color(packed):
    args = ["cat", packed, "no such key"]
    without = {"NO_COLOR": ""}
    assert b"\x1b[" in stderr_on_terminal(args, **without)
    assert b"\x1b[" not in stderr_on_terminal(args, NO_COLOR="1")
    assert b"\x1b[" not in stderr_on_terminal(args, **without, TERM="dumb")
    assert b"\x1b" not in run(*args).stderr
    for verb in (["ls", packed], ["info", packed], ["verify", packed]):
        done = run(*verb)
        assert b"\x1b" not in done.stdout + done.stderr


def test_names_cannot_steer_the_terminal(tmp_path):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as tar:
        tar.addfile(tarfile.TarInfo("evil\x1b[31m\n.txt"))
    assert ok("ls", path) == b"evil\\x1b[31m\\x0a\ttxt=0\n"
    assert json.loads(ok("ls", path, "--json"))["key"] == "evil\x1b[31m\n"


def test_names_that_are_not_utf8_survive_json(tmp_path):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT, encoding="utf-8",
                      errors="surrogateescape") as tar:
        tar.addfile(tarfile.TarInfo("caf\udce9.txt"))
    assert b"caf\xe9\ttxt=0" in ok("ls", path)
    assert json.loads(ok("ls", path, "--json"))["key"] == "caf\udce9"


def test_ctrl_c_exits_130(tmp_path):
    waiting = subprocess.Popen([HEADRACE, "ls", "-"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.2)
    waiting.send_signal(signal.SIGINT)
    waiting.wait(5)
    assert waiting.returncode == 130

    huge = tmp_path / "huge.tar"  # sparse on disk: eight gigabytes of zeros
    info = tarfile.TarInfo("a.bin")
    info.size = 8 * 2**30 - 1
    huge.write_bytes(info.tobuf())
    os.truncate(huge, 512 + 8 * 2**30 + 1024)
    busy = subprocess.Popen([HEADRACE, "verify", huge, "--json"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    time.sleep(0.2)
    busy.send_signal(signal.SIGINT)
    _, stderr = busy.communicate(timeout=5)
    assert busy.returncode == 130
    assert json.loads(stderr)["error"]["code"] == "interrupted"


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    path = tmp_path / "many.tar"
    with tarfile.open(path, "w") as tar:
        for i in range(20000):
            tar.addfile(tarfile.TarInfo(f"{i:06}.txt"))
    listing = subprocess.Popen([HEADRACE, "ls", str(path)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert listing.stdout.read(6) == b"000000"
    listing.stdout.close()
    assert listing.wait(10) == 0
    assert listing.stderr.read() == b""


# ls, cat, info


def sample_lines(samples):
    def line(key, fields):
        return f"{key}\t" + " ".join(f"{name}={len(data)}" for name, data in sorted(fields.items()))

    return sorted(line(key, fields) for key, fields in samples.items())


def test_ls_has_a_line_a_sample(files, packed):
    assert sorted(ok("ls", packed).decode().splitlines()) == sample_lines(files[1])
    lines = [json.loads(line) for line in ok("ls", packed, "--json").splitlines()]
    sizes = {key: {f: len(data) for f, data in fields.items()} for key, fields in files[1].items()}
    assert {line["key"]: line["fields"] for line in lines} == sizes


def test_ls_members_is_what_tarfile_lists(packed):
    expected = []
    for shard in shards_of(packed):
        with tarfile.open(shard) as tar:
            expected += [(str(shard), m.offset_data, m.size, m.name) for m in tar]
    lines = [line.split("\t") for line in ok("ls", packed, "--members").decode().splitlines()]
    assert [(s, int(offset), int(size), name) for s, offset, size, name in lines] == expected
    parsed = [json.loads(line) for line in ok("ls", packed, "--members", "--json").splitlines()]
    assert [(m["shard"], m["offset"], m["size"], m["name"]) for m in parsed] == expected


def test_ls_filters(packed):
    assert len(ok("ls", packed, "--limit", "7").splitlines()) == 7
    assert len(ok("ls", packed, "--shard", "2").splitlines()) == 10
    by_name = ok("ls", packed, "--shard", shards_of(packed)[2].name)
    assert by_name == ok("ls", packed, "--shard", "2")
    assert run("ls", packed, "--shard", "77").returncode == 3


def test_ls_of_every_kind_of_source(files, packed):
    folder, samples = files
    expected = ok("ls", packed)
    shards = shards_of(packed)
    assert ok("ls", *shards) == expected
    first, last = shards[0].name.split(".")[0], shards[-1].name.split(".")[0]
    prefix = os.path.commonprefix([first, last])
    braces = f"{packed}/{prefix}{{{first[len(prefix):]}..{last[len(prefix):]}}}.tar"
    assert ok("ls", braces) == expected
    assert ok("ls", packed / "headrace.json") == expected
    (packed / "headrace.json").unlink()
    assert ok("ls", packed) == expected
    assert sorted(ok("ls", folder).decode().splitlines()) == sample_lines(samples)
    assert ok("ls", "-", stdin=shards[1].read_bytes()) == ok("ls", shards[1])
    members = ok("ls", "-", "--members", stdin=shards[1].read_bytes())
    assert [line.split(b"\t")[1:] for line in members.splitlines()] == [
        line.split(b"\t")[1:] for line in ok("ls", shards[1], "--members").splitlines()]


def test_ls_of_a_stream_that_is_cut_inside_a_member(packed):
    data = shards_of(packed)[0].read_bytes()
    assert run("ls", "-", stdin=data[:700]).returncode == 4
    assert run("ls", "-", stdin=b"").returncode == 4
    assert run("ls", "-", stdin=b"no tar at all" * 100).returncode == 4


def test_cat_gives_the_bytes_of_every_field(files, packed):
    for key, fields in files[1].items():
        for field, data in fields.items():
            assert ok("cat", packed, key, field) == data
    for number, line in enumerate(ok("ls", packed, "--limit", "3").decode().splitlines()):
        key = line.split("\t")[0]
        assert ok("cat", packed, "--at", number, "bin") == files[1][key]["bin"]


def test_cat_says_where_the_bytes_are(files, packed):
    place = json.loads(ok("cat", packed, "dog/004", "bin", "--json"))
    (field,) = place["fields"]
    with open(place["shard"], "rb") as shard:
        shard.seek(field["offset"])
        assert shard.read(field["size"]) == files[1]["dog/004"]["bin"]


def test_cat_of_loose_files(files):
    folder, samples = files
    assert ok("cat", folder, "cat/007", "txt") == samples["cat/007"]["txt"]


def test_cat_helps_when_it_cannot_find(packed):
    def stderr(*args, code):
        done = run("cat", packed, *args)
        assert done.returncode == code and done.stdout == b""
        return done.stderr.decode()

    assert "Did you mean 'dog/004'?" in stderr("dgo/004", "bin", code=3)
    assert "the key 'dog/004' and the field 'bin'" in stderr("dog/004.bin", code=3)
    several = stderr("dog/004", code=2)
    assert "bin (" in several and "cls (1 B)" in several
    assert "bin (" in stderr("dog/004", "jpg", code=3)
    assert "has 60" in stderr("--at", "60", "bin", code=3)


def make_tar(path, names, data=b"x"):
    with tarfile.open(path, "w") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def test_cat_of_an_ambiguous_key_names_the_places(tmp_path):
    make_tar(tmp_path / "0.tar", ["a.txt", "b.txt"], b"first")
    make_tar(tmp_path / "1.tar", ["c.txt", "a.txt"], b"second")
    done = run("cat", tmp_path, "a")
    assert done.returncode == 2
    hint = done.stderr.decode()
    assert "0.tar at byte 0" in hint and "1.tar at byte 1024" in hint
    assert ok("cat", tmp_path, "a", "--nth", "0") == b"first"
    assert ok("cat", tmp_path, "a", "--nth", "1") == b"second"
    assert run("cat", tmp_path, "a", "--nth", "2").returncode == 3
    assert ok("cat", tmp_path, "c") == b"second"


def test_info_counts(files, packed):
    _, samples = files
    info = json.loads(ok("info", packed, "--json"))
    assert (info["schema"], info["samples"], info["shards"], info["manifest"]) == (
        "headrace.info/1", 60, 6, True)
    assert info["bytes"] == sum(s.stat().st_size for s in shards_of(packed))
    assert info["shard_samples"] == {"min": 10, "median": 10, "max": 10}
    for field in info["fields"]:
        sizes = sorted(len(f[field["name"]]) for f in samples.values() if field["name"] in f)
        assert field["count"] == len(sizes) and field["bytes"] == sum(sizes)
        assert field["size"] == {"min": sizes[0], "median": sizes[(len(sizes) - 1) // 2],
                                 "max": sizes[-1]}
    counts = {c["label"]: c["count"] for c in info["classes"]["counts"]}
    assert counts == {"0": 30, "1": 30}
    assert any("sorted by class" in hint for hint in info["hints"])
    assert any("'txt' is missing in 50 samples" in hint for hint in info["hints"])
    text = ok("info", packed).decode()
    assert "60" in text and info["fingerprint"] in text


def test_info_without_a_manifest_is_the_same_data(packed):
    with_manifest = json.loads(ok("info", packed, "--json"))
    (packed / "headrace.json").unlink()
    without = json.loads(ok("info", packed, "--json"))
    assert not without["manifest"]
    assert any("headrace index" in hint for hint in without["hints"])
    for same in ("samples", "shards", "bytes", "fields", "shard_bytes", "classes"):
        assert with_manifest[same] == without[same]


def test_info_class_field_must_be_there(packed):
    assert run("info", packed, "--classes", "nope").returncode == 3
    assert run("info", packed, "--classes", "bin").returncode == 2


# verify


def member(shard: Path, number: int) -> tarfile.TarInfo:
    with tarfile.open(shard) as tar:
        return tar.getmembers()[number]


def test_verify_of_an_intact_set(packed):
    code, report = verify(packed)
    assert code == 0 and report["ok"] and report["findings"] == []
    assert report["samples"] == 60 and report["bytes"] == sum(
        s.stat().st_size for s in shards_of(packed))
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
    assert code == 4 and finding["kind"] == "checksum" and finding["shard"] == str(shard)


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
    for changed in (text[:-10], "", "[]", text.replace(fingerprint, "0" * 64),
                    text.replace('"samples"', '"sanples"')):
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
