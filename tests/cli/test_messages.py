"""Messages: one sentence and a hint for a user's mistake, a crash report for a bug of ours."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import SMALLEST, refused, skillopt
from plugin_folder import benchmark, install

import skillopt_cli
from skillopt_cli.cli.app import app
from skillopt_cli.cli.commands import COMMANDS, load_command
from skillopt_cli.cli.execute import display_style
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.config import RunConfig

PROGRAM = Path(sys.executable).with_name("skillopt")


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("--foo",), "no such option: `--foo`", "`skillopt --help` shows the usage"),
        (("trian",), "no such command `trian`", "did you mean `train`?"),
        (
            ("train", "--bacth-size", "3"),
            "no such option: `--bacth-size`",
            "did you mean `--batch-size`?",
        ),
        (
            ("train", "--optimiser-model", "m"),
            "no such option: `--optimiser-model`",
            "did you mean `--optimizer-model`, `--optimizer-backend`",
        ),
        (
            ("train", "t.csv", "--answr-key", "x"),
            "no such option: `--answr-key`",
            "did you mean `--answer-key`?",
        ),
        (
            ("plan", "searchqa", "--accuracy", "50"),
            "`--accuracy` must be from 0 to 1, not 50",
            "give a share such as 0.5",
        ),
        (("train", "--lr", "3"), "no such option: `--lr`", "did you mean `--learning-rate`?"),
        (("train", "--bs=3"), "no such option: `--bs`", "did you mean `--batch-size`?"),
        (("train", "a", "b"), "got unexpected extra argument(s) (b)", "`skillopt train --help`"),
        (("gate-report",), "missing argument `RUN`", "`skillopt gate-report --help`"),
        (
            ("train", "--seed", "x"),
            "`train.seed` (flag --seed) must be a whole number",
            "Random seed for",
        ),
        (("webui", "--port", "x"), "invalid value for `--port`", "`skillopt webui --help`"),
        (
            ("gate-report", "a", "--format", "pdf"),
            "invalid value for `--format`: `pdf` is not one of",
            "`skillopt gate-report --help`",
        ),
        (("ctl", "a", "veto"), "missing argument `NUMBER`", "`skillopt ctl RUN veto --help`"),
        (
            ("ctl", "set", "my run", "run.max_calls=9"),
            "no such command `my run`",
            "the run comes first: `skillopt ctl 'my run' set run.max_calls=9`",
        ),
        (
            ("ctl", "veto", "--help"),
            "no run is named before `veto`",
            "the run comes first: `skillopt ctl RUN veto --help`",
        ),
        (("ctl", "a", "sttaus"), "no such command `sttaus`", "did you mean `status`?"),
        (("ctl", "stop", "status"), "there is no run `stop`", ""),
        (("--show-completion", "zsh"), "`--show-completion` takes no `zsh`", "source_zsh"),
        (("--install_completion", "x"), "`--install-completion` takes no `x`", "zsh, fish"),
        (("runs", "lst"), "no such command `lst`", "list"),
        (("train",), "no benchmark is named", "skillopt train searchqa"),
        (("train", "searchqa"), "no model endpoint is configured", "--preset demo"),
        (("diff-skills", "a.md", "b.md"), "a.md", "RUN:best"),
        (
            ("runs", "export", "a", "b"),
            "one run is exported at a time, and 2 are named",
            "`skillopt gate-report a b` compares them",
        ),
        (
            ("train", "searchqa", "--preset", "tinny"),
            "there is no preset `tinny`",
            "did you mean `tiny`?",
        ),
        (
            ("train", "searchqa", "--set", "env.split_raito=1:1:1"),
            "unknown configuration key `env.split_raito` (flag --set)",
            "did you mean `env.split_ratio`?",
        ),
        (("data", "check", "nothing"), "no benchmark `nothing`", "searchqa"),
    ],
)
def test_a_mistake_is_told_in_one_form(arguments: tuple[str, ...], error: str, hint: str) -> None:
    ended = refused(2, *arguments)
    assert error in ended.error
    assert hint in ended.hint
    assert len(ended.err.splitlines()) == 2


@pytest.mark.slow
def test_the_completion_of_another_shell_is_printed_as_the_hint_says() -> None:
    for shell, words in (("zsh", "#compdef skillopt"), ("fish", "complete --command skillopt")):
        asked = {**os.environ, "_SKILLOPT_COMPLETE": f"source_{shell}"}
        printed = subprocess.run([PROGRAM], env=asked, capture_output=True, text=True, check=True)
        assert words in printed.stdout


def parameters(command: Any) -> Iterator[Any]:
    yield from command.params
    for child in getattr(command, "commands", {}).values():
        yield from parameters(child)


def test_arguments_are_named_in_capitals_and_values_of_options_in_brackets() -> None:
    commands = [typer.main.get_command(app), *map(load_command, COMMANDS)]
    for parameter in itertools.chain.from_iterable(map(parameters, commands)):
        if parameter.param_type_name == "argument":
            assert parameter.metavar, parameter.name
            assert parameter.metavar == parameter.metavar.upper()
        elif parameter.metavar:
            assert re.fullmatch(r"<[a-z.=|]+>", parameter.metavar), parameter.name


def test_help_is_a_page_for_every_command() -> None:
    for command in (
        (),
        ("train",),
        ("eval",),
        ("resume",),
        ("gate-report",),
        ("diff-skills",),
        ("runs", "list"),
        ("benchmarks", "list"),
        ("backends", "list"),
        ("data", "sample"),
        ("data", "prepare"),
        ("data", "check"),
        ("config", "show"),
        ("config", "import"),
    ):
        for flag in ("--help", "-h"):
            ended = skillopt(*command, flag)
            assert ended.code == 0
            assert ended.out.startswith("Usage: ")
        assert all("  " in line for line in ended.out.splitlines() if line.startswith("  --"))
    assert skillopt("--version").out == f"skillopt {skillopt_cli.__version__}\n"
    assert skillopt().err.startswith("Usage: ") or skillopt().out.startswith("Usage: ")


def test_long_messages_are_not_wrapped() -> None:
    name = "n" * 300
    assert refused(2, "train", name).error == f"error: there is no benchmark `{name}`"


@pytest.mark.parametrize(
    "arguments",
    [
        ("eval", "searchqa", *SMALLEST, "--skill", "n" * 300),
        ("train", "searchqa", *SMALLEST, "--skill-init", "n" * 300),
        ("train", "searchqa", *SMALLEST, "--split-dir", "n" * 300),
        ("train", "searchqa", *SMALLEST, "--out-root", "n" * 300),
        ("train", "searchqa", *SMALLEST, "--config", "n" * 300),
        ("resume", "n" * 300),
        ("gate-report", "n" * 300),
        ("diff-skills", "n" * 300, "n" * 300),
        ("data", "sample", "searchqa", "--out", "n" * 300),
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_a_path_that_no_file_can_have_is_no_bug(arguments: tuple[str, ...]) -> None:
    ended = skillopt(*arguments)
    assert ended.code in (2, 3), ended.err
    assert "nnn" in ended.error
    assert "Traceback" not in ended.err
    assert not Path("outputs").exists()


FAULT = "raise ZeroDivisionError('a fault of the plug-in')"


def crashing(place: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    source = benchmark("crashing", opening=FAULT if place == "open" else "pass")
    if place == "brief":
        source = source.replace("        question = ", f"        {FAULT}\n        question = ")
    module = f"crashing_{place}"
    install(folder, monkeypatch, {module: source}, {"benchmark": {"crashing": f"{module}:SPEC"}})


@pytest.mark.parametrize("place", ["open", "brief"])
def test_a_bug_leaves_its_traceback_in_the_run_folder_and_says_where(
    place: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing(place, monkeypatch, tmp_path_factory.mktemp("site"))
    ended = refused(1, "train", "crashing", "--set", "model.backend=simulated", "--run-id", "a")
    folder = Path("outputs/crashing/a")
    assert ended.error == (
        "error: the benchmark plug-in `crashing` failed: ZeroDivisionError: a fault of the plug-in"
    )
    assert str(folder) in ended.hint
    assert "crash.txt" in ended.hint
    crash = (folder / "crash.txt").read_text(encoding="utf-8")
    assert crash.startswith("Traceback") or "Traceback (most recent call last)" in crash
    assert f"crashing_{place}.py" in crash
    if place == "brief":
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        assert (summary["status"], summary["exit_code"]) == ("failed", 1)


def test_a_bug_outside_any_run_shows_its_traceback_without_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("canary-0123456789")

    monkeypatch.setattr("skillopt_cli.cli.plugins.names", fail)
    ended = skillopt("backends", "list", OPENAI_API_KEY="canary-0123456789")
    assert ended.code == 1
    assert "Traceback (most recent call last)" in ended.err
    assert "ZeroDivisionError: ***" in ended.err
    assert "canary" not in ended.err
    assert ended.error == "error: internal error"


def test_a_plug_ins_bug_outside_any_run_is_said_to_be_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing("brief", monkeypatch, tmp_path_factory.mktemp("site"))
    ended = skillopt("data", "check", "crashing")
    assert ended.code == 1
    assert "Traceback (most recent call last)" in ended.err
    assert ended.error == (
        "error: the benchmark plug-in `crashing` failed: ZeroDivisionError: a fault of the plug-in"
    )
    assert ended.hint == "hint: tell its authors, with the lines above"


def test_a_reader_of_lines_that_goes_away_is_no_bug() -> None:
    words = ("train", "searchqa", *SMALLEST, "--run-id", "a", "--json")
    with subprocess.Popen(
        [PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
    folder = Path("outputs/searchqa/a")
    assert "internal error" not in said
    assert not (folder / "crash.txt").exists()
    assert json.loads((folder / "summary.json").read_bytes())["status"] == "finished"


@pytest.mark.parametrize(
    ("environment", "style"),
    [
        ({}, "rich"),
        ({"TERM": "xterm"}, "rich"),
        ({"TERM": "dumb"}, "plain"),
        ({"NO_COLOR": ""}, "plain"),
    ],
)
def test_the_panel_is_for_terminals_that_can_draw_it(
    environment: dict[str, str], style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert display_style(RunRequest(RunConfig(), environment), as_json=False) == style


def test_colours_are_for_terminals() -> None:
    assert "\x1b" not in refused(2, "train").err
    coloured = skillopt("train", FORCE_COLOR="1")
    assert "\x1b[1;31merror: " in coloured.err
    assert "\x1b" not in skillopt("train", FORCE_COLOR="1", NO_COLOR="1").err


def test_the_console_script_and_a_closed_pipe() -> None:
    done = subprocess.run(
        [PROGRAM, "train", "--bacth-size", "3"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == "error: no such option: `--bacth-size`"
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [PROGRAM, "config", "show"], stdout=closed, stderr=subprocess.PIPE, check=False
        )
    assert b"Traceback" not in done.stderr


def test_a_summary_is_written_however_a_run_ends() -> None:
    ended = skillopt(
        "train", "searchqa", *SMALLEST, "--run-id", "a", "--set", "model.simulated.auth_failure=1"
    )
    assert ended.code == 4
    assert json.loads(Path("outputs/searchqa/a/summary.json").read_text("utf-8"))["message"]
