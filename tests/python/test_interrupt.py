"""Ctrl-C while a server does not answer: every call that waits for it ends at once, and what comes
after it works."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import headrace as hr
import headrace.webdataset as wds
import numpy as np
import pytest
from program import write_random_set
from servers.web import FilePart, Reply, Request, WebServer


class HangingServer:
    """Serves a folder by ranges. Requests for names with `hangs_at` in them get no answer, those
    with `misses` are told that nothing is there."""

    def __init__(self, folder: Path):
        self.hangs_at = self.misses = "\0"
        self.asked = threading.Event()
        self._folder = folder
        self._ended = threading.Event()
        self._others = set(threading.enumerate())
        self._server = WebServer(self._handle)

    def __enter__(self) -> HangingServer:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.stop()
        for thread in set(threading.enumerate()) - self._others:
            thread.join(10)

    @property
    def url(self) -> str:
        return self._server.origin

    def _handle(self, request: Request) -> Reply:
        if self.hangs_at in request.path:
            self.asked.set()
            self._ended.wait()
            return Reply(drop=True)
        path = self._folder / request.path.lstrip("/")
        if self.misses in request.path or not path.is_file():
            return Reply(404)
        size = path.stat().st_size
        headers = {"ETag": '"1"', "Accept-Ranges": "bytes"}
        if "range" not in request.headers:
            return Reply(200, headers, FilePart(path, 0, size))
        first, _, last = request.headers["range"].removeprefix("bytes=").partition("-")
        begin, end = int(first), min(int(last or size - 1), size - 1) + 1
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
        return Reply(206, headers, FilePart(path, begin, end - begin))


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_set(tmp_path_factory.mktemp("set") / "set", 3, 40, 2000)


@pytest.fixture
def server(data_set: Path) -> Iterator[HangingServer]:
    with HangingServer(data_set) as server:
        yield server


def cache_threads() -> int:
    """Those of the package that have no name of their own, and whatever else is there."""
    tasks = Path("/proc/self/task")
    names = [(tasks / task / "comm").read_text().strip() for task in os.listdir(tasks)]
    return sum(not name.startswith("headrace-") for name in names) - len(threading.enumerate())


def interrupted(server: HangingServer, hangs_at: str, call: Callable[[], object]) -> None:
    """`call` waits for the server; Ctrl-C comes, and ends it."""
    server.hangs_at = hangs_at
    server.asked.clear()
    sent: list[float] = []

    def send() -> None:
        if server.asked.wait(20):
            time.sleep(0.2)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - sent[0] < 1  # a tenth of a second, and slack for a busy machine
    finally:
        server.hangs_at = "\0"
        sender.join()


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("name", ["headrace.json", "_headrace/shards", "_headrace/index"])
def test_opening(server, tmp_path, name, cached):
    options = {"cache": str(tmp_path / "cache")} if cached else {}
    interrupted(server, name, lambda: hr.open(server.url, **options))
    if not cached:  # a read of the cache goes on, and would be waited for
        assert len(hr.open(server.url, **options)) == 120


def without_its_index(server: HangingServer) -> hr.Dataset:
    """Its tables are so small that they come with opening: the index does not, and is asked for
    when it is needed."""
    server.misses = "_headrace/index"
    data = hr.open(server.url)
    server.misses = "\0"
    return data


def test_an_index_that_the_first_batch_needs(server):
    loader = without_its_index(server).shuffle(seed=1).batch(8).loader()
    interrupted(server, "_headrace/index", lambda: list(loader))
    begin = time.monotonic()
    loader.close()
    assert time.monotonic() - begin < 1


def test_the_lengths_that_packing_is_planned_from(tmp_path):
    (tmp_path / "files").mkdir()
    for i in range(60):
        np.save(tmp_path / "files" / f"{i:03}.npy", np.arange(1 + i % 7))
    hr.pack(tmp_path / "files", tmp_path / "set", samples=20, measure={"npy": "tokens"})
    with HangingServer(tmp_path / "set") as server:
        data = without_its_index(server).decode(tokens=hr.npy("npy"))
        steps = data.pack_tokens("tokens", length=8, by="npy:tokens").batch(2)
        interrupted(server, "_headrace/index", steps.loader)
        assert len(steps.loader()) > 0


def test_opening_plain_archives(server):
    addresses = [f"{server.url}/part-{i}.tar" for i in range(3)]
    interrupted(server, "part-2.tar", lambda: hr.open(addresses))
    assert len(hr.open(addresses)) == 120


@pytest.mark.parametrize("cached", [False, True])
def test_reading_one_sample(server, tmp_path, cached):
    options = {"cache": str(tmp_path / "cache")} if cached else {}
    data = hr.open(server.url, **options)
    interrupted(server, "part-1.tar", lambda: data[41])
    assert data[1]["cls"] == b"1"


def test_nothing_is_left_of_what_was_given_up(server, tmp_path):
    gc.collect()
    before = cache_threads()
    interrupted(
        server, "part-1.tar", lambda: hr.open(server.url, cache=str(tmp_path / "cache"))[41]
    )
    gc.collect()
    deadline = time.monotonic() + 5
    while cache_threads() != before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert cache_threads() == before


def test_reading_all_samples(server):
    data = hr.open(server.url)
    interrupted(server, "part-0.tar", lambda: list(data.samples()))
    assert len(list(data.samples())) == 120


def test_finding_a_key(server):
    data = hr.open(server.url)
    key = data[7].key
    interrupted(server, "_headrace/keys", lambda: data[key])
    assert data[key]["cls"] == b"7"


def test_explaining_a_row(server):
    loader = hr.open(server.url).shuffle(seed=1).batch(8).loader()
    interrupted(server, ".tar", lambda: loader.row_at(0))
    assert len(loader.row_at(0)) == 1


def test_the_next_batch_and_the_end_of_its_loader(server):
    loader = hr.open(server.url).shuffle(seed=1).batch(8).loader()
    interrupted(server, ".tar", lambda: list(loader))
    begin = time.monotonic()
    loader.close()
    assert time.monotonic() - begin < 1


def test_webdatasets_pipelines(server):
    def read() -> int:
        url = f"{server.url}/part-0.tar"
        return sum(1 for _ in wds.WebDataset(url, shardshuffle=False))

    interrupted(server, "part-0.tar", read)
    assert read() == 40
