"""Shards on a real web server, by Headrace's own store, beside the real package and its curl."""

from __future__ import annotations

import functools
import gzip
import http.server
import io
import multiprocessing
import os
import random
import tarfile
import threading
from collections import Counter

import headrace.webdataset as ours
import pytest
from headrace import NotFoundError
from servers.nginx import nginx
from small_archives import archive, write

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

pytestmark = pytest.mark.filterwarnings("ignore")

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Shards of samples of 0 to 40 KB, so that they are longer than a part, and odd ones."""
    folder = tmp_path_factory.mktemp("shards")
    draw = random.Random(4)
    for shard in range(3):
        keys = [f"{shard}/{i:04d}" for i in range(300)]
        members = [
            (f"{key}.{field}", draw.randbytes(draw.randrange(40_000)))
            for key in keys
            for field in ("bin", "txt")
        ]
        write(folder / f"n-{shard}.tar", members)
    small = archive([(f"{c}.txt", c.encode()) for c in "abcd"])
    (folder / "small.tar").write_bytes(small)
    (folder / "small.tar.gz").write_bytes(gzip.compress(small))
    (folder / "cut.tar").write_bytes(small[:1536])
    (folder / "a b#c.tar").write_bytes(small)
    (folder / "empty.tar").write_bytes(b"")
    return folder


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    with nginx(folder, tmp_path_factory.mktemp("nginx") / "s") as started:
        yield started


def samples(library, urls, **options):
    """The samples, and the kind of error that ended them."""
    found = []
    try:
        for sample in library.WebDataset(urls, shardshuffle=False, **options):
            found.append(sample)
    except Exception as error:
        return found, type(error)
    return found, None


@pytest.mark.parametrize(
    "names", ["n-{0..2}.tar", "small.tar", "small.tar.gz", "a%20b%23c.tar", "small.tar?sig=a/b%2F"]
)
def test_the_same_samples_as_by_curl(server, names):
    mine = samples(ours, f"{server.url}/{names}")
    assert mine[1] is None and mine[0]
    assert mine == samples(real, f"{server.url}/{names}")


def test_samples_are_shuffled_and_batched_as_by_curl(server):
    def batches(library):
        data = library.WebDataset(server.url + "/n-{0..2}.tar", shardshuffle=3, seed=7)
        data = data.shuffle(100, seed=3).to_tuple("__key__", "bin").batched(16)
        return list(data)

    assert batches(ours) == batches(real)


@pytest.mark.parametrize("broken", ["nowhere.tar", "cut.tar", "empty.tar"])
def test_broken_shards_are_what_the_handler_says(server, broken):
    urls = [f"{server.url}/{name}" for name in (broken, "small.tar")]
    mine, theirs = samples(ours, urls), samples(real, urls)
    assert mine[0] == theirs[0]
    # The real one sees an empty file where the server has none.
    assert mine[1] is (NotFoundError if broken == "nowhere.tar" else theirs[1])
    passed = samples(ours, urls, handler=ours.ignore_and_continue)
    # From a stream the real one also gives the sample that is not all there.
    keys = ["a"] * (broken == "cut.tar") + ["a", "b", "c", "d"]
    assert ([s["__key__"] for s in passed[0]], passed[1]) == (keys, None)
    if broken != "cut.tar":
        assert passed == samples(real, urls, handler=real.ignore_and_continue)
    assert samples(ours, urls, handler=ours.ignore_and_stop, empty_check=False)[1] is None


def test_nobody_listens(tmp_path):
    with nginx(tmp_path, tmp_path / "s") as gone:
        pass
    with pytest.raises(OSError, match="cannot reach"):
        ours.gopen(gone.url.replace("http://127.0.0.1", "http://localhost") + "/x.tar")


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    path = files / "x.bin"
    path.write_bytes(bytes(40 * MIB))
    with nginx(files, tmp_path / "s") as server, ours.gopen(server.url + "/x.bin") as stream:
        stream.read(1)
        os.replace(write(files / "other.bin", [("a.txt", bytes(40 * MIB))]), path)
        with pytest.raises(OSError, match="changed"):
            stream.read()


def test_the_stream_is_a_file(server, folder):
    expected = (folder / "n-0.tar").read_bytes()
    draw = random.Random(1)
    with ours.gopen(server.url + "/n-0.tar") as stream:
        assert stream.readable() and stream.seekable()
        assert stream.seek(0, os.SEEK_END) == len(expected)
        assert stream.read(3) == b""
        for _ in range(200):
            begin, size = draw.randrange(len(expected) + 9), draw.randrange(3 * MIB)
            assert stream.seek(begin) == begin
            assert stream.read(size) == expected[begin : begin + size]
        stream.seek(-1000, os.SEEK_END)
        assert stream.read() == expected[-1000:]
        stream.seek(0)
        with tarfile.open(fileobj=stream) as there, tarfile.open(folder / "n-0.tar") as here:
            assert there.getnames() == here.getnames()
        with pytest.raises(ValueError, match="negative"):
            stream.seek(-1)
    with pytest.raises(ValueError, match="closed"):
        stream.read(1)


def test_who_wants_the_beginning_does_not_fetch_the_end(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    (files / "x.bin").write_bytes(bytes(200 * MIB))
    with nginx(files, tmp_path / "s") as server:
        with ours.gopen(server.url + "/x.bin") as stream:
            stream.read(100)
        with ours.gopen(server.url + "/x.bin") as stream:
            stream.read(30 * MIB)
        asked = [r.last - r.first + 1 for r in server.requests() if r.last is not None]
    assert max(asked) <= 2 * MIB
    assert sum(asked) <= (4 + 30 + 18) * MIB  # two parts; then at most eight ahead


def no_ranges(folder):
    """Python's own server, which serves no ranges."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    handler.func.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_a_server_without_ranges_is_read(folder):
    server = no_ranges(folder)
    url = f"http://127.0.0.1:{server.server_port}/n-0.tar"
    try:
        assert samples(ours, url) == samples(real, url)
    finally:
        server.shutdown()
        server.server_close()


class Breaking(http.server.BaseHTTPRequestHandler):
    """Serves ranges, and hangs up in the middle of every third body."""

    protocol_version = "HTTP/1.1"
    content: bytes
    bodies: int

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()

    def do_GET(self):
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        body = self.content[first : last + 1]
        last = first + len(body) - 1
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(self.content)}")
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        type(self).bodies += 1
        if self.bodies % 3 == 0:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_connection_that_breaks_in_a_shard_loses_nothing(folder):
    handler = type("Handler", (Breaking,), {"bodies": 0})
    handler.content = (folder / "n-0.tar").read_bytes()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/n-0.tar"
        found, error = samples(ours, url)
    finally:
        server.shutdown()
        server.server_close()
    expected, _ = samples(ours, str(folder / "n-0.tar"))
    assert error is None and handler.bodies > 6
    assert [(s["__key__"], s["bin"]) for s in found] == [(s["__key__"], s["bin"]) for s in expected]


def test_strict_mode_runs_the_command(server, monkeypatch):
    url = server.url + "/small.tar"
    monkeypatch.setenv("HEADRACE_WDS_STRICT", "1")
    with ours.gopen(url) as stream:
        assert type(stream).__name__ == "Pipe" and "curl" in str(stream)
        stream.read()
    assert samples(ours, url) == samples(real, url)
    with pytest.raises(ValueError, match="no gopen handler"):
        ours.gopen("s3://bucket/x.tar")


def test_a_scheme_may_be_taken_over(server, monkeypatch):
    opened = []

    def mine(url, mode, bufsize, **options):
        opened.append((url, mode))
        return io.BytesIO(archive([("a.txt", b"1")]))

    monkeypatch.setitem(ours.gopen_schemes, "s3", mine)
    found, error = samples(ours, "s3://bucket/{0..1}.tar")
    assert error is None and [s["txt"] for s in found] == [b"1", b"1"]
    assert opened == [("s3://bucket/0.tar", "rb"), ("s3://bucket/1.tar", "rb")]


def test_web_servers_stay_open_when_security_is_enforced(server, monkeypatch):
    monkeypatch.setattr(ours.utils, "enforce_security", True)
    assert samples(ours, server.url + "/small.tar")[1] is None


def test_addresses_are_rewritten(server, monkeypatch):
    monkeypatch.setenv("GOPEN_REWRITE", f"web://set=nothing;store://set={server.url}")
    assert len(list(ours.gopen("store://set/small.tar").read())) > 0


def test_shards_are_cached_by_their_address(server, tmp_path):
    for _ in range(2):
        data = ours.WebDataset(
            server.url + "/n-{0..2}.tar", shardshuffle=False, cache_dir=str(tmp_path)
        )
        assert len(list(data)) == 900
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_read_by_themselves(server, method):
    torch = pytest.importorskip("torch", reason="torch is not installed: NOT TESTED")
    data = ours.WebDataset(server.url + "/n-{0..2}.tar", shardshuffle=False).to_tuple("__key__")
    here = iter(data)
    expected = Counter([next(here)])  # the parent's own thread and stream are there meanwhile
    loader = torch.utils.data.DataLoader(
        data, batch_size=None, num_workers=2, multiprocessing_context=method
    )
    seen = Counter(map(tuple, loader))
    expected.update(here)
    assert seen == expected and len(seen) == 900


def read_inherited(stream, answers):
    try:
        stream.read(1 << 20)
    except OSError as error:
        answers.put(str(error))
    del stream


def test_a_stream_does_not_survive_a_fork(server):
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    stream = ours.gopen(server.url + "/n-0.tar")
    child = fork.Process(target=read_inherited, args=(stream, answers))
    child.start()
    assert "before the process forked" in answers.get(timeout=30)
    child.join(30)
    assert child.exitcode == 0
    assert len(stream.read()) > 5 * MIB
