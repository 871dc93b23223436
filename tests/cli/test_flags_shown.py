"""Help pages list the flags that have an effect; a skill has the same names everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import SMALLEST, finished_run, refused, skillopt

from skillopt_cli.config.declarations import own_flags


def listed(*command: str) -> set[str]:
    return set(re.findall(r"^\s+(--[a-z-]+)", skillopt(*command, "--help").out, re.MULTILINE))


@pytest.mark.parametrize("command", [("train",), ("config", "show")])
def test_a_command_for_whole_runs_lists_every_flag(command: tuple[str, ...]) -> None:
    assert listed(*command) >= {*own_flags(), "--config", "--preset", "--set"}


def test_the_others_list_what_has_an_effect() -> None:
    every = {*own_flags(), "--config", "--preset", "--set"}
    assert every - listed("resume") == {"--config", "--preset"}
    assert every & listed("data", "check") == {
        "--config",
        "--preset",
        "--set",
        "--split-dir",
        "--tasks",
    }
    assert every - listed("eval") == {
        *("--optimizer-model", "--optimizer-backend", "--skill-init", "--require-improvement"),
        *("--epochs", "--batch-size", "--learning-rate", "--lr-scheduler", "--patience", "--seed"),
    }


def test_the_help_names_every_preset() -> None:
    hint = refused(2, "train", "searchqa", "--preset", "zzz").hint
    known = set(hint.removeprefix("hint: presets: ").split(", "))
    words = " ".join(skillopt("train", "--help").out.split())
    (named,) = re.findall(r"Named settings: ([a-z, ]+)\.", words)
    assert set(named.split(", ")) == known


def test_a_skill_to_evaluate_is_named_as_for_a_comparison() -> None:
    run = finished_run(*SMALLEST)
    digests = {
        name: skillopt("eval", "--skill", name, "--json").json["skill_digest"]
        for name in ("a", "a:best", "a:seed", "a:1", run, f"{run}:0", run / "best_skill.md")
    }
    assert digests["a"] == digests["a:best"] == digests[run] == digests[run / "best_skill.md"]
    assert digests["a:seed"] == digests[f"{run}:0"]
    ended = refused(2, "eval", "--skill", "a:9")
    assert "a:9" in ended.error
    assert "RUN:best" in ended.hint


def test_the_hint_names_a_benchmark_for_the_command_at_hand() -> None:
    Path("s.md").write_text("# S\n\nAnswer.\n", encoding="utf-8")
    assert "skillopt train searchqa" in refused(2, "train").hint
    ended = refused(2, "eval", "--skill", "s.md")
    assert "skillopt eval searchqa --skill FILE" in ended.hint


@pytest.mark.parametrize("command", [("train",), ("eval", "--from-scratch")])
def test_an_empty_run_id_is_refused(command: tuple[str, ...]) -> None:
    name, *rest = command
    ended = refused(2, name, "searchqa", *rest, *SMALLEST, "--run-id", "")
    assert "plain name" in ended.error


def test_an_evaluation_of_a_taken_name_speaks_of_no_resume() -> None:
    finished_run(*SMALLEST)
    ended = refused(2, "eval", "searchqa", *SMALLEST, "--from-scratch", "--run-id", "a")
    assert ended.hint == "hint: choose another `--run-id NAME`"
