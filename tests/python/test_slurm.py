"""Plans on a real Slurm cluster of several nodes: the bytes of threads, also with a node killed."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import headrace as hr
import pytest
from headrace.drivers.program import ask, program
from headrace.drivers.run import run_with
from headrace.drivers.slurm_engine import SlurmEngine
from job_outputs import SlowProgram, contents, numbered_set, shuffle_twice
from servers.slurm import slurm

TASKS = 24


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm(tmp_path_factory.mktemp("slurm") / "cluster", nodes=3) as started:
        yield started


@pytest.fixture(autouse=True)
def of_the_cluster(cluster, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", cluster.env["SLURM_CONF"])


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return numbered_set(tmp_path_factory.mktemp("source"))


@pytest.fixture
def planned(source, tmp_path):
    return shuffle_twice(source, tmp_path, TASKS)


@pytest.fixture
def slow(tmp_path):
    return SlowProgram(tmp_path)


@pytest.fixture
def engine(planned, slow, tmp_path):
    """engine(**options)(digest), as run_with wants it."""

    def make(digest, **options):
        options = {"folder": tmp_path / "says", "program": str(slow.path), "poll": 0.3} | options
        return SlurmEngine(planned[0], ["--threads=1"], **options)

    return lambda **options: functools.partial(make, **options)


def test_the_bytes_are_those_of_threads(cluster, planned, engine, tmp_path):
    plan, expected, out = planned
    report = run_with(engine(limit=10), plan)
    assert (report["samples"], report["retries"]) == (600, 0)
    assert contents(out) == expected
    assert not list((tmp_path / "says").iterdir())
    again = run_with(lambda _: pytest.fail("there is nothing to do"), plan)
    assert again["complete_before"]


def test_a_node_is_killed_in_the_middle(cluster, planned, engine, slow):
    plan, expected, out = planned
    slow.seconds(1)
    held, killed = [], []

    def kill(progress):
        if killed or progress.finished < 3:
            return
        if not held:
            slow.hold()
            held.append(time.monotonic())
        running = cluster.ask("squeue", "-h", "-t", "RUNNING", "-o", "%N").split()
        if time.monotonic() > held[0] + 4 and "n3" in running:  # so its task is lost
            killed.append(progress)
            cluster.kill("n3")
            slow.seconds(0)
            slow.release()

    try:
        report = run_with(engine(), plan, told=kill)
    finally:
        slow.release()
        cluster.start("n3")
    assert killed and killed[0].finished < TASKS
    # Slurm requeues the lost job after a pause of minutes; a second copy does not wait for that.
    assert report["samples"] == 600 and report["doubles"] + report["retries"] >= 1
    assert contents(out) == expected


def test_jobs_that_somebody_cancels_run_again(cluster, planned, engine, slow):
    plan, expected, out = planned
    slow.seconds(0.3)
    cancelled = []

    def cancel(progress):
        if progress.finished >= 2 and not cancelled:
            cancelled.append(cluster.ask("scancel", "--name=headrace"))

    report = run_with(engine(), plan, told=cancel)
    assert cancelled and report["samples"] == 600 and report["retries"] >= 1
    assert contents(out) == expected


def test_a_changed_input_ends_the_job_with_its_name(cluster, planned, engine, source):
    plan, _, _ = planned
    shard = min(source.glob("*.tar"))
    stat = shard.stat()
    os.utime(shard, (stat.st_atime, stat.st_mtime + 5))
    try:
        with pytest.raises(hr.Error, match=shard.name) as caught:
            run_with(engine(), plan)
        assert caught.value.code == "changed"
    finally:
        os.utime(shard, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert cluster.ask("squeue", "-h", "-t", "PENDING,RUNNING").strip() == ""


def test_a_driver_that_was_killed_goes_on(cluster, planned, slow, tmp_path):
    plan, expected, out = planned
    slow.seconds(0.5)
    command = [sys.executable, "-m", "headrace.drivers", "slurm", plan, "--poll=0.3", "--json"]
    command += [f"--folder={tmp_path / 'says'}"]
    environment = {**os.environ, "HEADRACE_PROGRAM": str(slow.path)}
    with subprocess.Popen(command, env=environment) as driver:
        while ask("status", plan)["finished"] < 3:
            time.sleep(0.1)
        driver.send_signal(signal.SIGKILL)
    slow.seconds(0)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["samples"] == 600
    assert contents(out) == expected
    assert not (tmp_path / "says").exists()


def test_from_a_notebook(cluster, source, planned, tmp_path):
    _, expected, _ = planned
    out = tmp_path / "notebook"
    job = hr.jobs.shuffle(
        source, out, seed=5, shards=TASKS, engine="slurm", folder=str(tmp_path / "says")
    )
    assert job.wait()["samples"] == 600 and job.progress() == (TASKS, TASKS)
    assert contents(out) == expected


def test_without_slurm_it_says_so(planned, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    engine = SlurmEngine("plan", folder=tmp_path / "says", program="headrace")
    with pytest.raises(hr.Error, match="no submit host"):
        engine.start([1])
    shutil.rmtree(tmp_path / "says")


def test_by_the_program(planned, tmp_path):
    plan, expected, out = planned
    scratch = tmp_path / "scratch"
    command = [program(), "run", plan, "--engine", "slurm", "--json"]
    command += ["--algorithm=buckets", "--memory=1MiB", f"--scratch={scratch}", "--verify"]
    command += ["--", "--poll=0.3", f"--folder={tmp_path / 'says'}", "--sbatch=--nice=1"]
    environment = {**os.environ, "HEADRACE_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["samples"] == 600
    assert contents(out) == expected
    assert scratch.is_dir() and not list(scratch.iterdir())
