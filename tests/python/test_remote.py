"""Loaders over HTTP, from a real nginx, beside the same loaders over the same files: the same
batches, no byte asked for twice, and errors that say what happened. nginx's log is the oracle."""

from __future__ import annotations

import hashlib
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace as hr
import pytest
from program import ok, run, write_random_set
from servers.nginx import Nginx, nginx

SHARDS, SAMPLES = 5, 90
ONCE = 1.04  # headers and padding of tar, 1.5 KB of 60 a sample, come along


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five shards of about 5 MB, so that a shard has more than one block."""
    return write_random_set(tmp_path_factory.mktemp("remote") / "set", SHARDS, SAMPLES, 120_000)


@pytest.fixture
def server(data_set: Path, tmp_path: Path) -> Iterator[Nginx]:
    with nginx(data_set, tmp_path / "nginx") as running:
        yield running


def rows(batch: hr.Batch) -> list[tuple[str, int, str]]:
    """Key, position and digest of each row's bytes."""
    digests = [hashlib.sha256(bytes(row)).hexdigest()[:16] for row in batch["bin"]]
    return list(zip(batch.keys, batch.positions.tolist(), digests, strict=True))


def epochs(loader: hr.Loader, count: int) -> list[list[tuple[str, int, str]]]:
    return [rows(batch) for _ in range(count) for batch in loader]


def asked_bytes(server: Nginx) -> int:
    """Of shards, over the wire."""
    return sum(r.sent for r in server.requests() if r.path.endswith(".tar"))


SETTINGS: list[dict[str, Any]] = [
    {"seed": 1},  # windows fit into memory: whole parts of blocks
    {"seed": 1, "memory": "2MiB"},  # they do not: the rows' own bytes
    {"seed": 1, "lanes": 4, "window": "1MiB"},
    {"seed": None},
]


def make(location: object, settings: dict[str, Any], **loader: Any) -> hr.Loader:
    options = dict(settings)
    seed = options.pop("seed")
    memory = options.pop("memory", "1GiB")
    pipeline = hr.open(location)
    if seed is not None:
        pipeline = pipeline.shuffle(seed=seed, **options)
    return pipeline.batch(16).loader(memory=memory, **loader)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_same_batches_as_from_disk(server: Nginx, data_set: Path, settings: dict[str, Any]):
    assert epochs(make(server.url, settings), 4) == epochs(make(data_set, settings), 4)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_an_epoch_asks_for_its_bytes_once(server: Nginx, data_set: Path, settings: dict[str, Any]):
    loader = make(server.url, settings)
    wanted = sum(len(bytes(row)) + 1 for batch in loader for row in batch["bin"])
    assert asked_bytes(server) <= ONCE * wanted


def test_bytes_of_a_third_epoch_come_while_the_second_ends(server: Nginx, data_set: Path):
    """Nobody who reads once pays for a second time; who reads twice is taken to go on."""
    loader = make(server.url, {"seed": 1})
    wanted = sum(len(bytes(row)) + 1 for _ in range(2) for batch in loader for row in batch["bin"])
    deadline = time.monotonic() + 20
    while asked_bytes(server) < 1.5 * wanted:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    four = epochs(make(data_set, {"seed": 1}), 4)
    assert epochs(loader, 2) == four[len(four) // 2 :]
    loader.close()
    assert asked_bytes(server) <= ONCE * 2.5 * wanted


def test_a_state_may_be_loaded_beside_what_was_read_ahead(server: Nginx, data_set: Path):
    settings = {"seed": 1}
    loader = make(server.url, settings)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = loader.state_dict()
    epochs(loader, 1)
    whole = epochs(loader, 2)
    loader.load_state_dict(state)
    assert epochs(loader, 3)[-len(whole) :] == whole


def test_ranks_share_the_bytes(server: Nginx):
    whole = 0
    for rank in range(4):
        loader = make(server.url, {"seed": 3, "lanes": 8}, rank=rank, world=4)
        whole += sum(len(bytes(row)) + 1 for batch in loader for row in batch["bin"])
    assert asked_bytes(server) <= ONCE * whole


def test_resumed_anywhere_it_goes_on_as_from_disk(server: Nginx, data_set: Path):
    settings = {"seed": 4, "lanes": 4}
    whole = epochs(make(data_set, settings), 1)
    for step in (1, 7, len(whole) - 1):
        first = make(server.url, settings)
        batches = iter(first)
        for _ in range(step):
            next(batches)
        resumed = make(server.url, settings)
        resumed.load_state_dict(first.state_dict())
        assert epochs(resumed, 1) == whole[step:]


def test_every_sample_once_over_a_restart_on_fewer_ranks(server: Nginx, tmp_path: Path):
    pipeline = hr.open(server.url).shuffle(seed=6, lanes=12).batch(total=24)
    states = []
    for rank in range(3):
        loader = pipeline.loader(rank=rank, world=3, audit=tmp_path)
        batches = iter(loader)
        for _ in range(5):
            next(batches)
        states.append(loader.state_dict())
        loader.close()
    for rank in range(2):
        loader = pipeline.loader(rank=rank, world=2, audit=tmp_path)
        loader.load_state_dict(states[0])
        for _ in loader:
            pass
    report = hr.audit_report(tmp_path, hr.open(server.url))
    assert report.passed, report


def test_a_process_may_fork_as_soon_as_a_data_set_is_open(server: Nginx, run_python):
    """As torch's DataLoader does: nothing may be left that only the parent's threads could end."""
    done = run_python(
        f"""
        import os, headrace as hr
        ds = hr.open({server.url!r})
        child = os.fork()
        if child == 0:
            os._exit(0 if len(ds[0]["bin"]) >= 1000 and len(ds[-1]["bin"]) >= 1000 else 3)
        assert os.waitpid(child, 0)[1] == 0
        print(len(ds[0]["bin"]) >= 1000)
        """
    )
    assert done.stdout.strip() == "True", done.stderr


def test_a_shard_that_changes_is_an_error_and_never_a_mix(data_set: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    ok("cp", data_set, copy, "--quiet")
    with nginx(copy, tmp_path / "nginx") as server:
        loader = make(server.url, {"seed": 1, "memory": "1MiB"}, prefetch=1)
        batches = iter(loader)
        next(batches)
        for shard in sorted(copy.glob("*.tar")):
            os.utime(shard, (1, 1))  # the same bytes, but nginx cannot know that
        with pytest.raises(hr.ChangedError, match="changed while it was being read"):
            for _ in batches:
                pass


def test_a_shard_that_is_gone_is_an_error_with_its_address(data_set: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    ok("cp", data_set, copy, "--quiet")
    (copy / "part-3.tar").unlink()
    with nginx(copy, tmp_path / "nginx") as server:
        missing = rf"{server.url}/part-3\.tar"
        with pytest.raises(hr.NotFoundError, match=missing):
            epochs(make(server.url, {"seed": 1}), 1)


def test_a_server_that_is_not_there_is_an_error_soon():
    with pytest.raises(hr.Error, match=r"127\.0\.0\.1:9"):
        hr.open("http://127.0.0.1:9/set")


def test_a_process_without_descriptors_left_is_told_so(server: Nginx):
    few = (5, 5)
    done = run("ls", server.url, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few))
    assert done.returncode == 1 and b"raise `ulimit -n`" in done.stderr, done.stderr


def test_dropping_a_loader_does_not_wait_for_a_slow_server(data_set: Path, tmp_path: Path):
    with nginx(data_set, tmp_path / "nginx", more="limit_rate 200k;") as server:
        loader = make(server.url, {"seed": 1, "memory": "2MiB"})
        next(iter(loader))
        del loader
