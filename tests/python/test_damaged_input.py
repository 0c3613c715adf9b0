"""Jobs pass on no bytes that are not those that were packed: they name them and publish nothing."""

import json
import tarfile

import pytest
from program import flip, ok, run, shards_of

COMMANDS = {
    "shuffle": ["shuffle", "--seed", "1"],
    "buckets": ["shuffle", "--seed", "1", "--algorithm", "buckets", "--memory", "8MiB"],
    "merge": ["merge", "--shards", "1"],
    "rekeyed": ["merge", "--rekey"],
    "rekeyed buckets": ["shuffle", "--rekey", "--algorithm", "buckets", "--memory", "8MiB"],
    "split": ["split", "--shards", "3"],
    "map": ["map", "--command", "true"],
}


@pytest.fixture
def damaged(tmp_path):
    """A set of two shards in which one byte of a small and one of a large member changed."""
    source = tmp_path / "source"
    source.mkdir()
    for i in range(40):
        (source / f"{i:02}.bin").write_bytes(bytes([i]) * 3000)
    (source / "20.big").write_bytes(bytes(6 << 20))
    ok("pack", source, "--out", tmp_path / "in", "--samples", "20", "--quiet")
    return tmp_path / "in"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("field", ["bin", "big"])
def test_a_changed_payload_is_named_and_nothing_is_published(command, field, damaged, tmp_path):
    shard = shards_of(damaged)[1]
    with tarfile.open(shard) as tar:
        hit = tar.getmember(f"20.{field}")
    flip(shard, hit.offset_data + hit.size // 2)
    verb, *options = COMMANDS[command]
    done = run(verb, damaged, "--out", tmp_path / "out", *options, "--quiet", "--json")
    assert done.returncode == 4, done.stderr.decode()
    error = json.loads(done.stderr)["error"]
    place = (error["shard"], error["member"], error["offset"])
    assert place == (str(shard), hit.name, hit.offset_data) and "checksum" in error["message"]
    assert not (tmp_path / "out/headrace.json").exists()
