"""Odd shells: closed streams, a full device, a removed folder, odd variables of terminals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SMALLEST, finished_run, skillopt


def shell(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `skillopt` is this program."""
    program = f'skillopt() {{ "{sys.executable}" -m skillopt_cli "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", program + script],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], **variables},
    )


@pytest.mark.parametrize("command", ["config show", "runs list", "doctor searchqa"])
def test_a_removed_working_folder_is_told(command: str) -> None:
    ended = shell(f"mkdir gone; cd gone; rmdir ../gone; skillopt {command}")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: the working folder was removed")
    assert "hint: change to another folder" in ended.stderr


def test_the_version_needs_no_folder() -> None:
    assert shell("mkdir gone; cd gone; rmdir ../gone; skillopt --version").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
@pytest.mark.parametrize("command", ["config show", "--help", "config show --json"])
def test_a_full_device_is_told(command: str) -> None:
    ended = shell(f"skillopt {command} > /dev/full")
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "error: the output cannot be written: No space left on device",
        "hint: free disk space, or send the output elsewhere",
    ]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_disturb_a_run(closed: str) -> None:
    flags = " ".join(SMALLEST)
    ended = shell(f"skillopt train searchqa {flags} --run-id a {closed}")
    assert ended.returncode == 0, ended.stderr
    assert Path("outputs/searchqa/a/best_skill.md").is_file()
    assert "Traceback" not in ended.stderr


def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    ended = shell("skillopt config show | head -1")
    assert ended.stdout.startswith("key") and ended.stderr == ""


@pytest.mark.parametrize(
    "variables",
    [
        {"COLUMNS": "0"},
        {"COLUMNS": "abc"},
        {"COLUMNS": "-5"},
        {"COLUMNS": "1"},
        {"LINES": "x"},
        {"TERM": "dumb"},
        {"TERM": "no-such-terminal"},
        {"NO_COLOR": "1"},
        {"TMPDIR": "/no/such/folder"},
        {"HOME": "/no/such/home"},
    ],
)
def test_odd_variables_of_a_terminal_are_harmless(variables: dict[str, str]) -> None:
    folder = finished_run(*SMALLEST)
    for command in (("config", "show"), ("gate-report", folder), ("runs", "list"), ("--help",)):
        ended = skillopt(*command, **variables)
        assert ended.code == 0, ended.err
        assert "\x1b" not in ended.out


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"HOME": "/no/such/home"},
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii"},
        {"TERM": "dumb", "COLUMNS": "abc"},
        {"TMPDIR": "/no/such/folder"},
    ],
)
def test_a_run_goes_through_in_odd_shells(variables: dict[str, str]) -> None:
    ended = shell(f"skillopt train searchqa {' '.join(SMALLEST)} --run-id a", **variables)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
