"""Whatever happens while a verb works: readers see a whole version or none, the same command ends
what was begun, the bytes are the same, and nothing stays behind."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import headrace as hr
import pytest
from conftest import write_tar
from job_outputs import contents
from program import HEADRACE, ok, run
from servers.buckets import moto_s3
from servers.failing import failing

CUT = ["--shards", "6", "--no-fsync"]
KEY_MAP = '{"odd-%02d.tar": [".*[13579]$"], "even-%02d.tar": [".*[02468]$"]}'
# What conserves every sample with its fields; "MAP" is a file.
CONSERVING = {
    "shuffle": ["shuffle", "--seed", "3"],
    "shuffle in buckets": ["shuffle", "--seed", "3", "--algorithm", "buckets", "--memory", "1MiB"],
    "split": ["split"],
    "merge": ["merge"],
    "concat": ["concat"],
    "convert": ["convert", "--container", "tar.zst"],
    "sort": ["sort", "--by", "bin", "--reverse"],
    "sort to shards": ["sort", "--key-map", "MAP"],
    "dedupe": ["dedupe"],
    "select all": ["select", "--where", "size >= 0"],
}
RESHAPING = CONSERVING | {
    "select": ["select", "--fraction", "0.6"],
    "rename": ["rename", "--fields", "data=bin"],
    "project": ["project", "--fields", "cls"],
    "join": ["join", "DATA"],
    "zip": ["zip", "DATA"],
    "map": ["map", "--command", "wc -c <sample.bin >sample.size"],
    "map in Python": ["map", "--python", "mapped_samples:keep_even"],
}
VERBS = RESHAPING | {"pack": ["pack"], "cp": ["cp"]}


def write_data(folder: Path, seed: int, prefix: str = "") -> Path:
    folder.mkdir()
    rng = random.Random(seed)
    for shard in range(7):
        samples = (
            (
                f"{prefix}{shard}-{i:03}",
                {"bin": rng.randbytes(rng.choice([1, 500, 3000, 20000])), "cls": str(i).encode()},
            )
            for i in range(rng.randint(1, 80))
        )
        write_tar(folder / f"{shard}.tar", samples)
    ok("index", folder, "--quiet")
    return folder


@pytest.fixture(autouse=True, scope="module")
def functions_of_the_tests():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("data") / "set", 1)


@pytest.fixture(scope="module")
def command_of(data, tmp_path_factory):
    """command_of(verb, out): the words of a command."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "map.json").write_text(KEY_MAP)
    ok("rename", data, "--fields", "more=bin,number=cls", "--out", folder / "other")
    names = {"MAP": str(folder / "map.json"), "DATA": str(folder / "other")}
    for shard in data.glob("*.tar"):
        subprocess.run(["tar", "-C", folder, "--one-top-level=files", "-xf", shard], check=True)

    def make(verb: str, out: Path, source=data) -> list[str]:
        if verb == "cp":
            return ["cp", str(source), str(out), "--no-fsync"]
        if verb == "pack":
            source = folder / "files"
        words = [names.get(word, word) for word in VERBS[verb]]
        return [words[0], str(source), *words[1:], "--out", str(out), *CUT]

    return make


@pytest.fixture(scope="module")
def wanted(command_of, tmp_path_factory):
    """wanted(verb): what it writes when nothing happens."""
    known: dict[str, dict[str, bytes]] = {}

    def make(verb: str) -> dict[str, bytes]:
        if verb not in known:
            out = tmp_path_factory.mktemp("wanted") / "out"
            ok(*command_of(verb, out))
            known[verb] = contents(out)
        return known[verb]

    return make


def digests(*folders: Path) -> Counter:
    """How often there is each (key, ((field, digest) …))."""
    found: Counter = Counter()
    for folder in folders:
        for sample in hr.open(str(folder)).samples():
            fields = ((f, hashlib.sha256(bytes(sample[f])).digest()) for f in sample.fields)
            found[sample.key, tuple(sorted(fields))] += 1
    return found


def files_of(folder: Path) -> list[str]:
    """Without the temporaries of killed writers, which nobody sees and the next one removes."""
    return [name for name in contents(folder) if not Path(name).name.startswith(".headrace-")]


def kill_at_random(verb, kills, seed, command_of, wanted, tmp_path):
    rng = random.Random(seed)
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    scratch.mkdir()
    command = command_of(verb, out)
    if verb in RESHAPING:
        command += ["--scratch", str(scratch)]
    want = wanted(verb)
    begin = time.monotonic()
    ok(*command)
    whole = time.monotonic() - begin
    shutil.rmtree(out)
    done = 0
    while done < kills:
        process = subprocess.Popen([HEADRACE, *command, "-q"])
        time.sleep(rng.uniform(0, whole))
        process.kill()
        done += process.wait() == -signal.SIGKILL
        if (out / "headrace.json").exists():
            ok("verify", out)  # whole, whatever else lies about
            ok(*command)
            assert contents(out) == want
            shutil.rmtree(out)
        else:
            # Before the marker there is nothing but an empty folder.
            assert run("info", out).returncode != 0 or not files_of(out)
    ok(*command)
    assert contents(out) == want
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("verb", VERBS)
def test_killed_at_random_moments(verb, command_of, wanted, tmp_path):
    kill_at_random(verb, 6, verb, command_of, wanted, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("verb", VERBS)
def test_killed_at_200_random_moments(verb, command_of, wanted, tmp_path):
    kill_at_random(verb, 200, verb + "!", command_of, wanted, tmp_path)


COMMIT = ["marked", "begun", "shard_written:2", "shard_committed:3", "recorded:6", "table"]
COMMIT += ["tables", "synced", "rooted", "records_removed"]


@pytest.mark.parametrize("point", COMMIT)
def test_killed_at_every_step_of_the_commit(point, command_of, wanted, tmp_path):
    for verb in RESHAPING:
        out = tmp_path / verb
        command = command_of(verb, out)
        killed = run(*command, env={"HEADRACE_CRASH_AT": point})
        assert killed.returncode == -signal.SIGKILL, (verb, killed.stderr)
        if (out / "headrace.json").exists():
            ok("verify", out)
        else:
            assert run("info", out).returncode != 0
        ok(*command)
        assert contents(out) == wanted(verb), verb


@pytest.mark.parametrize("seed", range(3))
def test_every_sample_is_conserved(seed, command_of, tmp_path):
    data = write_data(tmp_path / "data", seed)
    more = write_data(tmp_path / "more", seed + 100, "m")
    for verb in CONSERVING:
        ok(*command_of(verb, tmp_path / verb, data))
        assert digests(tmp_path / verb) == digests(data), verb
    ok("concat", data, more, "--out", tmp_path / "both", *CUT)
    assert digests(tmp_path / "both") == digests(data, more)
    ok("select", data, "--parts", "a=0.3,b=0.7", "--out", tmp_path / "parts", *CUT)
    assert digests(tmp_path / "parts/a", tmp_path / "parts/b") == digests(data)
    ok("rename", data, "--fields", "x=bin", "--out", tmp_path / "there", *CUT)
    ok("rename", tmp_path / "there", "--fields", "bin=x", "--out", tmp_path / "back", *CUT)
    assert digests(tmp_path / "back") == digests(data)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


@pytest.mark.parametrize("verb", ["shuffle", "shuffle in buckets", "sort", "convert"])
def test_a_full_disk(verb, command_of, wanted, small_disk):
    out = small_disk / "out"
    command = command_of(verb, out)
    full = run(*command)
    if full.returncode != 0:
        assert full.returncode == 8, full.stderr
        assert not [path for path in out.rglob("*") if path.suffix == ".part"]
    else:
        assert verb == "convert"  # it is small enough
    remount(small_disk, "size=64m")
    ok(*command)
    assert contents(out) == wanted(verb)


def test_a_full_disk_for_scratch(command_of, wanted, small_disk, tmp_path):
    out = tmp_path / "out"
    command = [*command_of("shuffle in buckets", out), "--scratch", str(small_disk / "scratch")]
    assert run(*command).returncode == 8
    remount(small_disk, "size=64m")
    ok(*command)
    assert contents(out) == wanted("shuffle in buckets")
    assert not list((small_disk / "scratch").iterdir())


def test_a_destination_that_takes_nothing(command_of, wanted, small_disk):
    out = small_disk / "out"
    command = command_of("shuffle", out)
    remount(small_disk, "size=64m,ro")
    refused = run(*command)
    assert refused.returncode == 7, refused.stderr
    remount(small_disk, "size=64m,rw")
    run(*command, env={"HEADRACE_CRASH_AT": "recorded:2"})
    remount(small_disk, "ro")
    assert run(*command).returncode == 7
    remount(small_disk, "rw")
    ok(*command)
    assert contents(out) == wanted("shuffle")


def test_a_store_that_answers_503_to_a_third(data, command_of, wanted, tmp_path):
    with moto_s3(tmp_path / "moto") as server, failing(server, 3) as (front, counts):
        source, out = server.location + "/in", server.location + "/out"
        ok("cp", data, source, env=server.env)
        command = ["shuffle", source, "--seed", "3", "--out", out, *CUT]
        ok(*command, env=front.env)
        ok("cp", out, tmp_path / "out", env=server.env)
        assert json.loads(ok(*command, "--json", env=front.env))["complete_before"]
        assert counts.refused > 20
    got, want = contents(tmp_path / "out"), wanted("shuffle")
    shards = {name for name in want if name.endswith(".tar")}
    assert {Path(name).name: got[name] for name in got if name.endswith(".tar")} == {
        name: want[name] for name in shards
    }


def test_two_writers_to_one_destination(command_of, wanted, tmp_path):
    for attempt in range(8):
        out = tmp_path / str(attempt)
        verbs = ["shuffle", "sort"]
        runs = [
            subprocess.Popen([HEADRACE, *command_of(verb, out), "-q"], stderr=subprocess.PIPE)
            for verb in verbs
        ]
        said = [process.communicate(timeout=60)[1] for process in runs]
        codes = [process.returncode for process in runs]
        assert sorted(codes) == [0, 2], said
        assert contents(out) == wanted(verbs[codes.index(0)])


@pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not installed")
@pytest.mark.parametrize("verb", ["shuffle", "join"])
def test_a_clock_that_jumps(verb, command_of, wanted, tmp_path):
    """Years back and forth between the kills, and four times as fast at the end."""
    out = tmp_path / "out"
    # With one thread nobody finishes more tasks while another is killed.
    command = [HEADRACE, *command_of(verb, out), "-q", "-j", "1"]
    env = {**os.environ, "NO_FAKE_STAT": "1"}  # the clock jumps, not what files say
    for shift, point in (("-3y", "recorded:2"), ("+5y", "recorded:2"), ("-1d", "tables")):
        killed = subprocess.run(
            ["faketime", "-f", shift, *command],
            env={**env, "HEADRACE_CRASH_AT": point},
            capture_output=True,
            check=False,
        )
        assert killed.returncode == 1 and b"Killed" in killed.stderr
    subprocess.run(["faketime", "-f", "+1y x4", *command], env=env, check=True)
    assert contents(out) == wanted(verb)
