"""The pictures of the docs: drawn from a run, the same every time, and self-contained."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from command_line import TINY, finished_run
from doc_pages import DOCS

SCRIPT = DOCS / "images" / "make_screens.py"


@pytest.fixture(scope="module")
def make_screens() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_screens", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_same_run_gives_the_same_pictures(
    make_screens: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = finished_run(*TINY, "--seed", "1")
    first = make_screens.screens(folder)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    moved = Path("elsewhere", "a")
    shutil.copytree(folder, moved)
    assert make_screens.screens(moved) == first
    for name, text in first.items():
        assert ElementTree.fromstring(text).tag.endswith("svg")
        said = re.sub(r"<[^>]+>|&#160;", " ", text)
        assert name.removesuffix(".svg") in said
        # Nothing is fetched: the only address is the name of the format itself.
        drawn = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
        assert set(re.findall(r"https?://[\w./]+", drawn)) == {"http://www.w3.org/2000/svg"}
    assert "overestimates" in first["gate-report.svg"]
    assert "Keep&#160;the&#160;capital&#160;letters" in first["diff-skills.svg"]


def test_the_script_writes_the_files_and_names_what_is_wrong(tmp_path: Path) -> None:
    folder = finished_run(*TINY)
    command = [sys.executable, SCRIPT, folder, "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["diff-skills.svg", "gate-report.svg"]
    wrong = subprocess.run(
        [sys.executable, SCRIPT, "gone"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: there is no skill or run folder gone")
