"""Processes of a node that read from one host: the server's own log says how many requests are open
at once, whose they are, and that one client's "slow down" is heard by all."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from program import write_random_set
from servers.counting import CountingServer, Event

LIMIT = 8

# Reads samples in 16 threads until it is ended.
READER = """
import os, random, sys, threading
import headrace as hr
ds = hr.open(sys.argv[1], cache="off")
def read(seed):
    numbers = random.Random(seed)
    while True:
        bytes(ds[numbers.randrange(len(ds))]["bin"])
for seed in range(16):
    threading.Thread(target=read, args=(seed,), daemon=True).start()
sys.stdin.read()
os._exit(0)
"""

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CountingServer]:
    folder = write_random_set(tmp_path / "set", 4, 50, 2000)
    with CountingServer(folder, seconds=0.04) as running:
        yield running


@pytest.fixture
def start(server: CountingServer, tmp_path: Path) -> Iterator[Start]:
    """start(number): a reader; the server knows it by its number."""
    running = []

    def one(number: int, cache: str = "") -> subprocess.Popen[bytes]:
        env = {
            "HEADRACE_CACHE": cache or str(tmp_path / "cache"),
            "HEADRACE_MAX_REQUESTS": str(LIMIT),
            "HEADRACE_HTTP_HEADERS": f"{server.url} X-Client: {number}",
        }
        command = [sys.executable, "-c", READER, server.url]
        process = subprocess.Popen(command, env=os.environ | env, stdin=subprocess.PIPE)
        running.append(process)
        return process

    yield one
    for process in running:
        process.kill()
        process.wait()


def most_open(events: list[Event]) -> int:
    open_now = most = 0
    for event in events:
        open_now += event.change
        most = max(most, open_now)
    return most


def mean_open(events: list[Event], begin: float, end: float, client: str = "") -> float:
    """Over the time between; of one client, or of all."""
    total = 0.0
    for event in events:
        if client in ("", event.client):
            total += event.change * (end - min(max(event.time, begin), end))
    return total / (end - begin)


def wait_until_all_read(server: CountingServer, clients: int) -> None:
    """Until each has as many requests open as it may have."""
    deadline = time.monotonic() + 30
    while True:
        begin = time.monotonic()
        assert begin < deadline
        time.sleep(0.5)
        events = server.events()
        means = [mean_open(events, begin, begin + 0.5, str(i)) for i in range(clients)]
        if min(means) > 0.75 * (LIMIT // clients):
            return


def test_together_they_keep_to_the_limit_and_share_it(server, start):
    readers = [start(number) for number in range(4)]
    wait_until_all_read(server, 4)
    begin = time.monotonic()
    time.sleep(1)
    events = server.events()
    shares = [mean_open(events, begin, begin + 1, str(number)) for number in range(4)]
    assert sum(shares) > 0.8 * LIMIT
    assert max(shares) < LIMIT / 4 + 1, shares

    for reader in readers[:3]:
        reader.kill()
    time.sleep(1)
    killed = time.monotonic()
    time.sleep(1)
    events = server.events()
    assert mean_open(events, killed, killed + 1, "3") > 0.8 * LIMIT, "the others' part is its own"
    assert most_open(events) <= LIMIT


def test_without_the_folder_each_is_alone(server, start):
    for number in range(4):
        start(number, cache="off")
    deadline = time.monotonic() + 30
    while most_open(server.events()) <= 2 * LIMIT:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_slow_down_to_one_holds_back_all(server, start):
    for number in range(3):
        start(number)
    wait_until_all_read(server, 3)
    before = len(server.events())
    # It may be heeded by all before anybody asks again: the pause then begins here.
    begins = [time.monotonic()]
    server.refuse("1", 2)
    time.sleep(3)
    begins += [event.time for event in server.events()[before:] if event.change > 0]
    gaps = [later - earlier for earlier, later in itertools.pairwise(begins)]
    assert max(gaps) > 1.7, "nobody asks anything for nearly all of the two seconds"
    resumed = begins[gaps.index(max(gaps)) + 1]
    assert any(begin > resumed + 0.2 for begin in begins), "and then they go on"
    assert most_open(server.events()) <= LIMIT


def test_a_child_of_fork_has_a_place_of_its_own(server, run_python, tmp_path):
    code = """
        import os, sys
        import headrace as hr
        ds = hr.open(sys.argv[1], cache="off")
        bytes(ds[0]["bin"])
        if os.fork() == 0:
            bytes(ds[1]["bin"])
            os._exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
        """
    done = run_python(code, server.url, env={"HEADRACE_CACHE": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "cache/hosts").iterdir()
    assert file.stat().st_size == 32 + 2 * 16
