"""Data sets on servers that serve no ranges: Python's own http.server, and one that also leaves out
lengths, breaks, and changes what it serves. Objects are streamed once, into temporary files."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import headrace as hr
import pytest
from program import HEADRACE, ok, run, shards_of, write_random_set
from servers.buckets import free_port, running

SHARDS, SAMPLES = 4, 60
ALL = "part-{0..3}.tar"
QUIET = pytest.mark.filterwarnings("ignore:.* serves no ranges:RuntimeWarning")


class PlainServer:
    """python -m http.server: HTTP/1.0, Content-Length and Last-Modified, no ranges, no ETag."""

    def __init__(self, url: str, log: Path):
        self.url = url
        self._log = log

    def requests(self, method: str = "GET") -> list[str]:
        """The paths asked for, in order."""
        return re.findall(rf'"{method} /(\S+) HTTP', self._log.read_text())


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four indexed shards of about 3 MB."""
    return write_random_set(tmp_path_factory.mktemp("plain") / "set", SHARDS, SAMPLES, 100_000)


@pytest.fixture
def server(data_set: Path, tmp_path: Path) -> Iterator[PlainServer]:
    port = free_port()
    command = [sys.executable, "-u", "-m", "http.server", port, "--bind", "127.0.0.1"]
    with running([*command, "--directory", data_set], port, tmp_path / "log"):
        yield PlainServer(f"http://127.0.0.1:{port}", tmp_path / "log")


def rows(loader: hr.Loader) -> list[tuple[str, bytes]]:
    return [
        (key, bytes(row))
        for batch in loader
        for key, row in zip(batch.keys, batch["bin"], strict=True)
    ]


def shuffled(location: object) -> hr.Loader:
    return hr.open(location).shuffle(seed=1).batch(8).loader()  # type: ignore[arg-type]


@QUIET
@pytest.mark.parametrize("place", ["", "/" + ALL], ids=["manifest", "shards"])
def test_epochs_are_those_of_the_files(server: PlainServer, data_set: Path, place: str):
    local = shuffled(data_set if not place else f"{data_set}/{ALL}")
    remote = shuffled(server.url + place)
    for _ in range(2):
        assert rows(remote) == rows(local)
    assert sorted(keys := [key for key, _ in rows(remote)]) == sorted(set(keys))
    assert sorted(path for path in set(server.requests()) if path.endswith(".tar")) == [
        path.name for path in shards_of(data_set)
    ]


@QUIET
def test_nothing_is_left_in_the_folder_of_temporary_files(
    server: PlainServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    loader = shuffled(f"{server.url}/{ALL}")
    assert len(rows(loader)) == SHARDS * SAMPLES
    held = [
        os.readlink(f"/proc/self/fd/{fd}")
        for fd in os.listdir("/proc/self/fd")
        if os.path.islink(f"/proc/self/fd/{fd}")
    ]
    assert sum(str(scratch) in path for path in held) == SHARDS
    assert list(scratch.iterdir()) == []  # without names: they end with the process


def test_it_is_said_once_a_host(server: PlainServer):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        rows(shuffled(f"{server.url}/{ALL}"))
        rows(shuffled(f"{server.url}/{ALL}"))
    notes = [warning for warning in said if "serves no ranges" in str(warning.message)]
    assert len(notes) == 1
    assert server.url in str(notes[0].message)
    assert notes[0].filename == __file__
    assert ok("ls", f"{server.url}/{ALL}").count(b"\n") == SHARDS * SAMPLES
    told = run("ls", f"{server.url}/{ALL}").stderr.decode()
    assert told.count("serves no ranges") == 1


def test_every_verb_that_reads(server: PlainServer, data_set: Path, tmp_path: Path):
    assert ok("ls", f"{server.url}/{ALL}") == ok("ls", f"{data_set}/{ALL}")
    assert ok("verify", server.url, "--json") == ok("verify", data_set, "--json").replace(
        str(data_set).encode(), server.url.encode()
    )
    ok("verify", f"{server.url}/{ALL}")
    ok("cp", server.url, tmp_path / "set")
    ok("cp", f"{server.url}/{ALL}", tmp_path / "shards")
    for shard in shards_of(data_set):
        assert (tmp_path / "set" / shard.name).read_bytes() == shard.read_bytes()
        assert (tmp_path / "shards" / shard.name).read_bytes() == shard.read_bytes()
    ok("shuffle", server.url, "--seed", "1", "--out", tmp_path / "remote")
    ok("shuffle", data_set, "--seed", "1", "--out", tmp_path / "local")
    for shard in shards_of(tmp_path / "local"):
        assert (tmp_path / "remote" / shard.name).read_bytes() == shard.read_bytes()
    ok("pack", f"{server.url}/part-1.tar", "--out", tmp_path / "packed")
    assert ok("ls", tmp_path / "packed").count(b"\n") == SAMPLES


@QUIET
def test_what_the_cache_keeps_is_not_streamed_again(server: PlainServer, tmp_path: Path):
    def read() -> int:
        loader = hr.open(f"{server.url}/{ALL}", cache=tmp_path / "cache").batch(8).loader()
        return len(rows(loader))

    assert read() == SHARDS * SAMPLES
    before = len(server.requests())
    assert read() == SHARDS * SAMPLES
    assert len(server.requests()) == before


READER = """
import hashlib, sys, warnings
import headrace as hr
warnings.simplefilter("ignore")
place, cache, seed = sys.argv[1:]
loader = hr.open(place, cache=cache).shuffle(seed=int(seed)).batch(8).loader(threads=1)
read = [(key, bytes(row)) for batch in loader for key, row in zip(batch.keys, batch["bin"])]
print(hashlib.sha256(repr(sorted(read)).encode()).hexdigest())
"""


def reader(place: str, cache: Path, seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", READER, place, str(cache), str(seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out.strip()


@QUIET
@pytest.mark.parametrize("place", ["", "/" + ALL], ids=["manifest", "shards"])
def test_one_of_eight_processes_with_a_cache_streams_a_shard(
    misbehaving: Misbehaving, data_set: Path, tmp_path: Path, place: str
):
    want = hashlib.sha256(repr(sorted(rows(shuffled(data_set)))).encode()).hexdigest()
    readers = [reader(misbehaving.url + place, tmp_path / "cache", seed) for seed in range(8)]
    assert {answer(process) for process in readers} == {want}
    streamed = [path for path in misbehaving.whole if path.endswith(".tar")]
    assert sorted(streamed) == [f"/part-{number}.tar" for number in range(SHARDS)]


def test_memory_does_not_grow_with_the_object(tmp_path: Path):
    folder = tmp_path / "large"
    write_random_set(folder, 1, 30, 4_000_000)
    size = (folder / "part-0.tar").stat().st_size
    assert size > 40 << 20
    port = free_port()
    command = [sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1"]
    peaks = {}
    with running([*command, "--directory", folder], port, tmp_path / "log"):
        for name in (folder / "part-0.tar", f"http://127.0.0.1:{port}/part-0.tar"):
            process = subprocess.Popen([HEADRACE, "ls", name], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            assert status == 0
            peaks[str(name)[:4]] = usage.ru_maxrss << 10
    assert peaks["http"] - peaks[str(folder)[:4]] < size // 2, peaks


class Misbehaving:
    """Serves a folder over HTTP/1.1, without ranges until it is mended, as told."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.chunked = False  # no Content-Length
        self.breaks = 0  # so many answers end in their midst
        self.change_after_break = False
        self.mended = False
        self.whole: list[str] = []  # what was asked for without a range
        owner = self

        class Handler(SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.answer(b"")

            def do_GET(self) -> None:
                if "Range" not in self.headers:
                    owner.whole.append(self.path)
                self.answer((owner.folder / self.path.strip("/").partition("?")[0]).read_bytes())

            def answer(self, body: bytes) -> None:
                file = owner.folder / self.path.strip("/").partition("?")[0]
                size = file.stat().st_size
                by_range = owner.mended and "Range" in self.headers
                self.send_response(206 if by_range else 200)
                self.send_header("Last-Modified", self.date_time_string(file.stat().st_mtime))
                if owner.mended:
                    self.send_header("Accept-Ranges", "bytes")
                if by_range:
                    first, last = map(int, self.headers["Range"][len("bytes=") :].split("-"))
                    self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
                    body = body[first : last + 1]
                if owner.chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                else:
                    self.send_header("Content-Length", str(len(body) if by_range else size))
                self.end_headers()
                if self.command == "HEAD":
                    return
                if owner.chunked:
                    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
                if owner.breaks > 0 and "Range" not in self.headers:
                    owner.breaks -= 1
                    body = body[: len(body) // 2]
                    self.close_connection = True
                    if owner.change_after_break:
                        os.utime(file, (1, 1))
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def misbehaving(data_set: Path, tmp_path: Path) -> Iterator[Misbehaving]:
    folder = tmp_path / "copy"
    ok("cp", data_set, folder, "--quiet")
    serving = Misbehaving(folder)
    yield serving
    serving.stop()


@QUIET
@pytest.mark.parametrize("place", ["", "/" + ALL], ids=["manifest", "shards"])
def test_each_shard_is_streamed_once(misbehaving: Misbehaving, place: str):
    loader = shuffled(misbehaving.url + place)
    for _ in range(2):
        assert len(rows(loader)) == SHARDS * SAMPLES
    streamed = [path for path in misbehaving.whole if path.endswith(".tar")]
    assert sorted(streamed) == [f"/part-{number}.tar" for number in range(SHARDS)]


@QUIET
@QUIET
@pytest.mark.parametrize("place", ["", "/" + ALL], ids=["manifest", "shards"])
def test_who_opens_again_reads_a_mended_server_by_ranges(misbehaving: Misbehaving, place: str):
    before = rows(shuffled(misbehaving.url + place))
    assert any(path.endswith(".tar") for path in misbehaving.whole)
    misbehaving.mended = True
    misbehaving.whole.clear()
    assert rows(shuffled(misbehaving.url + place)) == before
    assert not any(path.endswith(".tar") for path in misbehaving.whole)


def test_more_shards_than_are_kept_open_are_streamed_once(tmp_path: Path):
    shards = 300  # 256 are kept open where that costs nothing but a request
    serving = Misbehaving(write_random_set(tmp_path / "many", shards, 2, 2000))
    loader = shuffled(serving.url)
    for _ in range(2):
        assert len(rows(loader)) == 2 * shards
    serving.stop()
    assert len([path for path in serving.whole if path.endswith(".tar")]) == shards


@QUIET
@pytest.mark.parametrize("chunked", [False, True])
def test_a_break_in_the_body_is_repeated(misbehaving: Misbehaving, data_set: Path, chunked: bool):
    misbehaving.chunked = chunked
    misbehaving.breaks = 2
    assert rows(shuffled(f"{misbehaving.url}/{ALL}")) == rows(shuffled(f"{data_set}/{ALL}"))
    assert misbehaving.breaks == 0


@QUIET
def test_an_object_whose_length_nobody_says(misbehaving: Misbehaving, data_set: Path):
    misbehaving.chunked = True
    assert rows(shuffled(misbehaving.url)) == rows(shuffled(data_set))
    with_address = hr.open(f"{misbehaving.url}/part-0.tar?generated=1")
    assert len(with_address) == SAMPLES


@QUIET
def test_an_object_that_changes_between_two_attempts_is_an_error(misbehaving: Misbehaving):
    misbehaving.breaks = 1
    misbehaving.change_after_break = True
    with pytest.raises(hr.ChangedError, match="changed while it was being read"):
        hr.open(f"{misbehaving.url}/part-0.tar")


@QUIET
def test_a_manifest_that_does_not_fit_its_shards_is_an_error(misbehaving: Misbehaving):
    loader = shuffled(misbehaving.url)
    with open(misbehaving.folder / "part-2.tar", "ab") as shard:
        shard.write(bytes(512))
    with pytest.raises(hr.ChangedError, match="part-2"):
        rows(loader)


def test_a_full_disk_says_so(server: PlainServer, small_disk: Path):
    done = run("ls", f"{server.url}/{ALL}", env={"TMPDIR": str(small_disk)})
    assert done.returncode == 8, done.stderr
    assert b"TMPDIR" in done.stderr
    assert server.url.encode() in done.stderr


def test_a_killed_reader_leaves_nothing(server: PlainServer, tmp_path: Path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    code = f"""
import time, headrace as hr
hr.open('{server.url}/{ALL}')
print(1, flush=True)
time.sleep(60)
"""
    env = {**os.environ, "TMPDIR": str(scratch)}
    reader = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE)
    assert reader.stdout is not None
    assert reader.stdout.readline() == b"1\n"
    reader.kill()
    reader.wait()
    time.sleep(0.1)
    assert list(scratch.iterdir()) == []
