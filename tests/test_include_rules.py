"""The include check finds what it is there to find, and nothing in this tree."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("include_rules.py")
CMAKE = """
headrace_module(base DEPENDS)
headrace_module(io DEPENDS base)
headrace_module(plan DEPENDS base)
headrace_module(dataset DEPENDS io plan)
headrace_module(engine DEPENDS dataset)
headrace_module(job DEPENDS dataset)
"""


def check(root: Path) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small house that keeps the rules."""
    write(tmp_path, "CMakeLists.txt", CMAKE)
    write(tmp_path, "include/headrace/result.h", "#include <string>\n")
    write(tmp_path, "include/headrace/loader.h", '#include "headrace/result.h"\n')
    write(tmp_path, "src/base/try.h", '#include "headrace/result.h"\n')
    write(tmp_path, "src/io/file.cc", '#include "io/file.h"\n#include "base/try.h"\n')
    write(tmp_path, "src/engine/loader.cc", '#include "headrace/loader.h"\n#include "plan/x.h"\n')
    write(tmp_path, "cli/pack.cc", '#include "cli/command.h"\n#include "job/pack.h"\n')
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_this_tree_keeps_the_rules() -> None:
    assert check(SCRIPT.parent.parent) == (0, [])


def test_a_tree_that_keeps_the_rules_passes(tree: Path) -> None:
    assert check(tree) == (0, [])


@pytest.mark.parametrize(
    ("name", "include", "reason"),
    [
        ("src/io/a.cc", "plan/x.h", "io may not include plan/x.h (of plan)"),
        ("src/base/a.h", "io/file.h", "base may not include io/file.h (of io)"),
        ("src/engine/a.cc", "job/pack.h", "engine may not include job/pack.h (of job)"),
        ("src/job/a.cc", "headrace/loader.h", "job may not include headrace/loader.h (of engine)"),
        ("src/dataset/a.cc", "engine/run.h", "dataset may not include engine/run.h (of engine)"),
        ("src/plan/a.cc", "cli/command.h", "plan may not include cli/command.h (of cli)"),
        ("src/plan/a.cc", "order.h", "write the module's folder too: plan/order.h"),
        ("src/plan/a.cc", "headrace/new.h", "headrace/new.h has no owner"),
        ("include/headrace/a.h", "base/try.h", "a public header includes base/try.h"),
        ("cli/a.cc", "python/b.h", "python/b.h is in no module"),
    ],
)
def test_a_forbidden_include_is_named_with_file_and_line(
    tree: Path, name: str, include: str, reason: str
) -> None:
    write(tree, name, f'// a comment\n#include <vector>\n#  include "{include}"\n')
    status, lines = check(tree)
    assert status == 1
    assert len(lines) == 1
    assert lines[0].startswith(f"{name}:3: {reason}")


def test_a_folder_that_is_no_module_is_named(tree: Path) -> None:
    write(tree, "src/misc/a.cc", "")
    assert check(tree) == (1, ["src/misc:1: CMakeLists.txt has no such module"])


def test_dependencies_are_followed_through_other_modules() -> None:
    spec = importlib.util.spec_from_file_location("include_rules", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.read_modules(CMAKE)["engine"] == {"engine", "dataset", "io", "plan", "base"}
