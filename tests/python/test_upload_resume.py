"""Programs killed in the middle of a large object, on real bucket servers: the same command again
makes the object, and does not send again what has arrived."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
import urllib.request

import pytest
from program import HEADRACE, ok
from servers.buckets import azurite, fake_gcs, moto_s3, rclone_s3
from servers.failing import failing

MIB = 1 << 20
# The server, and the size of its parts.
SERVERS = {
    "moto": (moto_s3, 8 * MIB),
    "rclone": (rclone_s3, 8 * MIB),
    "azurite": (azurite, 8 * MIB),
    "fake-gcs": (fake_gcs, 32 * MIB),
}


@pytest.fixture
def folder(tmp_path):
    """folder(size): with one file of random bytes."""

    def make(size):
        made = tmp_path / "large"
        made.mkdir()
        (made / "one.bin").write_bytes(random.Random(3).randbytes(size))
        return made

    return make


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def start(command, server, counts, sent):
    """The command, when it has sent this many bytes."""
    before = counts.body_bytes
    job = subprocess.Popen(
        [HEADRACE, *map(str, command), "--quiet"], env={**os.environ, **server.env}
    )
    wait_until(lambda: counts.body_bytes - before >= sent or job.poll() is not None)
    return job


def kill(command, server, counts, sent):
    job = start(command, server, counts, sent)
    job.send_signal(signal.SIGKILL)
    job.wait()
    wait_until(lambda: counts.answered == counts.requests)


def sent_by(command, server, counts):
    before = counts.body_bytes
    ok(*command, "--quiet", env=server.env)
    return counts.body_bytes - before


@pytest.mark.parametrize("name", SERVERS)
def test_a_copy_that_was_killed_sends_only_what_is_missing(name, folder, tmp_path):
    serve, part = SERVERS[name]
    source = folder(5 * part + 1234)
    (tmp_path / name).mkdir()
    with serve(tmp_path / name) as server, failing(server) as (front, counts):
        command = ["cp", source, front.location + "/copy"]
        rng = random.Random(name)
        kill(command, front, counts, rng.uniform(0, 5 * part))
        kill(command, front, counts, part)
        # Four parts are under way at once, so the first ones have come.
        kill(command, front, counts, part)
        assert sent_by(command, front, counts) < 4 * part
        ok("cp", server.location + "/copy", tmp_path / "back", env=server.env)
    assert (tmp_path / "back/one.bin").read_bytes() == (source / "one.bin").read_bytes()


def test_a_packing_that_was_killed_sends_only_what_is_missing(folder, tmp_path):
    source = folder(44 * MIB)
    (source / "one.txt").write_text("one")
    with moto_s3(tmp_path / "moto") as server, failing(server) as (front, counts):
        command = ["pack", source, "--out", front.location + "/set"]
        kill(command, front, counts, 5 * 8 * MIB)
        assert sent_by(command, front, counts) < 24 * MIB
        ok("verify", server.location + "/set", env=server.env)
        made = ok("cat", server.location + "/set", "one", "bin", env=server.env)
    assert made == (source / "one.bin").read_bytes()


def test_where_uploads_may_not_be_listed_all_is_sent_again(folder, tmp_path):
    source = folder(30 * MIB)
    with (
        moto_s3(tmp_path / "moto") as server,
        failing(server, denied="&uploads=") as (front, counts),
    ):
        command = ["cp", source, front.location + "/copy"]
        kill(command, front, counts, 24 * MIB)
        assert sent_by(command, front, counts) >= 30 * MIB
        assert ok("ls", server.location, env=server.env)


def test_ctrl_c_removes_what_was_sent(folder, tmp_path):
    source = folder(60 * MIB)
    with moto_s3(tmp_path / "moto") as server, failing(server) as (front, counts):
        job = start(["cp", source, front.location + "/copy"], front, counts, 24 * MIB)
        job.send_signal(signal.SIGINT)
        assert job.wait(timeout=60) == 130
        with urllib.request.urlopen(server.endpoint + "/bucket?uploads", timeout=30) as answer:
            assert b"<Upload>" not in answer.read()
