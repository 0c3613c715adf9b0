"""The package and a program that uses it are typed, strictly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import headrace
import pytest

EXAMPLE = Path(__file__).with_name("typed_example.py")
CONFIG = Path(__file__).parents[2] / "pyproject.toml"


def test_mypy_is_content(tmp_path):
    pytest.importorskip("mypy")
    place = Path(headrace.__file__).parents[1]
    installed = place.name == "site-packages"  # mypy finds it there, and refuses to be told
    program = [sys.executable, "-m", "mypy", "--strict", "--config-file", CONFIG]
    environment = {**os.environ, "MYPYPATH": "" if installed else str(place)}
    for what in (["--package", "headrace"], [EXAMPLE]):
        done = subprocess.run(
            [*program, "--cache-dir", tmp_path, *what],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_typed_example_runs(shards):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(shards(40, 2))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[(16,), (16,), (8,)]\n"
