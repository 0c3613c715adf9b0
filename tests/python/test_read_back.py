"""--verify: what was written is read back before it is committed."""

import json
import signal

import headrace as hr
import pytest
from program import flip, ok, run, shards_of
from servers.buckets import moto_s3
from test_reshape import contents

VERBS = {
    "pack": ["--samples", "10"],
    "split": ["--samples", "10"],
    "shuffle": ["--samples", "10"],
    "map": ["--samples", "10", "--command", "cp sample.cls sample.copy"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_shard_that_went_bad_is_noticed_and_written_again(verb, files, packed, tmp_path):
    source = files[0] if verb == "pack" else packed
    command = [verb, source, *VERBS[verb], "--no-fsync"]
    ok(*command, "--out", tmp_path / "expected", "--verify")
    out = tmp_path / "out"
    command += ["--out", out]
    killed = run(*command, env={"HEADRACE_CRASH_AT": "recorded:3"})
    assert killed.returncode == -signal.SIGKILL
    bad = shards_of(out)[0]
    flip(bad, bad.stat().st_size // 3)
    noticed = run(*command, "--verify")
    assert noticed.returncode == 4 and bad.name.encode() in noticed.stderr
    assert not (out / "headrace.json").exists()
    ok(*command, "--verify")
    assert contents(out) == contents(tmp_path / "expected")


def test_a_task_reads_its_own_shard(packed, tmp_path):
    plan = tmp_path / "plan"
    ok("plan", "split", packed, "--out", tmp_path / "out", "--plan", plan, "--samples", "10")
    for task in range(6):
        report = json.loads(ok("run-task", plan, task, "--verify", "--json"))
        assert report["samples"] == 10
    ok("run", plan, "--verify")
    ok("verify", tmp_path / "out")


def test_in_a_bucket_and_from_python(files, tmp_path, monkeypatch):
    with moto_s3(tmp_path / "moto") as server:
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
        hr.pack(files[0], server.location + "/a", samples=10, verify=True)
        job = hr.jobs.merge(server.location + "/a", server.location + "/b", shards=1, verify=True)
        assert job.wait()["samples"] == 60
