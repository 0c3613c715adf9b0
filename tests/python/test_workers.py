"""Worker processes: noticed when they die, gone when they are not wanted, nothing left behind,
whatever ends them."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # workers import from there, too

import user_functions as user

HERE = str(Path(__file__).parent)


@pytest.fixture
def pipeline(shards):
    return hr.open(shards(200, 3)).decode(n=hr.integer("cls"))


#: What /proc says of a thread or process that ends while it is looked at.
GONE = (FileNotFoundError, ProcessLookupError)

_others: set[int] = set()


@pytest.fixture(autouse=True)
def nothing_left_in_shared_memory():
    """After any test here. Other tests leave processes behind, as multiprocessing's fork server:
    they do not count."""
    _others.clear()
    _others.update(children())
    before = in_shared_memory()
    yield
    assert in_shared_memory() <= before


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """The folder for `user_functions.note`."""
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv(user.NOTES, str(folder))
    return folder


def noted(folder: Path) -> dict[int, float]:
    """When each process made its note."""
    return {int(path.name): float(path.read_text()) for path in folder.glob("[0-9]*[0-9]")}


def children() -> list[int]:
    """Processes that this test has started and that have not ended."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(*GONE):  # a thread that ended since
            found += (task / "children").read_text().split()
    return [pid for pid in map(int, found) if pid not in _others and not _ended(pid)]


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except GONE:
        return True


#: Seconds in which an end is noticed and done with: milliseconds, on a machine that does much else
#: some more. Without a watch over workers it would be for ever.
AT_ONCE = 1.0
#: Seconds in which fresh interpreters have begun to work, at worst.
SOON = 30


def until(condition, seconds=AT_ONCE) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def in_shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


def left_open() -> list[str]:
    """Descriptors of shared memory and sockets in this process."""
    names = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        if "headrace" in name or name.startswith("socket:"):
            names.append(name)
    return names


def test_functions_run_in_as_many_processes_as_asked_for(pipeline):
    with pipeline.map(user.process_of, on="n").batch(4).loader(workers=2) as loader:
        processes = {int(n) for _ in range(2) for batch in loader for n in batch["n"]}
        assert len(processes) == 2  # the same in both epochs
        assert os.getpid() not in processes
        assert processes == set(children())


def test_an_unstarted_loader_has_no_workers(pipeline):
    loader = pipeline.map(user.slow, on="n").batch(4).loader(workers=2)
    assert children() == []
    assert len(loader) == 50


@pytest.mark.parametrize(
    ("function", "how"),
    [
        (user.kill_self, "was killed by SIGKILL"),
        (user.segfault, "was killed by SIGSEGV"),
        (user.exit_self, "ended with status 3"),
    ],
)
def test_a_worker_that_dies_is_named_at_once(pipeline, notes, function, how):
    loader = pipeline.map(function, on="n").batch(4).loader(workers=2)
    with pytest.raises(hr.WorkerError) as caught:
        list(loader)
    (died,) = noted(notes).values()
    assert time.monotonic() - died < AT_ONCE
    assert how in str(caught.value)
    assert f"map({function.__name__}) on step 5 of epoch 0" in str(caught.value)
    assert "of 2 (process " in str(caught.value)
    if "SIGKILL" in how:
        assert "Out of memory" in str(caught.value)
    loader.close()
    assert until(lambda: children() == [])


def test_a_worker_killed_from_outside_is_noticed_by_a_consumer_that_waits(pipeline, notes):
    loader = pipeline.map(user.stuck, on="n").batch(4).loader(workers=2)
    killed = []

    def kill_one():
        assert until(lambda: noted(notes), SOON)
        killed.append(time.monotonic())
        os.kill(next(iter(noted(notes))), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    with pytest.raises(hr.WorkerError, match=r"killed by SIGKILL while it ran map\(stuck\)"):
        next(iter(loader))
    assert time.monotonic() - killed[0] < AT_ONCE
    killer.join()
    loader.close()


def test_after_a_death_a_new_iteration_has_new_workers(pipeline, tmp_path):
    loader = pipeline.map(user.kill_self, on="n").batch(4).loader(workers=2)
    for _ in range(2):
        with pytest.raises(hr.WorkerError):
            list(loader)
    state = loader.state_at(0, 6)  # behind the sample that kills
    loader.load_state_dict(state)
    assert sum(len(batch) for batch in loader) == 176
    loader.close()


def test_breaks_and_dropped_loaders_leave_no_process_thread_or_memory(pipeline):
    gc.collect()
    threads = len(os.listdir("/proc/self/task"))
    before = left_open()
    for close in (True, False):
        loader = pipeline.map(user.slow, on="n").batch(4).loader(workers=2)
        for batch in loader:
            if batch.step == 2:
                break
        assert len(children()) == 2
        if close:
            loader.close()
        del loader, batch
        gc.collect()
        assert until(lambda: children() == [])
        assert until(lambda: len(os.listdir("/proc/self/task")) == threads)
    assert left_open() == before


def test_workers_stuck_in_a_function_are_killed_together(pipeline, notes):
    """After two seconds, however many they are."""
    loader = pipeline.map(user.stuck, on="n").batch(4).loader(workers=3)
    loader._stream._start()
    assert until(lambda: len(noted(notes)) == 3, SOON)
    begin = time.monotonic()
    loader.close()
    assert 2 <= time.monotonic() - begin < 2 + AT_ONCE
    assert children() == []


def test_memory_goes_back_and_is_used_again(make_tar, tmp_path):
    rows = ((f"k{i}", {"bin": bytes([i % 256]) * 100_000}) for i in range(256))
    make_tar(tmp_path / "a.tar", rows)
    loader = (
        hr.open(tmp_path / "a.tar").map(user.reversed_bytes, on="bin").batch(16).loader(workers=2)
    )
    for _ in range(4):
        for batch in loader:
            assert batch["bin"][0][:3] == bytes([(batch.step * 16) % 256]) * 3
    assert loader._stream._slots.made <= 8
    first = next(iter(loader))
    kept = [first["bin"].values]
    copy = kept[0].copy()
    for batch in loader:
        kept.append(batch["bin"].values)
    assert (kept[0] == copy).all()
    loader.close()
    assert (kept[0] == copy).all()


PROGRAM = """
import os, sys, time
sys.path.insert(0, {here!r})
import user_functions as user
import headrace as hr

def pids():
    return open(f"/proc/self/task/{{os.getpid()}}/children").read()

def main():
    pipeline = hr.open(sys.argv[1]).decode(n=hr.integer("cls"))
    loader = pipeline.map(user.slow, on="n").batch(4).loader(workers=2)
    iterator = iter(loader)
    batch = next(iterator)
    print(pids(), flush=True)
    {body}

if __name__ == "__main__":
    main()
"""


def started(tmp_path, folder, body) -> tuple[subprocess.Popen[str], list[int]]:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(here=HERE, body=textwrap.indent(body, "    ").strip()))
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert len(workers) == 2
    return process, workers


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_nothing_stays_after_the_parent_was_killed(shards, tmp_path, number):
    process, workers = started(tmp_path, shards(200, 3), "time.sleep(100)")
    process.send_signal(number)
    process.communicate()
    assert until(lambda: all(_ended(pid) for pid in workers))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 0),
        ("for batch in iterator: pass", 0),
        ("sys.exit(3)", 3),
        ("os._exit(4)", 4),
        ("raise ValueError('training')", 1),
        ("hr.kept = iterator, batch, batch['n']", 0),
    ],
)
def test_the_interpreter_exits_with_live_workers(shards, tmp_path, body, status):
    process, workers = started(tmp_path, shards(40, 2), body)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == status, errors
    assert errors == "" if status != 1 else errors.rstrip().endswith("ValueError: training")
    assert until(lambda: all(_ended(pid) for pid in workers))


def test_ctrl_c_ends_everything_quietly(shards, tmp_path):
    body = """
try:
    for batch in iterator:
        pass
except KeyboardInterrupt:
    loader.close()
    print("stopped", flush=True)
"""
    process, workers = started(tmp_path, shards(200, 3), body)
    time.sleep(0.2)
    for pid in (process.pid, *workers):  # a terminal sends it to all of them
        os.kill(pid, signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    assert (process.returncode, out, errors) == (0, "stopped\n", "")
    assert until(lambda: all(_ended(pid) for pid in workers))


def test_functions_of_the_program_itself_work_and_an_unguarded_program_is_told(shards, tmp_path):
    folder = shards(40, 2)
    program = """
import sys
import headrace as hr

def negative(n):
    return -n

{guard}
    loader = hr.open(sys.argv[1]).decode(n=hr.integer("cls")).map(negative, on="n")
    print(sum(int(batch["n"].sum()) for batch in loader.batch(4).loader(workers=2)))
"""
    script = tmp_path / "script.py"
    script.write_text(program.format(guard='if __name__ == "__main__":'))
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "-780\n"), done.stderr
    script.write_text(program.format(guard="if True:"))
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True)
    assert done.returncode == 1
    assert "a worker process would start workers" in done.stderr, done.stderr
    assert 'if __name__ == "__main__"' in done.stderr


def test_a_loader_started_before_a_fork_says_so(pipeline):
    loader = pipeline.map(user.double, on="n").batch(4).loader(workers=1)
    iterator = iter(loader)
    next(iterator)
    pid = os.fork()
    if pid == 0:
        try:
            next(iterator)
        except hr.UsageError as error:
            os._exit(7 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert sum(len(batch) for batch in iterator) == 196
    loader.close()


def test_the_statistics_name_functions_that_limit_the_run(pipeline):
    for workers in (0, 2):
        with pipeline.map(user.slow, on="n").batch(4).loader(workers=workers) as loader:
            for batch in loader:
                if batch.step == 10:
                    break
            stats = loader.stats()
            assert stats["limit"] == "functions"
            assert "The functions limit the run" in stats.sentence
            assert stats["function_seconds"] > 1.5


def test_an_unstarted_loader_with_functions_may_be_pickled(pipeline):
    import pickle

    loader = pipeline.map(user.double, on="n").batch(4).loader(workers=1)
    again = pickle.loads(pickle.dumps(loader))
    assert np.concatenate([batch["n"] for batch in again]).sum() == 2 * sum(range(200))
    again.close()
