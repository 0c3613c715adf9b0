"""map: commands and functions on each sample, what they leave, how they fail, and that nothing of
them stays."""

import contextlib
import json
import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import headrace as hr
import mapped_samples
import pytest
from conftest import simple_sample
from program import HEADRACE, ok, run, shards_of
from test_reshape import contents

HERE = Path(__file__).parent


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    return folder


@pytest.fixture
def source(shards) -> Path:
    return shards(60)


def samples(folder: Path) -> dict[str, dict[str, bytes]]:
    """In order, as Python's tarfile sees them."""
    found: dict[str, dict[str, bytes]] = {}
    for shard in shards_of(folder):
        with tarfile.open(shard) as archive:
            for member in archive:
                head, _, name = member.name.rpartition("/")
                key, _, field = name.partition(".")
                key = f"{head}/{key}" if head else key
                found.setdefault(key, {})[field] = archive.extractfile(member).read()
    return found


def report(*args):
    return json.loads(ok(*args, "--json"))


def test_what_a_command_leaves_is_the_sample(source, scratch, tmp_path):
    command = "tr a-z A-Z <sample.txt >sample.TMP && mv sample.TMP sample.txt && rm sample.bin"
    command += (
        ' && echo "$HEADRACE_KEY $HEADRACE_NUMBER" >sample.who && touch other; mkdir sample.d'
    )
    ok("map", source, "--command", command, "--out", tmp_path / "out", "--samples", "25")
    expected = {}
    for number in range(60):
        key, fields = simple_sample(number)
        text = fields["txt"].replace(b"sample", b"SAMPLE")
        who = f"{key} {number}\n".encode()
        expected[key] = {"cls": fields["cls"], "json": fields["json"], "txt": text, "who": who}
    assert samples(tmp_path / "out") == expected
    assert [len(samples_of) for samples_of in counts(tmp_path / "out")] == [25, 25, 10]
    ok("verify", tmp_path / "out")
    assert not list(scratch.iterdir())


def counts(folder: Path) -> list[set[str]]:
    return [
        {name.partition(".")[0] for name in tarfile.open(shard).getnames()}
        for shard in shards_of(folder)
    ]


def test_a_sample_becomes_several_or_none(source, scratch, tmp_path):
    """As `tarp proc -m`, whose names are sample-%06d.FIELD."""
    command = "n=$(cat sample.cls); rm sample.*; [ $n -lt 3 ] || exit 0; "
    command += "for i in $(seq 0 $n); do printf $i >sample-$(printf %06d $i).txt; done"
    done = report("map", source, "--command", command, "--out", tmp_path / "out")
    assert samples(tmp_path / "out") == {
        f"s{n:05d}-{i:06d}": {"txt": str(i).encode()} for n in range(3) for i in range(n + 1)
    }
    assert (done["samples"], done["skipped_samples"]) == (6, 57)


def test_functions_get_and_return_dictionaries(source, scratch, tmp_path):
    before = samples_in(source)
    hr.jobs.map(source, tmp_path / "a", mapped_samples.upper).wait()
    assert samples(tmp_path / "a") == {
        key: {
            "txt": fields["txt"].decode().upper().encode(),
            "num": str(number).encode(),
            "key": key.encode(),
        }
        for number, (key, fields) in enumerate(before.items())
    }
    hr.jobs.map(source, tmp_path / "b", "mapped_samples:keep_even").wait()
    assert samples(tmp_path / "b") == {k: v for k, v in before.items() if int(v["cls"]) % 2 == 0}
    ok("map", source, "--python", "mapped_samples:several", "--out", tmp_path / "c")
    several = [(f"{k}-000000", b"a") for k in before], [(f"own/{k}", b"c") for k in before]
    assert list(samples(tmp_path / "c"))[:3] == ["s00000-000000", "s00000-000001", "own/s00000"]
    assert {*several[0], *several[1]} <= {
        (key, fields["part"]) for key, fields in samples(tmp_path / "c").items()
    }
    ok("map", source, "--python", "mapped_samples:print_much", "--out", tmp_path / "d")
    assert samples(tmp_path / "d") == before
    assert not list(scratch.iterdir())


def samples_in(folder: Path) -> dict[str, dict[str, bytes]]:
    return samples(folder)


def test_webdataset_reads_them(source, scratch, tmp_path):
    wds = pytest.importorskip("webdataset")
    ok("map", source, "--command", "wc -c <sample.bin >sample.len", "--out", tmp_path / "out")
    urls = [str(shard) for shard in shards_of(tmp_path / "out")]
    lengths = [int(sample["len"]) for sample in wds.WebDataset(urls, shardshuffle=False)]
    assert lengths == [len(simple_sample(number)[1]["bin"]) for number in range(60)]


@pytest.mark.parametrize("container", ["tar", "tar.zst", "zip"])
@pytest.mark.parametrize(
    "what",
    [["--command", "cat sample.* sample.* >sample.all"], ["--python", "mapped_samples:upper"]],
)
def test_bytes_do_not_depend_on_workers(what, container, source, scratch, tmp_path, make_tar):
    _, fields = simple_sample(5)
    make_tar(source / "zz.tar", [("large", {**fields, "bin": os.urandom(3_000_000)})])
    options = [*what, "--samples", "20", "--container", container, "--no-fsync"]
    for name, more in {"1": ["-j1"], "5": ["-j5"], "m": ["-j3", "--memory", "1kB"]}.items():
        ok("map", source, "--out", tmp_path / name, *options, *more)
        assert contents(tmp_path / name) == contents(tmp_path / "1")
    plan = tmp_path / "plan"
    ok("plan", "map", source, *options[:-1], "--out", tmp_path / "t", "--plan", plan)
    for task in (3, 0, 2, 1):
        ok("run-task", plan, task, "-j2")
    ok("run", plan)
    assert contents(tmp_path / "t") == contents(tmp_path / "1")
    ok("verify", tmp_path / "1")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (
            ["--command", "[ $(cat sample.cls) != 7 ] || { echo hm; echo no sevens >&2; exit 3; }"],
            ["exit status 3", "hm | no sevens"],
        ),
        (["--command", "[ $(cat sample.cls) != 7 ] || kill -9 $$"], ["signal 9"]),
        (["--python", "mapped_samples:raise_at_seven"], ["ValueError: no sevens here"]),
        (["--python", "mapped_samples:die_at_seven"], ["exit status 3", "dying"]),
    ],
)
def test_failures_are_named_or_left_out(what, said, source, scratch, tmp_path):
    out = tmp_path / "out"
    for threads in ("1", "4"):
        failed = run("map", source, *what, "--out", out, "-j", threads)
        text = failed.stderr.decode()
        assert failed.returncode == 1, text
        for words in [*said, "s00007", "part-001.tar", "--on-error skip"]:
            assert words in text
    assert not (out / "headrace.json").exists()
    assert not list(scratch.iterdir())
    done = run("map", source, *what, "--out", tmp_path / "skip", "--on-error", "skip")
    assert done.returncode == 0
    assert "left out: s00007" in done.stderr.decode()
    assert samples(tmp_path / "skip") == {k: v for k, v in samples(source).items() if k != "s00007"}


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("mapped_samples:nothing_there", "no attribute 'nothing_there'"),
        ("no_such_module:f", "No module named 'no_such_module'"),
        ("mapped_samples", "not module:function"),
        ("mapped_samples:NUMBER", "not a function"),
    ],
)
def test_a_function_that_cannot_be_had_is_said_at_once(function, said, source, scratch, tmp_path):
    failed = run("map", source, "--python", function, "--out", tmp_path / "out")
    assert failed.returncode == 2
    assert said in failed.stderr.decode()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (["--python", "mapped_samples:returns_a_float"], "'cls' is a float"),
        (["--python", "mapped_samples:bad_name"], "a/b"),
        (["--command", "touch sample.X"], "lower-case"),
    ],
)
def test_results_that_no_reader_understands_are_refused(what, said, source, scratch, tmp_path):
    failed = run("map", source, *what, "--out", tmp_path / "out")
    assert failed.returncode == 1
    assert said in failed.stderr.decode()


def test_functions_of_the_main_program_are_refused(source, tmp_path):
    with pytest.raises(hr.UsageError, match="cannot import"):
        hr.jobs.map(source, tmp_path / "out", lambda sample: sample)
    with pytest.raises(hr.UsageError, match="one of --command and --python"):
        hr.jobs.map(source, tmp_path / "out")


def test_killed_at_any_moment_it_goes_on_with_the_same_bytes(source, scratch, tmp_path):
    out = tmp_path / "out"
    command = ["map", source, "--command", "cat sample.txt >sample.new", "--samples", "10"]
    ok(*command, "--out", tmp_path / "expected", "--no-fsync")
    for point in (
        "begun",
        "shard_written:2",
        "shard_committed:3",
        "recorded",
        "tables",
        "rooted",
    ):
        env = {"HEADRACE_CRASH_AT": point}
        killed = run(*command, "--out", out, "--no-fsync", "-j2", env=env)
        assert killed.returncode == -signal.SIGKILL, point
    done = report(*command, "--out", out, "--no-fsync")
    assert done["complete_before"]
    assert contents(out) == contents(tmp_path / "expected")
    assert not list(scratch.iterdir()), "what killed jobs left is removed by the next one"


def processes_with(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def wait_for(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


@pytest.mark.parametrize(
    "what",
    [["--command", "sleep 60 & sleep 60; wait"], ["--python", "mapped_samples:sleep"]],
)
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stop_leaves_no_process_and_no_folder(what, stop, source, scratch, tmp_path):
    mark = f"HEADRACE_TEST_MARK={os.getpid()}-{tmp_path.name}-{what[0]}-{stop}"
    name, _, value = mark.partition("=")
    command = [HEADRACE, "map", source, *what, "--out", tmp_path / "out", "-j3", "-q"]
    process = subprocess.Popen(command, env={**os.environ, name: value}, stderr=subprocess.PIPE)
    wait_for(lambda: len(processes_with(mark)) > (9 if what[0] == "--command" else 3))
    process.send_signal(stop)
    code = process.wait(timeout=10)
    assert code == (-stop if stop == signal.SIGKILL else 130), process.stderr.read()
    if stop == signal.SIGKILL:
        # The kernel ends the shells; what they started themselves is nobody's child now.
        shells = 1 if what[0] == "--command" else 0
        wait_for(lambda: len(processes_with(mark)) <= 2 * 3 * shells)
        for left in processes_with(mark):
            os.kill(left, signal.SIGKILL)
        ok("map", source, "--command", "true", "--out", tmp_path / "other", "--no-fsync")
    else:
        wait_for(lambda: not processes_with(mark))  # killed ones take a moment to be gone
    assert not list(scratch.iterdir())
