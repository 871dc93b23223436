"""The program's start: quick where nothing is asked of it, and quiet when it is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import skillopt_cli
from skillopt_cli.cli.app import app

STOPPED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt as stopped:  # as pydantic does while it makes a model
                raise ValueError("SchemaError: KeyboardInterrupt") from stopped

sys.meta_path.insert(0, Finder())
sys.argv = ["skillopt", "train"]
from skillopt_cli.cli.main import main
main()
"""
LOADED = """
import sys
sys.argv = ["skillopt", "--version"]
from skillopt_cli.cli.main import main
main()
print(sorted({"typer", "rich", "pydantic", "openai"} & set(sys.modules)))
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(skillopt_cli.__file__).parent.parent)
    argv = [sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": root}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)


def test_ctrl_c_while_the_program_loads_leaves_no_traceback() -> None:
    done = python("-c", STOPPED)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "error: stopped by the user\n"


def test_ctrl_c_in_a_command_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("skillopt_cli.cli.plugins.names", pressed)
    ended = CliRunner().invoke(app, ["backends", "list"])
    assert (ended.exit_code, ended.stderr) == (130, "error: stopped by the user\n")


def test_the_version_needs_none_of_the_libraries() -> None:
    done = python("-c", LOADED)
    assert done.stdout.splitlines() == [f"skillopt {skillopt_cli.__version__}", "[]"]


def test_the_package_can_be_run_as_a_module() -> None:
    done = python("-m", "skillopt_cli", "trian")
    assert done.returncode == 2
    assert done.stderr.startswith("error: no such command")
