"""A stranger's tracker: a plug-in that writes down what it is told, and fails when asked to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from plugin_folder import install

SOURCE = """
import json, os, sys
from dataclasses import asdict
from skillopt_cli.ports import Server, TrackerSpec

class Notebook:
    place = "notebook"

    def __init__(self, run):
        self.path = run.folder.with_suffix(".txt")
        self.fails = run.environment.get("NOTEBOOK_FAILS", "")
        self.key = os.environ.get("NOTEBOOK_KEY", "")
        print("a library that talks")
        self.note("open", asdict(run))
        asked = os.environ.get("NOTEBOOK_TELLS", "").split()
        self.note("process", {"variables": [name for name in asked if name in os.environ]})
        if self.fails == "open":
            raise OSError(f"no paper for {self.key}")

    def note(self, what, value):
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps([what, value], default=str) + "\\n")

    def record(self, point):
        if self.fails == f"step {point.step}":
            raise OSError(f"no paper for {self.key}")
        if self.fails == f"death {point.step}":
            print("the pencil broke", file=sys.stderr, flush=True)
            os._exit(3)
        self.note("step", asdict(point))

    def close(self, closing):
        if self.fails == "close":
            raise OSError(f"no paper for {self.key}")
        self.note("close", asdict(closing))

def server(environment):
    url = environment.get("NOTEBOOK_URL")
    return Server(url, "NOTEBOOK_URL") if url else None

SPEC = TrackerSpec(
    name="notebook",
    summary="a notebook",
    open=Notebook,
    look=lambda run: f"see {run.folder.name} {run.environment.get('NOTEBOOK_KEY', '')}".strip(),
    extra="paper",
    missing=lambda: "the module pencil" if os.path.exists("no-pencil") else "",
    variables=("NOTEBOOK_",),
    calm={"NOTEBOOK_QUIET": "yes"},
    server=server,
)
"""


def install_notebook(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Make the tracker `notebook` known, in this process and in those it starts."""
    install(folder, patch, {"a_notebook": SOURCE}, {"tracker": {"notebook": "a_notebook:SPEC"}})
    patch.setenv("PYTHONPATH", str(folder))


def notes(run: Path, what: str = "") -> list[Any]:
    """What it wrote down of a run, all or of one kind."""
    path = run / "trackers" / "notebook.txt"
    # A line that is being written has no end yet.
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [value for kind, value in map(json.loads, lines) if what in ("", kind)]
