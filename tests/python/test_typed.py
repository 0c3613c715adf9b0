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
    package = Path(headrace.__file__).parent
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file",
            str(CONFIG),
            "--cache-dir",
            str(tmp_path),
            str(package),
            str(EXAMPLE),
        ],
        capture_output=True,
        text=True,
        cwd=package.parent,
        env={**os.environ, "MYPYPATH": str(package.parent)},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_typed_example_runs(shards):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(shards(40, 2))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[(16,), (16,), (8,)]\n"
