"""gopen's schemes: the same commands as the real one's where commands run, and nothing else.

`curl`, `gsutil` and `ais` are stand-ins here, which write down how they were called.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import headrace.webdataset as ours
import pytest

real = pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")

PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*" >>"{log}"
case "$*" in
  *wb*) cat >"{log}.written" ;;
  *) echo content ;;
esac
exit {status}
"""


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Puts the stand-ins first in PATH; gives what was called since it was last asked."""
    log = tmp_path / "log"

    def install(status=0):
        for name in ("curl", "gsutil", "ais"):
            path = tmp_path / name
            path.write_text(PROGRAM.format(log=log, status=status))
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def called(status=0):
        lines = log.read_text() if log.exists() else ""
        log.unlink(missing_ok=True)
        install(status)
        return lines

    install()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    called.written = lambda: (tmp_path / "log.written").read_bytes()
    return called


def outcome(library, url, mode):
    try:
        with library.gopen(url, mode) as stream:
            return stream.read() if mode == "rb" else stream.write(b"sent")
    except Exception as error:
        return type(error)


# In all modes, and those whose stores are ours only in strict mode.
COMMANDS = ["sftp", "ftps", "scp", "htgs"]
STORES = ["http", "https", "gs", "ais"]


def test_no_scheme_is_missing():
    assert set(real.gopen_schemes) <= set(ours.gopen_schemes)


@pytest.mark.parametrize("mode", ["rb", "wb"])
@pytest.mark.parametrize("scheme", COMMANDS + STORES)
def test_a_command_is_called_as_the_real_one_calls_it(scheme, mode, commands, monkeypatch):
    if scheme in STORES:
        monkeypatch.setenv("HEADRACE_WDS_STRICT", "1")
    url = f"{scheme}://host/a/{mode}.tar"
    results = {}
    for status in (0, 1, 23, 26, 141):
        for library in (real, ours):
            commands(status)
            result = outcome(library, url, mode)
            results[library.__name__] = result, commands()
            if mode == "wb" and isinstance(result, int):
                assert commands.written() == b"sent"
        theirs, mine = results.values()
        assert mine == theirs, status


def test_schemes_of_use_ais_for_go_to_the_command(commands):
    script = "import sys, {0} as w; print([w.gopen(url).read() for url in sys.argv[1:]])"
    seen = []
    for library in ("webdataset", "headrace.webdataset"):
        done = subprocess.run(
            [sys.executable, "-c", script.format(library), "gs://b/x.tar", "s3://b/x.tar"],
            env={**os.environ, "USE_AIS_FOR": "gs:s3"},
            capture_output=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        seen.append((done.stdout, commands()))
    assert seen[0] == seen[1] and seen[0][1].count("ais get") == 2


ODD_TO_READ = ["nowhere://x/y", "", "pipe:", "pipe:exit 7", "pipe:echo 1"]
# Commands that read all they are sent: those that do not may be gone before it comes, or after.
ODD_TO_WRITE = ["nowhere://x/y", "", "pipe:cat >/dev/null", "pipe:cat >/dev/null; exit 7"]


@pytest.mark.parametrize(
    ("mode", "url"),
    [("rb", url) for url in ODD_TO_READ] + [("wb", url) for url in ODD_TO_WRITE],
)
def test_odd_urls_end_alike(mode, url):
    assert outcome(ours, url, mode) == outcome(real, url, mode)


@pytest.mark.parametrize("mode", ["r", "w", "ab", "r+b", ""])
def test_other_modes_are_refused_alike(mode, tmp_path):
    url = str(tmp_path / "x")
    assert outcome(ours, url, mode) is outcome(real, url, mode) is AssertionError


def test_the_standard_streams():
    for library in (real, ours):
        assert library.gopen("-", "rb") is sys.stdin.buffer
