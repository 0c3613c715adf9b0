"""pack from buckets, web servers, lists over several of them, and archives: the same shards as from
the files themselves."""

import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from program import ok, run, shards_of
from servers.ais_fake import AisFake
from servers.buckets import azurite, fake_gcs, moto_s3, rclone_s3
from servers.nginx import nginx


def shards(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in shards_of(out)}


@pytest.fixture
def expected(files, tmp_path) -> dict[str, bytes]:
    ok("pack", files[0], "--out", tmp_path / "expected", "--samples", "10", "--no-fsync")
    return shards(tmp_path / "expected")


def pack(out: Path, *sources, env=None, **kwargs) -> dict[str, bytes]:
    ok("pack", *sources, "--out", out, "--samples", "10", "--no-fsync", env=env, **kwargs)
    ok("verify", out)
    return shards(out)


def upload(server, folder: Path, to: str):
    """Every file, by the program's own copy."""
    ok("cp", folder, to, env=server.env)


@pytest.fixture(scope="module", params=[rclone_s3, moto_s3, fake_gcs, azurite])
def server(request, tmp_path_factory, files):
    with request.param(tmp_path_factory.mktemp("server")) as started:
        upload(started, files[0], started.location + "/animals")
        yield started


def test_a_prefix_is_a_folder(server, expected, tmp_path):
    location = server.location + "/animals"
    assert pack(tmp_path / "a", location + "/", env=server.env) == expected
    assert pack(tmp_path / "b", location, env=server.env) == expected
    env = server.env
    again = ["pack", location, "--out", tmp_path / "b", "--samples", "10", "--no-fsync"]
    assert b"nothing to do" in run(*again, env=env).stderr


def test_a_killed_pack_of_a_bucket_goes_on(server, expected, tmp_path):
    command = ["pack", server.location + "/animals", "--out", tmp_path / "a", "--samples", "10"]
    command.append("--no-fsync")
    for point in ("marked", "shard_committed:2", "recorded:2"):
        env = {**server.env, "HEADRACE_CRASH_AT": point}
        assert run(*command, env=env).returncode < 0
    ok(*command, env=server.env)
    assert shards(tmp_path / "a") == expected


def test_lists_and_ranges_over_several_buckets(server, files, tmp_path):
    env, location = server.env, server.location
    names = [f"cat/{i:03}.{field}" for i in range(30) for field in ("bin", "cls")]
    ok("cp", files[0] / "dog", location + "/other/dog", env=env)
    (tmp_path / "list.txt").write_text(
        "".join(f"{location}/animals/{name}\n" for name in names)
        + f"{location}/other/dog/{{000..029}}.{{bin,cls}}\n"
    )
    from_list = pack(tmp_path / "list", f"@{tmp_path / 'list.txt'}", env=env)
    ranges = [f"{location}/{{animals/cat,other/dog}}/{{000..029}}.{{bin,cls}}"]
    assert pack(tmp_path / "ranges", *ranges, env=env) == from_list
    keys = [name.rsplit(".", 1)[0] for name in members(tmp_path / "list")]
    assert sorted(set(keys)) == sorted(
        [f"animals/cat/{i:03}" for i in range(30)] + [f"other/dog/{i:03}" for i in range(30)]
    )
    (tmp_path / "put").mkdir()
    (tmp_path / "list.txt").rename(tmp_path / "put/list.txt")
    ok("cp", tmp_path / "put", location + "/lists", env=env)
    assert pack(tmp_path / "far", f"@{location}/lists/list.txt", env=env) == from_list
    folders = [f"{location}/{{animals,other}}/"]
    pack(tmp_path / "folders", *folders, "--on-duplicate", "rename", env=env)
    assert len(members(tmp_path / "folders")) > 180


def members(out: Path) -> list[str]:
    names = []
    for shard in shards_of(out):
        with tarfile.open(shard) as archive:
            names += archive.getnames()
    return names


def test_what_is_not_there_is_named(server, tmp_path):
    env, location = server.env, server.location
    missing = run("pack", location + "/nothing-here", "--out", tmp_path / "a", env=env)
    assert missing.returncode == 3 and b"nothing-here" in missing.stderr
    (tmp_path / "list.txt").write_text(f"{location}/animals/cat/001.bin\n{location}/gone.bin\n")
    options = [f"@{tmp_path / 'list.txt'}", "--out", tmp_path / "b"]
    gone = run("pack", *options, env=env)
    assert gone.returncode == 3 and b"gone.bin" in gone.stderr
    ok("pack", *options, "--on-error", "skip", env=env)
    assert members(tmp_path / "b") == ["animals/cat/001.bin"]


def test_an_object_that_changed_is_another_input(server, files, tmp_path):
    """As large as it was: the version that listings name tells."""
    env, location = server.env, f"{server.location}/changing/{tmp_path.name}"
    ok("cp", files[0] / "cat", location, env=env)
    command = ["pack", location, "--out", tmp_path / "a", "--samples", "10"]
    killed = run(*command, env={**env, "HEADRACE_CRASH_AT": "shard_committed:2"})
    assert killed.returncode < 0
    data = (files[0] / "cat/029.bin").read_bytes()
    (tmp_path / "new").mkdir()
    for content in (b"longer" + data, data[::-1]):  # cp leaves what has the size already
        (tmp_path / "new/029.bin").write_bytes(content)
        ok("cp", tmp_path / "new", location, env=env)
    refused = run(*command, env=env)
    assert refused.returncode == 2, "another plan than the one under way"
    ok(*command, "--replace", env=env)
    assert data[::-1] == ok("cat", tmp_path / "a", "029", "bin")


def test_a_web_server_gives_what_a_list_names(files, tmp_path):
    with nginx(files[0], tmp_path / "nginx") as web:
        ranges = f"{web.url}/{{cat,dog}}/{{000..029}}.{{bin,cls}}"
        out = pack(tmp_path / "a", ranges)
        (tmp_path / "list").write_text(f"{web.url}/cat/{{000..029}}.{{bin,cls}}\n")
        listed = pack(tmp_path / "b", f"@{tmp_path / 'list'}")
    source = [f"{a}/{i:03}.{f}" for a in ("cat", "dog") for i in range(30) for f in ("bin", "cls")]
    text = "\n".join(source).encode()
    local = pack(tmp_path / "c", "-", stdin=text, cwd=files[0])
    assert out == local
    assert len(listed) == 3


def test_local_ranges(files, expected, tmp_path):
    from_ranges = pack(tmp_path / "a", f"{files[0]}/cat/{{000..004}}.{{bin,cls}}")
    assert len(from_ranges) == 1
    missing = run("pack", f"{files[0]}/cat/{{000..099}}.bin", "--out", tmp_path / "b")
    assert missing.returncode == 3 and b"030.bin" in missing.stderr


def make_zip(path: Path, folder: Path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*"), reverse=True):
            if file.is_file():
                archive.write(file, file.relative_to(folder))


@pytest.mark.parametrize("kind", ["a.zip", "a.tar", "a.tar.gz", "a.tar.lz4", "a.tar.zst"])
def test_the_members_of_an_archive_are_files(kind, files, expected, tmp_path):
    archive = tmp_path / kind
    if kind == "a.zip":
        make_zip(archive, files[0])
    elif kind in ("a.tar", "a.tar.gz"):
        subprocess.run(["tar", "-caf", archive, "-C", files[0], "cat", "dog"], check=True)
    else:
        program = "lz4" if kind.endswith("lz4") else "zstd"
        plain = tmp_path / "plain.tar"
        subprocess.run(["tar", "-cf", plain, "-C", files[0], "cat", "dog"], check=True)
        with archive.open("wb") as out:
            subprocess.run([program, "-q", "-c", plain], stdout=out, check=True)
    assert pack(tmp_path / "out", archive) == expected
    assert run("pack", archive, "--out", tmp_path / "out", "--samples", "10").returncode == 0
    os.utime(archive, (1, 1))
    assert run("pack", archive, "--out", tmp_path / "out", "--samples", "10").returncode == 2


def test_an_archive_in_a_bucket(server, files, expected, tmp_path):
    (tmp_path / "put").mkdir()
    make_zip(tmp_path / "put/a.zip", files[0])
    ok("cp", tmp_path / "put", server.location + "/zips", env=server.env)
    assert pack(tmp_path / "out", server.location + "/zips/a.zip", env=server.env) == expected


def test_a_destination_below_the_source_is_left_out(server, files, tmp_path):
    location = f"{server.location}/nested/{tmp_path.name}"
    ok("cp", files[0] / "cat", location + "/cat", env=server.env)
    command = ["pack", location, "--out", location + "/out", "--samples", "10", "--json"]
    first = ok(*command, env=server.env)
    assert b'"samples":30' in first
    again = ok(*command, env=server.env)
    assert b'"complete_before":true' in again


def test_ranges_over_buckets_of_aistore(files, tmp_path, monkeypatch):
    """What AIStore's archive does by a template, from two buckets."""
    with AisFake() as ais:
        monkeypatch.setenv("AIS_ENDPOINT", ais.endpoint)
        for number, animal in enumerate(("cat", "dog")):
            ais.buckets.add(f"b{number}")
            ok("cp", files[0] / animal, f"ais://b{number}/{animal}")
        from_ranges = pack(
            tmp_path / "a", "ais://b{0,1}/{cat,dog}/{000..029}.bin", "--on-error=skip"
        )
        from_folders = pack(tmp_path / "b", "ais://b{0..1}/", "--fields", "bin")
    assert from_ranges == from_folders
    assert len(members(tmp_path / "a")) == 60
