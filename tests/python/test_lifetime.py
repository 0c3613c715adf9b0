"""Nothing stays behind: early break, exceptions, Ctrl-C, interpreter exit, fork, spawn."""

from __future__ import annotations

import gc
import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import headrace as hr
import pytest


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def until_threads_are(count: int) -> bool:
    """Whether so many threads are left, within a second: a stopped thread takes a moment to go."""
    deadline = time.monotonic() + 1
    while threads() != count and time.monotonic() < deadline:
        time.sleep(0.01)
    return threads() == count


def descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))


@pytest.fixture
def pipeline(shards):
    return hr.open(shards(600, 4)).shuffle(seed=1).decode(n=hr.integer()).batch(8)


def test_an_unstarted_loader_has_no_threads(pipeline):
    before = threads()
    loaders = [pipeline.loader(threads=4) for _ in range(10)]
    assert threads() == before
    assert len(loaders) == 10


def test_an_early_break_leaves_nothing(pipeline):
    gc.collect()
    before = threads(), descriptors()
    for _ in range(5):
        loader = pipeline.loader(threads=3)
        for batch in loader:
            if batch.step == 3:
                break
        del loader, batch
        gc.collect()
    del pipeline
    assert threads() == before[0]


def test_an_exception_in_the_loop_leaves_nothing(shards):
    folder = shards(600, 4)
    gc.collect()
    before = threads(), descriptors()

    def train():
        loader = hr.open(folder).batch(8).loader(threads=3)
        for batch in loader:
            if batch.step == 2:
                raise RuntimeError("training failed")

    for _ in range(5):
        with pytest.raises(RuntimeError):
            train()
        gc.collect()
    assert (threads(), descriptors()) == before


def test_close_ends_the_threads_and_the_data_set_its_files(shards):
    folder = shards(600, 4)
    gc.collect()
    before = threads(), descriptors()
    ds = hr.open(folder)
    loader = ds.batch(8).loader(threads=3)
    batch = next(iter(loader))
    assert threads() > before[0]
    loader.close()
    assert until_threads_are(before[0])
    del loader, ds, batch
    gc.collect()
    assert descriptors() == before[1]


def test_many_epochs_leave_no_thread_and_no_file(pipeline):
    loader = pipeline.loader(threads=2)
    list(loader)
    before = threads(), descriptors()
    for _ in range(20):
        for _batch in loader:
            pass
    assert (threads(), descriptors()) == before


EXIT = """
import sys
import headrace as hr
loader = hr.open(sys.argv[1]).decode(n=hr.integer()).batch(8).loader(threads=3)
other = hr.open(sys.argv[1]).batch(8).loader()
iterator, second = iter(loader), iter(other)
batch = next(iterator)
array = batch["n"]
next(second)
{ending}
"""


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise ValueError", 1),
        ("hr.kept = array, iterator, batch", 0),
        ("del loader; import gc; gc.collect(); print(array.sum())", 0),
    ],
)
def test_the_interpreter_exits_with_live_loaders(shards, run_python, ending, status):
    done = run_python(EXIT.format(ending=ending), shards(600, 4), timeout=30)
    assert done.returncode == status, done.stderr
    if status == 0:
        assert done.stderr == ""


def test_ctrl_c_ends_a_loop_at_once(shards):
    code = textwrap.dedent("""
        import sys
        import headrace as hr
        loader = hr.open(sys.argv[1]).decode(n=hr.integer()).batch(8).loader(threads=2)
        print("ready", flush=True)
        try:
            while True:
                for batch in loader:
                    pass
        except KeyboardInterrupt:
            loader.close()
            print("stopped", flush=True)
        """)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(shards(600, 4))], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "stopped\n"
    assert time.monotonic() - begin < 0.5
    assert process.wait(10) == 0
    process.stdout.close()


def test_ctrl_c_ends_a_blocked_next_within_a_tenth_of_a_second(make_tar, tmp_path):
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.new("L", (9000, 9000)).save(file, "PNG")
    make_tar(tmp_path / "a.tar", [(f"k{i:02d}", {"png": file.getvalue()}) for i in range(32)])
    code = textwrap.dedent("""
        import sys, time
        import headrace as hr
        recipe = hr.image("png").gray().resize(8)
        loader = hr.open(sys.argv[1]).decode(x=recipe).batch(32).loader(threads=1)
        iterator = iter(loader)
        print("ready", flush=True)
        try:
            next(iterator)   # 32 large pictures: many seconds
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
        """)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "a.tar")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    answer = process.stdout.readline()
    assert answer, "next was not blocked"
    assert float(answer) - begin < 0.25  # a tenth, and slack for a busy machine
    assert process.wait(20) == 0
    process.stdout.close()


def test_a_started_loader_refuses_to_work_after_a_fork(shards, run_python):
    done = run_python(
        """
        import os, sys
        import headrace as hr
        loader = hr.open(sys.argv[1]).decode(n=hr.integer()).batch(8).loader(threads=2)
        iterator = iter(loader)
        first = next(iterator)
        child = os.fork()
        if child == 0:
            try:
                next(iterator)
            except hr.UsageError as error:
                assert "fork" in str(error), error
                del iterator, loader
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert sum(1 for _ in iterator) == 74
        """,
        shards(600, 4),
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_an_unstarted_loader_works_in_another_process(shards, run_python, tmp_path, method):
    script = tmp_path / "main.py"
    script.write_text(
        textwrap.dedent("""
        import multiprocessing, sys
        import headrace as hr

        def work(loader, ds, queue):
            queue.put((sorted(int(n) for b in loader for n in b["n"][b.mask]), len(ds)))

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[2])
            ds = hr.open(sys.argv[1])
            loader = ds.shuffle().decode(n=hr.integer()).batch(8).loader(threads=2)
            queue = context.Queue()
            process = context.Process(target=work, args=(loader, ds, queue))
            process.start()
            assert queue.get() == (list(range(600)), 600)
            process.join()
            assert process.exitcode == 0
        """)
    )
    done = subprocess.run(
        [sys.executable, str(script), str(shards(600, 4)), method],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_import_is_quick_and_brings_neither_numpy_nor_torch(run_python):
    code = """
        import sys, time
        begin = time.perf_counter()
        import headrace
        print(time.perf_counter() - begin, "numpy" in sys.modules, "torch" in sys.modules)
        """
    runs = [run_python(code).stdout.split() for _ in range(5)]
    assert {tuple(run[1:]) for run in runs} == {("False", "False")}
    assert min(float(run[0]) for run in runs) < 0.1


def test_numpy_batches_do_not_import_torch(shards, run_python):
    done = run_python(
        """
        import sys
        import headrace as hr
        for batch in hr.open(sys.argv[1]).decode(n=hr.integer()).batch(8).loader():
            batch["n"]
        print("torch" in sys.modules)
        """,
        shards(100, 2),
    )
    assert done.stdout == "False\n", done.stderr


def test_memory_stays_flat_over_many_epochs(pipeline):
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    loader = pipeline.loader(threads=2, memory="64MiB")
    for _ in range(20):
        for _batch in loader:
            pass
    before = resident()
    for _ in range(180):
        for _batch in loader:
            pass
    assert resident() - before < 8 << 20
