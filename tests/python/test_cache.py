"""The cache of a node against nginx, whose access log says which bytes were fetched."""

from __future__ import annotations

import collections
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import headrace as hr
import pytest
from program import write_random_set
from servers.nginx import Nginx, Request, nginx

SHARDS, SAMPLES = 6, 40


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six shards of about 3 MB."""
    return write_random_set(tmp_path_factory.mktemp("remote") / "set", SHARDS, SAMPLES, 150_000)


@pytest.fixture
def server(data_set: Path, tmp_path: Path) -> Iterator[Nginx]:
    with nginx(data_set, tmp_path / "nginx") as running:
        yield running


def fetched(requests: Iterable[Request]) -> collections.Counter[tuple[str, int]]:
    """How often each MiB of each shard and table was asked for."""
    counts: collections.Counter[tuple[str, int]] = collections.Counter()
    for request in requests:
        if request.path == "headrace.json" or request.status >= 300:
            continue
        assert request.first is not None, request
        for granule in range(request.first >> 20, (request.last >> 20) + 1):
            counts[request.path, granule] += 1
    return counts


def shard_requests(server: Nginx) -> list[Request]:
    return [request for request in server.requests() if request.path.endswith(".tar")]


def cut_requests(server: Nginx) -> list[Request]:
    return [r for r in shard_requests(server) if r.sent != r.last - r.first + 1]


def truth(folder: Path) -> dict[str, bytes]:
    return {sample.key: sample["bin"] for sample in hr.open(folder).samples()}


def read(url: str, cache: Path, seed: int = 0) -> tuple[dict[str, bytes], dict[str, object]]:
    ds = hr.open(url, cache=cache)
    found = {}
    with ds.shuffle(seed=seed).batch(8).loader(threads=2) as loader:
        for batch in loader:
            found.update(zip(batch.keys, map(bytes, batch["bin"]), strict=True))
    return found, ds.cache_stats()


def test_a_second_run_asks_for_the_manifest_alone(server, data_set, tmp_path):
    want = truth(data_set)
    got, stats = read(server.url, tmp_path / "cache")
    assert got == want
    assert stats["streamed_bytes"] == 0 and stats["trouble"] == ""
    before = len(server.requests())
    got, stats = read(server.url, tmp_path / "cache", seed=1)
    assert got == want
    again = server.requests()[before:]
    assert len(again) <= 3 and {request.path for request in again} == {"headrace.json"}
    assert stats["fetched_bytes"] == 0 and stats["hit_bytes"] > 0
    assert max(fetched(server.requests()).values()) == 1


def test_environment_variables_name_the_cache(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    assert hr.open(server.url)[0].key
    assert any((tmp_path / "cache").rglob("*.object"))
    off = hr.open(server.url, cache="off")
    assert off[0].key and off.cache_stats()["hit_bytes"] == 0
    monkeypatch.setenv("HEADRACE_CACHE_SIZE", "much")
    with pytest.raises(hr.UsageError, match="HEADRACE_CACHE_SIZE"):
        hr.open(server.url)


def test_local_data_is_not_cached(data_set, tmp_path):
    ds = hr.open(data_set, cache=tmp_path / "cache")
    assert len(list(ds.samples())) == SHARDS * SAMPLES
    assert not (tmp_path / "cache").exists()


def test_a_full_cache_streams_with_one_warning(server, data_set, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE_SIZE", "5MiB")
    ds = hr.open(server.url, cache=tmp_path / "cache")
    with ds.batch(8).loader() as loader, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert sum(len(batch) for batch in loader) == SHARDS * SAMPLES
    assert [str(warning.message) for warning in caught if "full" in str(warning.message)][1:] == []
    assert any("full" in str(warning.message) for warning in caught)
    stats = ds.cache_stats()
    assert stats["hit_bytes"] > 0 and stats["streamed_bytes"] > 0
    used = sum(path.stat().st_blocks * 512 for path in (tmp_path / "cache").rglob("*.object"))
    assert used <= 6 << 20


def test_damage_is_noticed_and_fetched_again(server, data_set, tmp_path):
    want = truth(data_set)
    read(server.url, tmp_path / "cache")
    largest = max((tmp_path / "cache").rglob("*.object"), key=lambda path: path.stat().st_size)
    with open(largest, "r+b") as file:
        file.seek(1_700_000)
        file.write(b"damage")
    got, stats = read(server.url, tmp_path / "cache")
    assert got == want and stats["damaged"] == 1
    got, stats = read(server.url, tmp_path / "cache")
    assert got == want and stats["damaged"] == 0 and stats["fetched_bytes"] == 0


READER = """
import sys, hashlib
import headrace as hr
url, cache, seed = sys.argv[1:]
digest = {}
with hr.open(url, cache=cache).shuffle(seed=int(seed)).batch(8).loader(threads=1) as loader:
    for batch in loader:
        for key, data in zip(batch.keys, batch["bin"]):
            digest[key] = hashlib.sha256(bytes(data)).hexdigest()
print(hashlib.sha256(repr(sorted(digest.items())).encode()).hexdigest())
"""


def start_reader(url: str, cache: Path, seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", READER, url, str(cache), str(seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def answer(reader: subprocess.Popen[str]) -> str:
    out, _ = reader.communicate(timeout=120)
    assert reader.returncode == 0
    return out


def test_eight_processes_fetch_each_byte_once(server, data_set, tmp_path):
    want = answer(start_reader(str(data_set), tmp_path / "none", 0))
    readers = [start_reader(server.url, tmp_path / "cache", seed) for seed in range(8)]
    assert {answer(reader) for reader in readers} == {want}
    requests = shard_requests(server)
    sizes = sum(path.stat().st_size for path in data_set.glob("*.tar"))
    assert sum(request.sent for request in requests) == sizes
    assert max(fetched(server.requests()).values()) == 1


def test_eight_processes_with_one_killed_every_second(data_set, tmp_path):
    want = answer(start_reader(str(data_set), tmp_path / "none", 0))
    # Slow enough that the first epoch takes longer than the killing.
    with nginx(data_set, tmp_path / "nginx", "limit_rate 250k;") as server:
        readers = [start_reader(server.url, tmp_path / "cache", seed) for seed in range(8)]
        rng = random.Random(5)
        kills = 0
        # Six at least, and more until one has cut an answer.
        while kills < 20 and not (kills >= 6 and cut_requests(server)):
            if all(reader.poll() is not None for reader in readers):
                break
            time.sleep(1)
            victim = rng.choice([i for i in range(8) if readers[i].poll() is None] or [0])
            os.kill(readers[victim].pid, signal.SIGKILL)
            readers[victim].communicate()
            readers[victim] = start_reader(server.url, tmp_path / "cache", 10 + kills)
            kills += 1
        assert {answer(reader) for reader in readers} == {want}
        # nginx notices that a client is gone, and writes it down, when it would send on.
        deadline = time.monotonic() + 10
        while not (cut := cut_requests(server)) and time.monotonic() < deadline:
            time.sleep(0.2)
        whole = [r for r in shard_requests(server) if r not in cut]
    twice = [place for place, count in fetched(whole).items() if count > 1]
    # A process may be killed between the last byte of an answer and its record.
    assert len(twice) <= 2 * kills
    assert len(fetched(whole)) >= sum(-(-p.stat().st_size >> 20) for p in data_set.glob("*.tar"))
    assert kills >= 2 and cut, "the killing came too late to cut an answer"
