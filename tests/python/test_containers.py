"""Compressed shards: the same data as plain ones, to the real tools and to every reader of ours."""

import gzip
import json
import random
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import headrace as hr
import pytest
import webdataset
from exactly_once import read_on_two_worlds
from program import flip, ok, run
from servers.nginx import nginx

# Each with the program that everybody unpacks it with.
KINDS = {
    "tar.zst": (".tar.zst", ["zstd", "-dc"]),
    "tgz": (".tgz", ["gzip", "-dc"]),
    "tar.lz4": (".tar.lz4", ["lz4", "-dc"]),
    "zip": (".zip", ["unzip", "-qt"]),
}
OPTIONS = ["--shard-size", "1MiB", "--no-fsync"]


def unpack(path: Path, command: list[str]) -> bytes:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not here")
    return subprocess.run([*command, str(path)], check=True, capture_output=True).stdout


def zip_members(path: Path) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return [(name, archive.read(name)) for name in archive.namelist()]


def tar_members(path: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        return [(m.name, archive.extractfile(m).read()) for m in archive]


def samples(location) -> list:
    return [(s.key, {f: bytes(s[f]) for f in s.fields}) for s in hr.open(str(location)).samples()]


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    rng = random.Random(5)
    words = ["river", "stone", "cloud", "lamp", "seven", "green"]
    for i in range(400):
        path = folder / f"c{i % 4}" / f"s{i:04}"
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".txt").write_text(" ".join(rng.choices(words, k=rng.randint(0, 4000))))
        path.with_suffix(".bin").write_bytes(rng.randbytes(rng.randint(0, 3000)))
        path.with_suffix(".cls").write_text(str(i % 4))
    # Longer than what is packed at once.
    (folder / "c9").mkdir()
    (folder / "c9" / "large.bin").write_bytes(rng.randbytes(3 << 20) + bytes(6 << 20))
    return folder


@pytest.fixture(scope="module")
def plain(source, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("plain") / "out"
    ok("pack", source, "--out", out, *OPTIONS)
    return out


@pytest.fixture(scope="module", params=KINDS)
def packed(request, source, tmp_path_factory) -> tuple[str, Path]:
    out = tmp_path_factory.mktemp(request.param.replace(".", "_")) / "out"
    ok("pack", source, "--out", out, "--container", request.param, *OPTIONS)
    return request.param, out


def test_the_real_tools_unpack_the_very_tar(packed, plain):
    kind, folder = packed
    suffix, command = KINDS[kind]
    shards = sorted(plain.glob("*.tar"))
    assert len(shards) > 2
    for shard in shards:
        there = folder / (shard.stem + suffix)
        unpacked = unpack(there, command)
        if kind == "zip":
            assert zip_members(there) == tar_members(shard)
        else:
            assert unpacked == shard.read_bytes()
        assert there.stat().st_size < shard.stat().st_size


def test_every_reader_sees_what_is_in_the_plain_shards(packed, plain):
    kind, folder = packed
    expected = samples(plain)
    assert samples(folder) == expected
    assert samples(str(folder / ("*" + KINDS[kind][0]))) == expected  # without the manifest
    many = hr.open(str(folder))
    for i in random.Random(1).sample(range(len(expected)), 50):
        key, fields = expected[i]
        assert {f: bytes(many[i][f]) for f in many[i].fields} == fields
        assert bytes(many[key]["bin"]) == fields["bin"]
    key = expected[17][0]
    assert ok("cat", folder, key, "txt") == expected[17][1]["txt"]
    assert ok("ls", folder) == ok("ls", plain)
    assert len(ok("ls", folder, "--members").splitlines()) == sum(len(f) for _, f in expected)
    info = json.loads(ok("info", folder, "--json"))
    assert info["container"] == {"tgz": "tar.gz"}.get(kind, kind)
    assert info["samples"] == len(expected)


def test_verify_reads_all_and_names_damage(packed, tmp_path):
    kind, folder = packed
    assert ok("verify", folder) is not None
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    shard = sorted(broken.glob("*" + KINDS[kind][0]))[1]
    flip(shard, shard.stat().st_size // 2)
    done = run("verify", broken)
    assert done.returncode == 4
    assert shard.name in (done.stdout + done.stderr).decode()
    with pytest.raises(hr.DataError, match=shard.name):
        samples(broken)


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_depend_on_nothing_but_the_input(kind, source, packed, tmp_path):
    if packed[0] != kind:
        return
    for threads in (1, 5):
        out = tmp_path / f"t{threads}"
        args = ["pack", source, "--out", out, "--container", kind, *OPTIONS]
        ok(*args, "--threads", threads)
        assert contents(out) == contents(packed[1])
    killed = tmp_path / "killed"
    args = ["pack", source, "--out", killed, "--container", kind, *OPTIONS]
    done = run(*args, env={"HEADRACE_CRASH_AT": "shard_committed:2"})
    assert done.returncode != 0
    ok(*args)
    assert contents(killed) == contents(packed[1])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_training_meets_each_sample_once(packed, tmp_path):
    read_on_two_worlds(str(packed[1]), tmp_path)


def test_over_a_network_too(packed, plain, tmp_path):
    with nginx(packed[1], tmp_path / "nginx") as server:
        read_on_two_worlds(server.url, tmp_path / "audits")
        assert samples(server.url) == samples(plain)


def test_rows_are_those_of_plain_shards(packed, plain):
    def epoch(folder):
        loader = hr.open(str(folder)).shuffle(seed=3, lanes=4).batch(32, tail="short").loader()
        return sorted(key for batch in loader for key in batch.keys)

    assert epoch(packed[1]) == epoch(plain)


WRITERS = {
    "gnu.tar.gz": "tar -czf {out} -C {src} .",
    "gnu.tgz": "tar -czf {out} -C {src} .",
    "pigz.tgz": "tar -cf - -C {src} . | pigz -c > {out}",
    "bgzip.tar.gz": "tar -cf - -C {src} . | bgzip -c > {out}",
    "one.tar.zst": "tar -cf - -C {src} . | zstd -qc > {out}",
    "many.tar.zst": "tar -cf - -C {src} . | pzstd -qc > {out}",
    "blocks.tar.lz4": "tar -cf - -C {src} . | lz4 -qc > {out}",
    "infozip.zip": "cd {src} && find . -type f | sort | zip -q {out} -@",
    "python.zip": "cd {src} && python3 -m zipfile -c {out} c0 c1 c2 c3 c9",
    "chained.tar.lz4": "tar -cf - -C {src} . | lz4 -qc -BD > {out}",
}


def by_key(found: list) -> dict[str, dict[str, bytes]]:
    """Writers list a folder in their own order: a sample may come in several pieces."""
    merged: dict[str, dict[str, bytes]] = {}
    for key, fields in found:
        merged.setdefault(key.removeprefix("./"), {}).update(fields)
    return merged


@pytest.mark.parametrize("name", WRITERS)
def test_archives_of_others_are_indexed_and_read(name, source, tmp_path):
    line = WRITERS[name].format(out=tmp_path / name, src=source)
    missing = [w for w in ("pigz", "bgzip", "zstd", "pzstd", "lz4", "zip") if f"| {w} " in line]
    if any(shutil.which(w) is None for w in missing):
        pytest.skip(f"{missing} is not here")
    subprocess.run(line, shell=True, check=True)
    subprocess.run(f"tar -cf {tmp_path / 'plain.tar'} -C {source} .", shell=True, check=True)
    expected = by_key(samples(tmp_path / "plain.tar"))
    assert by_key(samples(tmp_path / name)) == expected
    ok("index", tmp_path / name, "--out", tmp_path / "index")
    assert by_key(samples(tmp_path / "index")) == expected
    ok("verify", tmp_path / "index")
    ok("index", tmp_path / name, "--out", tmp_path / "index")  # nothing to do


def test_webdataset_reads_our_tgz_and_we_read_its(plain, source, tmp_path):
    ok("pack", source, "--out", tmp_path / "ours", "--container", "tgz", *OPTIONS)
    urls = [str(p) for p in sorted((tmp_path / "ours").glob("*.tgz"))]
    theirs = [
        (s["__key__"], {f: v for f, v in s.items() if not f.startswith("__")})
        for s in webdataset.WebDataset(urls, shardshuffle=False)
    ]
    assert theirs == samples(plain)
    with webdataset.TarWriter(str(tmp_path / "w.tar.gz"), encoder=False) as writer:
        for key, fields in theirs[:100]:
            writer.write({"__key__": key, **fields})
    assert samples(tmp_path / "w.tar.gz") == [(k, dict(sorted(f.items()))) for k, f in theirs[:100]]


def test_what_can_only_be_read_from_its_beginning_says_so(tmp_path):
    with tarfile.open(tmp_path / "large.tar", "w") as archive:
        for i in range(3):
            (tmp_path / f"{i}.bin").write_bytes(bytes(50 << 20))
            archive.add(tmp_path / f"{i}.bin", f"{i}.bin")
    with gzip.open(tmp_path / "large.tgz", "wb", compresslevel=1) as out:
        out.write((tmp_path / "large.tar").read_bytes())
    done = run("index", tmp_path / "large.tgz", "--out", tmp_path / "index")
    assert done.returncode == 2
    assert b"can only be read from front to back" in done.stderr


def test_shards_of_two_kinds_are_no_data_set(packed, plain, tmp_path):
    shutil.copy(next(plain.glob("*.tar")), tmp_path)
    shutil.copy(next(packed[1].glob("shard-*")), tmp_path)
    done = run("index", tmp_path)
    assert done.returncode == 2 and b"several kinds" in done.stderr


def test_the_name_says_the_container_and_must_fit_it(source, tmp_path):
    ok("pack", source / "c1", "--out", tmp_path / "a", "--name", "x-%03d.tar.zst")
    assert (tmp_path / "a/x-000.tar.zst").exists()
    args = ["pack", source / "c1", "--out", tmp_path / "b", "--name", "x-%03d.tar.zst"]
    done = run(*args, "--container", "tgz")
    assert done.returncode == 2 and b"does not end in .tgz" in done.stderr
    done = run("pack", source / "c1", "--out", tmp_path / "b", "--container", "rar")
    assert done.returncode == 2 and b"no container" in done.stderr


def test_convert_there_and_back(packed, plain, tmp_path):
    kind, folder = packed
    ok("convert", plain, "--container", kind, "--out", tmp_path / "there", *OPTIONS)
    assert samples(tmp_path / "there") == samples(plain)
    assert json.loads(ok("verify", tmp_path / "there", "--json"))["findings"] == []
    ok("convert", folder, "--container", "tar", "--out", tmp_path / "back", *OPTIONS)
    assert [tar_members(p) for p in sorted((tmp_path / "back").glob("*.tar"))] == [
        tar_members(p) for p in sorted(plain.glob("*.tar"))
    ]
    for threads in (1, 4):
        again = tmp_path / f"again{threads}"
        args = ["convert", plain, "--container", kind, "--out", again, *OPTIONS]
        ok(*args, "--threads", threads)
        assert contents(again) == contents(tmp_path / "there")


def test_zip_of_others_becomes_tar(source, tmp_path):
    line = f"cd {source} && find . -type f | sort | zip -q {tmp_path / 'theirs.zip'} -@"
    subprocess.run(line, shell=True, check=True)
    args = ["convert", tmp_path / "theirs.zip", "--container", "tar", "--out", tmp_path / "ours"]
    ok(*args, *OPTIONS)
    assert by_key(samples(tmp_path / "ours")) == by_key(samples(tmp_path / "theirs.zip"))


def test_damage_in_a_zip_is_named(source, tmp_path):
    ok("pack", source / "c1", "--out", tmp_path / "z", "--container", "zip")
    (shard,) = (tmp_path / "z").glob("*.zip")
    with zipfile.ZipFile(shard) as archive:
        member = max(archive.infolist(), key=lambda info: info.compress_size)
        at = member.header_offset + 30 + len(member.filename) + member.compress_size // 2
    flip(shard, at)
    report = json.loads(run("verify", tmp_path / "z", "--json").stdout)
    assert member.filename in [f.get("member") for f in report["findings"]]
    done = run("index", shard, "--out", tmp_path / "index")
    assert done.returncode == 4 and member.filename.encode() in done.stdout + done.stderr
