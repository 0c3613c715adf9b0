"""Writing to a web server that takes it (rclone's WebDAV), and to one that does not (nginx)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import headrace as hr
import pytest
from program import ok, run, write_random_set
from servers.buckets import free_port, program, running
from servers.nginx import nginx


@dataclass(frozen=True)
class DavServer:
    url: str
    files: Path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DavServer]:
    files = tmp_path / "files"
    files.mkdir()
    port = free_port()
    command = [program("rclone"), "serve", "webdav", "--addr", f"127.0.0.1:{port}", files]
    config = str(tmp_path / "rclone.conf")
    with running(command, port, tmp_path / "rclone.log", RCLONE_CONFIG=config):
        yield DavServer(f"http://127.0.0.1:{port}", files)


def tree(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_a_data_set_is_copied_there_and_back(server, tmp_path):
    """Shards of 3 MB: more than is kept in memory until it is sent."""
    data_set = write_random_set(tmp_path / "set", 2, 40, 150_000)
    there = f"{server.url}/a%20folder/set"
    ok("cp", data_set, there, "--quiet")
    assert tree(server.files / "a folder/set") == tree(data_set)
    assert json.loads(ok("cp", data_set, there, "--json"))["copied_objects"] == 0
    ok("verify", there)
    ok("cp", there, tmp_path / "back", "--quiet")
    assert tree(tmp_path / "back") == tree(data_set)


def test_pack_writes_there(server, files, tmp_path):
    ok("pack", files[0], "--out", f"{server.url}/new", "--shards", "3", "--quiet")
    found = {sample.key: sample["bin"] for sample in hr.open(f"{server.url}/new").samples()}
    assert found == {key: members["bin"] for key, members in files[1].items()}
    ok("pack", files[0], "--out", tmp_path / "local", "--shards", "3", "--quiet")
    assert shards(server.files) == shards(tmp_path / "local")
    assert not [path for path in tree(server.files) if ".part-" in path]


def shards(folder: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in folder.rglob("*.tar"))


def test_a_server_that_takes_nothing_says_so(packed, tmp_path):
    with nginx(packed, tmp_path / "nginx") as web:
        done = run("pack", packed, "--out", f"{web.url}/new")
    assert done.returncode == 2, done.stderr
    assert b"gives no list" in done.stderr
