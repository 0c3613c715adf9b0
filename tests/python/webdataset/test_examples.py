"""The scripts of examples/webdataset, each with both imports: the same words come out."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("webdataset", reason="webdataset is not installed: NOT TESTED")
pytest.importorskip("torchvision", reason="torchvision is not installed: NOT TESTED")
pytest.importorskip("PIL", reason="Pillow is not installed: NOT TESTED")

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "webdataset"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "make_shards.py")
OWN_PROCESSES = {"image_classification_ddp.py"}  # starts ranks, which must not inherit the tests


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Made by the example itself from real pictures."""
    out = tmp_path_factory.mktemp("shards")
    pictures = ROOT / "tests" / "data" / "codec" / "jpeg"
    run_in_a_process(EXAMPLES / "make_shards.py", pictures, out)
    return out


def run_in_a_process(script: Path, *arguments: object) -> str:
    command = [sys.executable, "-W", "ignore", str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_does_the_same_with_either_import(script, shards, tmp_path, monkeypatch, capsys):
    def run(path: Path) -> str:
        if script in OWN_PROCESSES:
            return run_in_a_process(path, shards)
        monkeypatch.setattr(sys, "argv", [str(path), str(shards)])
        runpy.run_path(str(path), run_name="__main__")
        return capsys.readouterr().out

    text = (EXAMPLES / script).read_text()
    assert "import headrace.webdataset as wds" in text
    moved_back = tmp_path / script
    moved_back.write_text(text.replace("headrace.webdataset", "webdataset"))
    expected = run(moved_back)
    assert expected.strip()
    assert run(EXAMPLES / script) == expected
