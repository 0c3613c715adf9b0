"""Plans on a real Ray cluster of several raylets: the bytes of threads, also with a node killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

import headrace as hr
import pytest
from headrace.drivers.run import run_with
from job_outputs import SlowProgram, contents, numbered_set, shuffle_twice

ray = pytest.importorskip("ray", reason="ray is not installed: NOT TESTED")

from headrace.drivers.ray_engine import RayEngine  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

TASKS = 24


SMALL = {"object_store_memory": 80 << 20}


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    return SlowProgram(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def cluster(slow):
    """A head that runs no tasks, and two nodes of one processor each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("HEADRACE_PROGRAM", str(slow.path))
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **SMALL})
        for _ in range(2):
            cluster.add_node(num_cpus=1, **SMALL)
        cluster.wait_for_nodes()
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return numbered_set(tmp_path_factory.mktemp("source"))


@pytest.fixture
def planned(source, tmp_path):
    return shuffle_twice(source, tmp_path, TASKS)


def processes_under(pid: int) -> dict[int, str]:
    """The names of all processes that this one has started, by number."""
    lines = subprocess.check_output(["ps", "-eo", "pid=,ppid=,comm="], text=True).splitlines()
    rows = [line.split(maxsplit=2) for line in lines]
    parents = {int(process): int(parent) for process, parent, _ in rows}

    def is_below(process: int) -> bool:
        while process in parents and process != pid:
            process = parents[process]
        return process == pid

    return {int(process): name for process, _, name in rows if is_below(int(process))}


def test_the_bytes_are_those_of_threads(cluster, planned):
    plan, expected, out = planned
    report = run_with(lambda _: RayEngine(plan, address=cluster.address), plan)
    assert (report["samples"], report["retries"]) == (600, 0)
    assert contents(out) == expected
    again = run_with(lambda _: pytest.fail("there is nothing to do"), plan)
    assert again["complete_before"]


def test_a_node_is_killed_in_the_middle(cluster, planned, slow):
    plan, expected, out = planned
    doomed = cluster.add_node(num_cpus=2, **SMALL)
    cluster.wait_for_nodes()
    raylet = doomed.all_processes["raylet"][0].process.pid
    slow.seconds(1)
    killed = []

    def kill(progress):
        if progress.finished < 4 or killed:
            return
        slow.hold()
        processes = processes_under(raylet)
        if "sleep" not in processes.values():
            return  # no task of that node is held
        killed.append(progress)
        cluster.remove_node(doomed, allow_graceful=False)
        for process in processes:  # nothing outlives its machine
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        slow.release()

    try:
        report = run_with(lambda _: RayEngine(plan, address=cluster.address), plan, told=kill)
    finally:
        slow.seconds(0)
        slow.release()
    assert killed and killed[0].finished < TASKS
    # The lost task was begun again, or a second copy of it was at work already.
    assert report["samples"] == 600 and report["doubles"] + report["retries"] >= 1
    assert contents(out) == expected


def test_a_changed_input_ends_the_job_with_its_name(cluster, planned, source):
    plan, _, _ = planned
    shard = min(source.glob("*.tar"))
    stat = shard.stat()
    os.utime(shard, (stat.st_atime, stat.st_mtime + 5))
    try:
        with pytest.raises(hr.Error, match=shard.name) as caught:
            run_with(lambda _: RayEngine(plan, address=cluster.address), plan)
        assert caught.value.code == "changed"
    finally:
        os.utime(shard, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert run_with(lambda _: RayEngine(plan, address=cluster.address), plan)["samples"] == 600


def test_options_of_the_tasks_go_through(cluster, planned, tmp_path):
    plan, expected, out = planned
    scratch = tmp_path / "scratch"
    options = ["--algorithm=buckets", "--memory=1MiB", f"--scratch={scratch}", "--verify"]
    report = run_with(lambda _: RayEngine(plan, options, address=cluster.address), plan)
    assert (report["samples"], report["retries"]) == (600, 0)
    assert contents(out) == expected
    assert scratch.is_dir() and not list(scratch.iterdir())


def test_from_a_notebook(cluster, source, planned, tmp_path, monkeypatch):
    _, expected, _ = planned
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    out = tmp_path / "notebook"
    job = hr.jobs.shuffle(source, out, seed=5, shards=TASKS, engine="ray")
    report = job.wait()
    assert report["samples"] == 600 and job.progress() == (TASKS, TASKS) and not job.running()
    assert contents(out) == expected
