"""Every store through a proxy that breaks a fifth of the answers: each sample comes exactly once,
by the audit, in an epoch that ends on another world size than it began on and in the next."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from program import ROOT, ok, write_random_set
from servers.ais_fake import AisFake
from servers.breaking_proxy import BreakingProxy
from servers.buckets import azurite, fake_gcs, moto_s3, rclone_s3
from servers.hub_fake import HubFake
from servers.nginx import nginx

READ = """
    import json, sys
    from pathlib import Path
    import headrace as hr
    from exactly_once import read_on_two_worlds

    location, audits = sys.argv[1:]
    read_on_two_worlds(location, Path(audits))
    print(json.dumps(sum(host.retries for host in hr.network_stats().values())))
    """

Place = tuple[str, dict[str, str]]  # of the data set, and the environment that reaches it


@contextlib.contextmanager
def from_nginx(data_set: Path, scratch: Path) -> Iterator[Place]:
    with nginx(data_set, scratch / "nginx") as server:
        yield server.url, {}


def from_bucket(start: Callable[..., contextlib.AbstractContextManager]):
    @contextlib.contextmanager
    def bucket(data_set: Path, scratch: Path) -> Iterator[Place]:
        with start(scratch) as server:
            ok("cp", data_set, server.location + "/set", "--quiet", env=server.env)
            yield server.location + "/set", server.env

    return bucket


@contextlib.contextmanager
def from_aistore(data_set: Path, scratch: Path) -> Iterator[Place]:
    with AisFake() as fake:
        fake.buckets.add("b")
        env = {"AIS_ENDPOINT": fake.endpoint}
        ok("cp", data_set, "ais://b/set", "--quiet", env=env)
        yield "ais://b/set", env


@contextlib.contextmanager
def from_hub(data_set: Path, scratch: Path) -> Iterator[Place]:
    with HubFake() as fake:
        paths = (path for path in data_set.rglob("*") if path.is_file())
        files = {path.relative_to(data_set).as_posix(): path for path in paths}
        fake.add("datasets", "org/set", files)
        yield "hf://datasets/org/set", {"HF_ENDPOINT": fake.endpoint, "HF_HOME": str(scratch)}


STORES = {
    "http": from_nginx,
    "s3-rclone": from_bucket(rclone_s3),
    "s3-moto": from_bucket(moto_s3),
    "gs": from_bucket(fake_gcs),
    "az": from_bucket(azurite),
    "ais": from_aistore,
    "hf": from_hub,
}


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_set(tmp_path_factory.mktemp("set") / "set", 4, 60, 20_000)


@pytest.mark.parametrize("store", STORES)
def test_every_sample_comes_exactly_once_over_a_network_that_breaks(
    store: str, data_set: Path, run_python, tmp_path: Path
):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with STORES[store](data_set, scratch) as (location, env), BreakingProxy(seed=3) as proxy:
        through = {"http_proxy": proxy.url, "PYTHONPATH": str(ROOT / "tests/python")}
        done = run_python(READ, location, tmp_path / "audits", env=env | through)
        assert done.returncode == 0, done.stderr
        assert proxy.answers > 20 and proxy.broken > 3
        assert json.loads(done.stdout) >= proxy.broken / 2
