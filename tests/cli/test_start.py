"""The program's start: quick where nothing is asked of it, and quiet when it is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import skillopt_cli
from skillopt_cli.cli.app import app
from skillopt_cli.cli.commands import COMMANDS, load_command

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
import os, sys
from importlib import import_module
at_start = set(sys.modules)
if backend := os.environ.get("UP_TO_A_CALL_TO"):
    module, name = backend.split(":")
    setattr(getattr(import_module(module), name), "chat", lambda *_: leave())
sys.argv = ["skillopt", *sys.argv[1:]]

def leave():
    show()
    os._exit(0)

def show():
    added = set(sys.modules) - at_start
    ours = {name for name in added if name.startswith("skillopt_cli")}
    foreign = {name.split(".")[0] for name in added - ours} - sys.stdlib_module_names
    foreign = {name for name in foreign if not name.startswith("_")}
    print(*sorted(ours | foreign), file=sys.stderr, flush=True)

from skillopt_cli.cli.main import main
try:
    main()
finally:
    show()
"""
SDK = """
import sys
at_start = set(sys.modules)
import openai
openai.AsyncOpenAI(api_key="no-key", http_client=openai.DefaultAioHttpClient())
foreign = {name.split(".")[0] for name in set(sys.modules) - at_start}
print(*sorted(name for name in foreign - sys.stdlib_module_names if name[0] != "_"))
"""
STARTED = {"skillopt_cli", "skillopt_cli.cli", "skillopt_cli.cli.main"}
WITH_COMMANDS = {
    *STARTED,
    "skillopt_cli.cli.app",
    "skillopt_cli.cli.commands",
    "skillopt_cli.cli.errors",
    "skillopt_cli.core",
    "skillopt_cli.core.errors",
    "typer",
    # Imported by typer.
    "annotated_doc",
    "shellingham",
}
# The parser checks the values of options with it.
WITH_VALUES = {
    *WITH_COMMANDS,
    "annotated_types",
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "typing_inspection",
}
LISTING_RUNS = {
    *WITH_VALUES,
    "skillopt_cli.cli.options",
    "skillopt_cli.cli.runs",
    "skillopt_cli.store",
    "skillopt_cli.store.layout",
}
OF_AN_ENDED_RUN = {
    f"skillopt_cli.{name}"
    for name in (
        *("cli.output", "permissions", "safe_files", "skill_folder", "ui", "ui.fitted_table"),
        *("core.companion_files", "core.control_characters", "core.formatting"),
        *("runlog", "runlog.text", "runlog.text.format", "runlog.text.run_list"),
        *("store.atomic_files", "store.log_lines"),
    )
} | {"rich", "markdown_it", "mdurl", "pygments"}
"""What a list reads and prints the summary of a run with."""
TRAINING = {
    "annotated_doc",
    "annotated_types",
    "dotenv",
    "psutil",
    "pydantic",
    "pydantic_core",
    "pydantic_settings",
    "shellingham",
    "typer",
    "typing_extensions",
    "typing_inspection",
    "yaml",
}
"""The packages that a training needs, beside what its backend brings."""
PARTS = {
    *("backends", "benchmarks", "cli", "compose", "config", "control", "core", "engine"),
    *("executors", "permissions", "planning", "plugins", "ports", "replay", "runlog"),
    *("safe_files", "skill_folder", "stages", "store", "ui"),
}
"""The parts of our own package that it needs."""


def python(
    *arguments: str, folder: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    root = str(Path(skillopt_cli.__file__).parent.parent)
    argv = [sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": root, **variables}
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, env=environment, cwd=folder
    )


def test_ctrl_c_while_the_program_loads_leaves_no_traceback() -> None:
    done = python("-c", STOPPED)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "stopped by the user\n"


def test_ctrl_c_in_a_command_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("skillopt_cli.cli.plugins.names", pressed)
    ended = CliRunner().invoke(app, ["backends", "list"])
    assert (ended.exit_code, ended.stderr) == (130, "stopped by the user\n")


def test_the_version_is_printed() -> None:
    done = python("-m", "skillopt_cli", "--version")
    assert done.stdout == f"skillopt {skillopt_cli.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "modules"),
    [
        (("--version",), STARTED),
        (("--help",), WITH_COMMANDS),
        (("runs", "list"), LISTING_RUNS),
    ],
)
def test_no_module_is_imported_before_it_is_needed(
    arguments: tuple[str, ...], modules: set[str], tmp_path: Path
) -> None:
    done = python("-c", LOADED, *arguments, folder=tmp_path)
    assert done.returncode == 0
    assert set(done.stderr.splitlines()[-1].split()) == modules


def test_a_list_of_runs_that_ended_reads_no_log(tmp_path: Path) -> None:
    settings = ("--preset", "tiny", "--display", "none", *OFFLINE)
    assert (
        python("-m", "skillopt_cli", "train", "searchqa", *settings, folder=tmp_path).returncode
        == 0
    )
    done = python("-c", LOADED, "runs", "list", folder=tmp_path)
    assert "finished" in done.stdout
    assert set(done.stderr.splitlines()[-1].split()) <= LISTING_RUNS | OF_AN_ENDED_RUN


def first_call(called: str, *arguments: str, folder: Path) -> tuple[set[str], set[str]]:
    """The modules of ours and the packages that are imported when a model is first called."""
    done = python("-c", LOADED, *arguments, folder=folder, UP_TO_A_CALL_TO=called)
    loaded = set(done.stderr.splitlines()[-1].split())
    ours = {name for name in loaded if name.startswith("skillopt_cli")}
    return ours, loaded - ours - {"cython_runtime"}  # compiled modules make that one up


SIMULATED = "skillopt_cli.backends.simulated:Simulated"
OFFLINE = ("--set", "model.backend=simulated")


def test_up_to_its_first_call_a_training_imports_only_what_it_needs(tmp_path: Path) -> None:
    ours, packages = first_call(SIMULATED, "train", "searchqa", *OFFLINE, folder=tmp_path)
    assert packages == TRAINING
    assert {name.split(".")[1] for name in ours if "." in name} == PARTS


def test_up_to_its_first_call_an_evaluation_imports_no_more(tmp_path: Path) -> None:
    command = ("eval", "searchqa", "--from-scratch", *OFFLINE)
    _, packages = first_call(SIMULATED, *command, folder=tmp_path)
    assert packages == TRAINING


def test_a_backend_brings_its_sdk_and_nothing_else(tmp_path: Path) -> None:
    settings = ("base_url=http://127.0.0.1:1/v1", "target=one", "optimizer=two")
    given = [text for setting in settings for text in ("--set", f"model.{setting}")]
    command = ("train", "searchqa", "--set", "model.backend=openai_compatible", *given)
    chat = "skillopt_cli.backends.chat.http_chat:HttpChat"
    _, packages = first_call(chat, *command, folder=tmp_path)
    assert packages == TRAINING | {*python("-c", SDK).stdout.split()} - {"cython_runtime"}


def test_the_completion_of_command_names_imports_no_command(tmp_path: Path) -> None:
    asked = {"_SKILLOPT_COMPLETE": "complete_bash", "COMP_WORDS": "skillopt ", "COMP_CWORD": "1"}
    done = python("-c", LOADED, folder=tmp_path, **asked)
    assert done.stdout.split() == list(COMMANDS)
    assert set(done.stderr.splitlines()[-1].split()) == WITH_VALUES


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_holds_what_the_help_of_each_begins_with(name: str) -> None:
    listed = typer.main.get_group(app).commands[name]
    for width in (45, 62, 1000):
        assert listed.get_short_help_str(width) == load_command(name).get_short_help_str(width)


def test_the_package_can_be_run_as_a_module() -> None:
    done = python("-m", "skillopt_cli", "trian")
    assert done.returncode == 2
    assert done.stderr.startswith("error: no such command")
