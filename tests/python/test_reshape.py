"""split, merge, concat, shuffle as people call them: what is conserved, kills, changed inputs,
several processes, other readers."""

import hashlib
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import tarfile
import time
from collections import Counter
from pathlib import Path

import pytest
from program import HEADRACE, ok, run, shards_of

CRASH_POINTS = [
    *("marked", "begun", "shard_written:2", "shard_committed", "shard_committed:3", "recorded"),
    *("recorded:4", "table", "table:3", "tables", "synced", "rooted", "records_removed"),
]


def report(*args):
    return json.loads(ok(*args, "--json"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def samples(folder: Path, pattern: str = "**/*.tar") -> list[tuple[str, tuple]]:
    """(key, ((field, digest) …)) in order, as Python's tarfile sees them."""
    found: list[tuple[str, list]] = []
    for shard in sorted(folder.glob(pattern)):
        with tarfile.open(shard) as archive:
            last = None
            for member in archive:
                head, _, name = member.name.rpartition("/")
                key, _, field = name.partition(".")
                key = f"{head}/{key}" if head else key
                digest = hashlib.sha256(archive.extractfile(member).read()).hexdigest()
                if key != last:
                    found.append((key, []))
                found[-1][1].append((field, digest))
                last = key
    return [(key, tuple(fields)) for key, fields in found]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    rng = random.Random(3)
    for i in range(600):
        path = folder / f"c{i % 4}" / f"s{i:04}"
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".bin").write_bytes(rng.randbytes(rng.choice([0, 1, 600, 5000, 40000])))
        path.with_suffix(".cls").write_text(str(i % 4))
    (folder / "large.bin").write_bytes(rng.randbytes(7_000_000))  # comes in pieces
    return folder


@pytest.fixture(scope="module")
def source(files, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("source") / "set"
    ok("pack", files, "--out", out, "--samples", "70", "--no-fsync")
    return out


@pytest.fixture(scope="module")
def foreign(files, tmp_path_factory) -> Path:
    """The same by Python's tarfile: other modes, times and names too long for a plain header."""
    out = tmp_path_factory.mktemp("foreign") / "set"
    out.mkdir()
    keys = sorted({p.with_suffix("") for p in files.rglob("*") if p.is_file()})
    for number in range(5):
        with tarfile.open(out / f"x{number}.tar", "w", format=tarfile.PAX_FORMAT) as archive:
            for i, key in enumerate(keys[number::5]):
                for path in sorted(key.parent.glob(key.name + ".*")):
                    name = str(path.relative_to(files))
                    archive.add(path, name if i % 7 else f"{'d' * 90}/{'e' * 90}/{name}")
    return out


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("expected") / "out"
    ok("shuffle", source, "--out", out, *OPTIONS)
    return contents(out)


OPTIONS = ["--seed", "5", "--shards", "8", "--no-fsync"]


@pytest.mark.parametrize("kind", ["source", "foreign"])
@pytest.mark.parametrize(
    "options",
    [
        ["shuffle", "--seed", "1", "--shards", "5"],
        ["split", "--samples", "37"],
        ["split", "--shard-size", "1MB"],
        ["split", "--shards", "3", "--multiple-of", "4"],
        ["merge", "--shards", "1"],
        ["merge"],
    ],
    ids=" ".join,
)
def test_samples_are_conserved_and_the_order_is_the_one_asked_for(kind, options, request, tmp_path):
    data = request.getfixturevalue(kind)
    out = tmp_path / "out"
    before, done = samples(data), report(*options, data, "--out", out, "--no-fsync")
    after = samples(out)
    assert Counter(after) == Counter(before)
    assert (after == before) == (options[0] != "shuffle")
    assert done["samples"] == len(before)
    ok("verify", out)
    for shard in shards_of(out):
        with tarfile.open(shard) as archive:
            assert {(m.mtime, m.uid, m.mode) for m in archive} == {(0, 0, 0o444)}
        subprocess.run(["tar", "-tf", shard], check=True, capture_output=True)


def test_shards_have_the_sizes_and_numbers_asked_for(source, tmp_path):
    ok("split", source, "--out", tmp_path / "a", "--shard-size", "1MB")
    sizes = [shard.stat().st_size for shard in shards_of(tmp_path / "a")]
    assert sum(size > 1_000_000 for size in sizes) == 1  # the sample that is larger alone
    ok("split", source, "--out", tmp_path / "b", "--samples", "10", "--multiple-of", "32")
    assert len(shards_of(tmp_path / "b")) % 32 == 0
    counts = [
        s["samples"]
        for s in report(
            "split",
            source,
            "--out",
            tmp_path / "b",
            "--samples",
            "10",
            "--multiple-of",
            "32",
            "--dry-run",
        )["shards"]
    ]
    assert max(counts) - min(counts) <= 1 and max(counts) <= 10


def test_several_sets_become_one(source, foreign, tmp_path):
    ok("concat", source, foreign, "--out", tmp_path / "out", "--rekey")
    fields = [fields for _, fields in samples(tmp_path / "out")]
    assert fields == [fields for _, fields in samples(source) + samples(foreign)]
    keys = [key for key, _ in samples(tmp_path / "out")]
    assert keys == [f"{i:09}" for i in range(len(keys))]


@pytest.mark.parametrize("verb", ["merge --shard-size 1MiB", "shuffle --shards 5"])
def test_hundreds_of_sets_need_few_open_files(verb, tmp_path):
    for i in range(6):
        (tmp_path / f"{i}.bin").write_bytes(bytes([i]) * 100 * i)
    source, out = tmp_path / "set", tmp_path / "out"
    ok("pack", *tmp_path.glob("*.bin"), "--out", source, "--samples", "2")
    words = [HEADRACE, *verb.split(), *[source] * 300, "--rekey", "--out", out]
    limited = ["sh", "-c", 'ulimit -n 1000; exec "$@"', "sh", *map(str, words)]
    assert subprocess.run(limited, check=False).returncode == 0
    found = Counter(fields for _, fields in samples(out))
    assert found == {fields: 300 for _, fields in samples(source)}


def test_equal_keys_side_by_side_are_refused(make_tar, tmp_path):
    make_tar(tmp_path / "a.tar", [("same", {"txt": b"1"})])
    make_tar(tmp_path / "b.tar", [("same", {"cls": b"2"})])
    done = run("merge", tmp_path / "a.tar", tmp_path / "b.tar", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert b"same" in done.stderr and b"--rekey" in done.stderr


def test_bytes_do_not_depend_on_threads(source, expected, tmp_path):
    for threads in (1, 2, 7):
        ok("shuffle", source, "--out", tmp_path / str(threads), *OPTIONS, "-j", threads)
        assert contents(tmp_path / str(threads)) == expected
    ok("shuffle", source, "--out", tmp_path / "little", *OPTIONS, "--memory", "1MiB")
    assert contents(tmp_path / "little") == expected


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_killed_at_a_named_point_it_is_old_or_new_and_goes_on(point, source, expected, tmp_path):
    out = tmp_path / "out"
    command = ["shuffle", source, "--out", out, *OPTIONS]
    assert run(*command, env={"HEADRACE_CRASH_AT": point}).returncode == -signal.SIGKILL
    if (out / "headrace.json").exists():
        ok("verify", out)
    else:
        assert run("info", out).returncode != 0, "half a data set was read"
        if point not in ("marked", "begun"):  # the plan lies there after the marker
            assert report("status", out)["state"] == "under way"
    ok(*command)
    assert contents(out) == expected


@pytest.mark.parametrize("verb", ["shuffle", "split"])
def test_killed_at_random_moments_it_ends_with_the_same_bytes(verb, source, tmp_path):
    options = ["--shards", "8", "--no-fsync"]
    ok(verb, source, "--out", tmp_path / "expected", *options)
    expected = contents(tmp_path / "expected")
    rng = random.Random(11)
    out = tmp_path / "out"
    kills = 0
    for _ in range(400):
        process = subprocess.Popen([HEADRACE, verb, source, "--out", out, *options, "-q"])
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        if (out / "headrace.json").exists():
            ok("verify", out)
            ok(verb, source, "--out", out, *options)
            assert contents(out) == expected
            shutil.rmtree(out)
        if kills >= 40:
            break
    assert kills >= 40
    ok(verb, source, "--out", out, *options)
    assert contents(out) == expected


def test_a_plan_is_run_task_by_task_in_any_order(source, expected, tmp_path):
    out, plan = tmp_path / "out", tmp_path / "plan"
    made = report(
        "plan", "shuffle", source, "--out", out, "--plan", plan, "--seed", "5", "--shards", "8"
    )
    assert made["tasks"] == 8
    assert report("status", plan)["state"] == "not begun"
    tasks = list(range(8))
    random.Random(2).shuffle(tasks)
    for done, task in enumerate(tasks):
        ok("run-task", plan, task, "--no-fsync")
        ok("run-task", plan, task, "--no-fsync")  # again is harmless
        assert report("status", plan)["finished"] == done + 1
    assert not (out / "headrace.json").exists()
    ok("run", plan, "--no-fsync")
    assert contents(out) == expected
    assert report("status", plan)["state"] == "complete"
    assert report("run-task", plan, 3)["complete_before"]
    assert run("run-task", plan, 8).returncode == 2


@pytest.mark.parametrize("algorithm", ["gather", "buckets"])
@pytest.mark.parametrize("kind", ["source", "foreign"])
def test_tasks_in_processes_of_their_own_write_the_same_bytes(algorithm, kind, request, tmp_path):
    """Four at a time, each killed once on its way."""
    source = request.getfixturevalue(kind)
    for verb in (["shuffle", "--seed", "5"], ["sort", "--reverse"], ["select", "--regex", "1"]):
        out, plan, want = (tmp_path / f"{verb[0]}-{name}" for name in ("out", "plan", "want"))
        ok(*verb[:1], source, "--out", want, *verb[1:], "--shards", "8", "--no-fsync")
        words = [*verb[1:], "--shards", "8"]
        ok("plan", verb[0], source, "--out", out, "--plan", plan, *words)
        options = ["--no-fsync", "--algorithm", algorithm, "--memory", "300KiB"]
        tasks = list(range(8))
        random.Random(verb[0]).shuffle(tasks)
        for begin in (0, 4):
            for point in ("begun", "part:2", "shard_written", "recorded", ""):
                command = [HEADRACE, "run-task", plan]
                env = {**os.environ, "HEADRACE_CRASH_AT": point}
                some = [
                    subprocess.Popen([*command, str(task), *options, "-q"], env=env)
                    for task in tasks[begin : begin + 4]
                ]
                codes = {process.wait(timeout=60) for process in some}
                assert codes <= {0, -signal.SIGKILL}
            assert codes == {0}
        assert report("status", plan)["finished"] == 8
        assert bool(list(out.rglob("parts/*"))) == (algorithm == "buckets")
        ok("run", plan, "--no-fsync")
        assert contents(out) == contents(want)


def test_runs_at_the_same_time_are_harmless(source, expected, tmp_path):
    out, plan = tmp_path / "out", tmp_path / "plan"
    ok("plan", "shuffle", source, "--out", out, "--plan", plan, "--seed", "5", "--shards", "8")
    for _ in range(8):
        runs = [subprocess.Popen([HEADRACE, "run", plan, "--no-fsync", "-q"]) for _ in range(3)]
        assert [process.wait(timeout=60) for process in runs] == [0, 0, 0]
        ok("run", plan)  # removes what a late one left
        assert contents(out) == expected
        shutil.rmtree(out)


def test_a_destination_that_is_but_planned_holds_no_data_set(source, tmp_path):
    ok("plan", "shuffle", source, "--out", tmp_path / "out")
    assert run("info", tmp_path / "out").returncode == 3


def test_resume_by_the_destination_and_abandon(source, expected, tmp_path):
    out = tmp_path / "out"
    command = ["shuffle", source, "--out", out, *OPTIONS]
    run(*command, env={"HEADRACE_CRASH_AT": "recorded:6"})
    inodes = {p: p.stat().st_ino for p in out.glob("*.tar")}
    again = report("resume", out, "--no-fsync")
    assert again["tasks_before"] >= 5
    assert sum(p.stat().st_ino == inode for p, inode in inodes.items()) >= 5
    assert contents(out) == expected
    assert report(*command)["complete_before"]
    shutil.rmtree(out)
    run(*command, env={"HEADRACE_CRASH_AT": "recorded:3"})
    ok("abandon", out)
    assert contents(out) == {}
    ok(*command)
    assert run("abandon", out).returncode == 3, "its plan is gone with its end"


def test_an_input_that_changed_is_exit_6_with_its_name(source, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(source, data)
    plan = tmp_path / "plan"
    ok("plan", "shuffle", data, "--out", tmp_path / "out", "--plan", plan, "--shards", "3")
    shard = sorted(data.glob("*.tar"))[2]
    shard.write_bytes(shard.read_bytes()[:-512] + b"\1" * 512)  # as large as it was
    for command in (["run", plan], ["run-task", plan, "1"]):
        done = run(*command)
        assert done.returncode == 6, done.stderr
        assert shard.name.encode() in done.stderr
    assert not (tmp_path / "out" / "headrace.json").exists()


def test_an_input_that_changes_meanwhile_is_noticed_at_the_end(source, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(source, data)
    plan = tmp_path / "plan"
    ok("plan", "split", data, "--out", tmp_path / "out", "--plan", plan, "--shards", "4")
    ok("run-task", plan, 0)
    last = sorted(data.glob("*.tar"))[-1]
    last.touch()
    assert run("run", plan).returncode == 6
    ok("run-task", plan, 1)  # does not read it


def test_a_full_disk_is_exit_8_and_resumable(source, expected, tmp_path):
    out = tmp_path / "out"

    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))

    full = run("shuffle", source, "--out", out, *OPTIONS, preexec_fn=limit_files)
    assert full.returncode == 8, full.stderr
    assert not list(out.rglob("*.part"))
    ok("shuffle", source, "--out", out, *OPTIONS)
    assert contents(out) == expected


def test_another_data_set_is_not_touched_without_replace(source, files, tmp_path):
    out = tmp_path / "out"
    ok("pack", files / "c0", "--out", out)
    before = contents(out)
    assert run("shuffle", source, "--out", out, *OPTIONS).returncode == 2
    assert contents(out) == before
    ok("shuffle", source, "--out", out, *OPTIONS, "--replace")
    assert json.loads(ok("info", out, "--json"))["samples"] == 601
    ok("verify", out)
    assert (
        before.items() - {"headrace.json": before["headrace.json"]}.items() <= contents(out).items()
    )


def test_loose_files_and_nothing_are_refused(files, tmp_path):
    assert run("shuffle", files, "--out", tmp_path / "out").returncode == 2
    assert run("shuffle", tmp_path / "none", "--out", tmp_path / "out").returncode == 3
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("memory", ["64KiB", "1MiB", "256MiB"])
@pytest.mark.parametrize("threads", [1, 3])
def test_buckets_write_the_same_bytes(memory, threads, source, foreign, expected, tmp_path):
    buckets = ["--algorithm", "buckets", "--memory", memory, "-j", threads]
    ok("shuffle", source, "--out", tmp_path / "a", *OPTIONS, *buckets)
    assert contents(tmp_path / "a") == expected
    for command in (["sort", foreign, "--shards", "60"], ["select", foreign, "--regex", "1"]):
        ok(*command, "--out", tmp_path / "gather" / command[0], "--algorithm", "gather")
        ok(*command, "--out", tmp_path / "buckets" / command[0], *buckets)
    assert contents(tmp_path / "gather") == contents(tmp_path / "buckets")


@pytest.mark.parametrize("point", ["begun", "shard_written:2", "recorded:4", "tables"])
def test_buckets_are_killed_and_leave_nothing(point, source, expected, tmp_path):
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    command = ["shuffle", source, "--out", out, *OPTIONS, "--algorithm", "buckets"]
    command += ["--scratch", scratch, "--memory", "1MiB"]
    assert run(*command, env={"HEADRACE_CRASH_AT": point}).returncode == -signal.SIGKILL
    assert not scratch.exists() or not list(scratch.iterdir())
    ok(*command)
    assert contents(out) == expected
    assert not list(scratch.iterdir())


def test_explain_says_what_and_why_and_writes_nothing(source, tmp_path):
    out = tmp_path / "out"
    told = report("shuffle", source, "--out", out, "--explain")
    assert told["algorithm"] == "gather"
    assert told["gather"]["bytes_read"] == pytest.approx(
        sum(p.stat().st_size for p in shards_of(source)), rel=0.01
    )
    assert report("shuffle", source, "--out", out, "--explain", "--memory", "10kB")[
        "algorithm"
    ] == ("buckets")
    text = ok("split", source, "--out", out, "--samples", "50", "--explain").decode()
    assert "front to back" in text and "13 shards" in text
    assert not out.exists()


def test_shuffle_is_uniform(make_tar, tmp_path):
    """Chi-square over (shard of the input, shard of the output), and of neighbours, over seeds."""
    data = tmp_path / "data"
    data.mkdir()
    for shard in range(10):
        make_tar(data / f"{shard}.tar", ((f"{shard * 100 + i:04}", {"a": b""}) for i in range(100)))
    ok("index", data)
    table: Counter = Counter()
    neighbours = 0
    seeds = 20
    for seed in range(seeds):
        out = tmp_path / str(seed)
        ok("shuffle", data, "--seed", seed, "--shards", "10", "--out", out, "--no-fsync")
        order = [int(key) for key, _ in samples(out)]
        table.update((number // 100, at // 100) for at, number in enumerate(order))
        neighbours += sum(b == a + 1 for a, b in itertools.pairwise(order))
    expected = seeds * 10
    chi_square = sum((table[i, j] - expected) ** 2 / expected for i in range(10) for j in range(10))
    # 81 degrees of freedom: mean 81, deviation 12.7; rows and columns are fixed, so a little less.
    assert 35 < chi_square < 130
    assert neighbours < 2 * seeds + 25  # one a seed is expected


def tars(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in shards_of(folder)}


@pytest.mark.parametrize("algorithm", ["gather", "buckets"])
def test_over_http_the_shards_are_the_same(algorithm, source, tmp_path):
    from servers.nginx import nginx

    command = [*OPTIONS, "--algorithm", algorithm, "--memory", "20MiB"]
    with nginx(source, tmp_path / "nginx") as server:
        ok("shuffle", server.url, "--out", tmp_path / "out", *command)
    ok("shuffle", source, "--out", tmp_path / "expected", *command)
    assert tars(tmp_path / "out") == tars(tmp_path / "expected")
    ok("verify", tmp_path / "out")
