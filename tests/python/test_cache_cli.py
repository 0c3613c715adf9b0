"""headrace cache: ls, verify, pin, prefetch, clear."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import headrace as hr
import pytest
from program import ok, run
from servers.nginx import Nginx, nginx


@pytest.fixture
def server(packed: Path, tmp_path: Path) -> Iterator[Nginx]:
    with nginx(packed, tmp_path / "nginx") as running:
        yield running


def sets(cache: Path) -> list[dict[str, object]]:
    return json.loads(ok("cache", "ls", "--cache", cache, "--json"))["sets"]


def test_prefetch_fetches_all_once(server, packed, tmp_path):
    cache = tmp_path / "cache"
    ok("cache", "prefetch", server.url, "--cache", cache)
    shards = sum(path.stat().st_size for path in packed.glob("*.tar"))
    sent = sum(r.sent for r in server.requests() if r.path.endswith(".tar"))
    assert sent == shards
    ok("cache", "prefetch", server.url, env={"HEADRACE_CACHE": str(cache)})
    ds = hr.open(server.url, cache=cache)
    assert len(list(ds.samples())) == 60
    assert sent == sum(r.sent for r in server.requests() if r.path.endswith(".tar"))
    assert ds.cache_stats()["fetched_bytes"] == 0


def test_ls_shows_what_is_there(server, tmp_path):
    cache = tmp_path / "cache"
    assert sets(cache) == []
    ds = hr.open(server.url, cache=cache)
    assert ds[0].key
    (found,) = sets(cache)
    assert found["root"] == server.url and found["bytes"] > 0 and found["in_use"]
    del ds
    text = ok("cache", "ls", "--cache", cache).decode()
    assert server.url in text and "in use" not in text


def test_pin(server, tmp_path):
    cache = tmp_path / "cache"
    ok("cache", "pin", server.url + "/", "--cache", cache)
    assert sets(cache)[0]["pinned"]
    ok("cache", "pin", server.url, "--remove", "--cache", cache)
    assert not sets(cache)[0]["pinned"]


def test_verify_takes_damage_out(server, tmp_path):
    cache = tmp_path / "cache"
    ok("cache", "prefetch", server.url, "--cache", cache)
    assert json.loads(ok("cache", "verify", "--cache", cache, "--json"))["damaged"] == 0
    files = sorted(cache.rglob("*.object"), key=lambda path: path.stat().st_size)
    data = bytearray(files[-1].read_bytes())
    data[-5] ^= 8
    files[-1].write_bytes(data)
    files[0].write_bytes(b"HRCACHE1 no more")
    done = run("cache", "verify", "--cache", cache, "--json")
    assert done.returncode == 4 and json.loads(done.stdout)["damaged"] == 2
    ok("cache", "verify", "--cache", cache)
    ds = hr.open(server.url, cache=cache)
    assert len(list(ds.samples())) == 60 and ds.cache_stats()["damaged"] == 0


def test_clear(server, tmp_path):
    cache = tmp_path / "cache"
    ok("cache", "prefetch", server.url, "--cache", cache)
    assert run("cache", "clear", "http://elsewhere/set", "--cache", cache).returncode == 3
    ds = hr.open(server.url, cache=cache)
    done = run("cache", "clear", "--cache", cache)
    assert done.returncode == 5 and server.url in done.stderr.decode()
    del ds
    ok("cache", "clear", server.url, "--cache", cache)
    assert sets(cache) == [] and not list(cache.rglob("*.object"))


def test_what_makes_no_sense_is_refused(packed, tmp_path):
    assert run("cache", "ls", env={"HEADRACE_CACHE": ""}).returncode == 2
    assert run("cache", "defrost", "--cache", tmp_path).returncode == 2
    assert run("cache", "prefetch", "--cache", tmp_path / "c").returncode == 2
    local = run("cache", "prefetch", packed, "--cache", tmp_path / "c")
    assert local.returncode == 2 and b"local" in local.stderr
