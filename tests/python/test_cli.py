"""The frame of the command line: help, usage, exit codes, terminals, signals."""

import json
import os
import pty
import signal
import subprocess
import tarfile
import time

import pytest
from program import HEADRACE, flip, ok, run


def test_alone_and_help_show_examples_first_and_fit_a_screen():
    for args in ([], ["--help"], ["help"]):
        lines = ok(*args).decode().splitlines()
        assert len(lines) <= 24
        assert "Examples:" in lines[2]
    for verb in ("ls", "cat", "info", "verify", "pack"):
        text = ok(verb, "--help").decode()
        assert text.index("Examples:") < text.index("Options:")


def test_help_comes_at_once():
    def seconds():
        start = time.perf_counter()
        ok("--help")
        return time.perf_counter() - start

    assert min(seconds() for _ in range(10)) < 0.05


def test_version():
    assert ok("--version").decode().startswith("headrace ")
    version = json.loads(ok("--version", "--json"))
    assert version["name"] == "headrace" and version["version"]


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["verfy", "x"], "Did you mean 'headrace verify'?"),
        (["ls", "x", "--membres"], "Did you mean '--members'?"),
        (["ls", "x", "--limit", "many"], "--help"),
        (["ls", "x", "--limit", "-3"], "'-3' is not a whole number of at least 0"),
        (["cat", "x", "--at", "-1"], "'-1' is not a whole number of at least 0"),
        (["verify", "x", "--max-findings", "-1"], "'-1' is not"),
        (["pack", "x", "--out", "y", "--samples", "0"], "'0' is not a whole number of at least 1"),
        (["pack", "x", "--out", "y", "--shards", "-2"], "'-2' is not"),
        (["pack", "x", "--out", "y", "--shard-size", "0"], "no room for a sample"),
        (["pack", "x", "--out", "y", "--shuffle", "18446744073709551616"], "is not a whole number"),
        (["shuffle", "x", "--out", "y", "--seed", "1.5"], "'1.5' is not"),
        (["ls"], "--help"),
        (["cat", "x"], ""),
    ],
)
def test_wrong_usage_exits_2_and_says_what_was_meant(args, hint):
    done = run(*args)
    assert done.returncode == 2 and done.stdout == b""
    assert done.stderr.startswith(b"error: ") and hint in done.stderr.decode()


def test_errors_are_json_with_json(tmp_path):
    done = run("info", tmp_path / "nothing", "--json")
    error = json.loads(done.stderr)["error"]
    assert done.returncode == error["exit"] == 3
    assert error["code"] == "not_found" and error["shard"].endswith("nothing")


def test_exit_codes(packed, tmp_path):
    assert run("info", packed).returncode == 0
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        listing = subprocess.run([HEADRACE, "ls", "-"], stdin=directory, capture_output=True)
        assert listing.returncode == 1
    finally:
        os.close(directory)
    assert run("info").returncode == 2
    assert run("info", tmp_path / "nothing").returncode == 3
    flip(packed / "headrace.json", 5)
    assert run("info", packed).returncode == 4
    half = tmp_path / "half"
    (half / "_headrace").mkdir(parents=True)
    (half / "_headrace/pending.json").write_text("{}")
    for verb in ("ls", "info", "verify"):
        assert run(verb, half).returncode == 5
    with open("/dev/full", "wb") as full:
        done = subprocess.run([HEADRACE, "--help"], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 8 and b"error: " in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_shard_exits_7(packed):
    (packed / "headrace.json").chmod(0)
    assert run("info", packed).returncode == 7


def stderr_on_terminal(args, **env):
    """What a command writes when standard error is a terminal."""
    ours, theirs = pty.openpty()
    subprocess.run(
        [HEADRACE, *map(str, args)],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", **env},
    )
    os.close(theirs)
    text = os.read(ours, 10000)
    os.close(ours)
    return text


def test_colours_on_a_terminal_only_and_not_with_no_color(packed):
    args = ["cat", packed, "no such key"]
    without = {"NO_COLOR": ""}
    assert b"\x1b[" in stderr_on_terminal(args, **without)
    assert b"\x1b[" not in stderr_on_terminal(args, NO_COLOR="1")
    assert b"\x1b[" not in stderr_on_terminal(args, **without, TERM="dumb")
    assert b"\x1b" not in run(*args).stderr
    for verb in (["ls", packed], ["info", packed], ["verify", packed]):
        done = run(*verb)
        assert b"\x1b" not in done.stdout + done.stderr


def test_names_cannot_steer_the_terminal(tmp_path):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as tar:
        tar.addfile(tarfile.TarInfo("evil\x1b[31m\n.txt"))
    assert ok("ls", path) == b"evil\\x1b[31m\\x0a\ttxt=0\n"
    assert json.loads(ok("ls", path, "--json"))["key"] == "evil\x1b[31m\n"


def test_names_that_are_not_utf8_survive_json(tmp_path):
    path = tmp_path / "x.tar"
    with tarfile.open(
        path, "w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
    ) as tar:
        tar.addfile(tarfile.TarInfo("caf\udce9.txt"))
    assert b"caf\xe9\ttxt=0" in ok("ls", path)
    assert json.loads(ok("ls", path, "--json"))["key"] == "caf\udce9"


def test_ctrl_c_exits_130(tmp_path):
    waiting = subprocess.Popen(
        [HEADRACE, "ls", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(0.2)
    waiting.send_signal(signal.SIGINT)
    waiting.wait(5)
    assert waiting.returncode == 130

    huge = tmp_path / "huge.tar"  # sparse on disk: eight gigabytes of zeros
    info = tarfile.TarInfo("a.bin")
    info.size = 8 * 2**30 - 1
    huge.write_bytes(info.tobuf())
    os.truncate(huge, 512 + 8 * 2**30 + 1024)
    busy = subprocess.Popen(
        [HEADRACE, "verify", huge, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(0.2)
    busy.send_signal(signal.SIGINT)
    _, stderr = busy.communicate(timeout=5)
    assert busy.returncode == 130
    assert json.loads(stderr)["error"]["code"] == "interrupted"


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    path = tmp_path / "many.tar"
    with tarfile.open(path, "w") as tar:
        for i in range(20000):
            tar.addfile(tarfile.TarInfo(f"{i:06}.txt"))
    listing = subprocess.Popen(
        [HEADRACE, "ls", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert listing.stdout.read(6) == b"000000"
    listing.stdout.close()
    assert listing.wait(10) == 0
    assert listing.stderr.read() == b""
