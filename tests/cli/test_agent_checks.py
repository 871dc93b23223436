"""What is said about agents that are programs before any run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import SMALLEST, refused, skillopt

from skillopt_cli.plugins import load_backend
from skillopt_cli.testing import ModelServer


def program(text: str) -> Path:
    path = Path("agent").absolute()
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


AS_TARGET = ("--optimizer-backend", "simulated", "--target-model", "m", "--target-backend")


@pytest.mark.parametrize(
    ("backend", "key"),
    [("codex_exec", "OPENAI_API_KEY"), ("claude_code_exec", "ANTHROPIC_API_KEY")],
)
def test_a_missing_program_ends_a_run_before_it_begins(backend: str, key: str) -> None:
    path = ("--set", f"model.{backend}.path=/no/such/program")
    ended = refused(4, "train", "searchqa", *SMALLEST, *AS_TARGET, backend, *path, **{key: "x"})
    assert f"`/no/such/program`, which model.{backend}.path names" in ended.error
    logs = [path.read_text(encoding="utf-8") for path in Path("outputs").rglob("events.jsonl")]
    assert not any('"rollout_finished"' in log for log in logs)


@pytest.mark.parametrize(
    ("backend", "variable"),
    [("codex_exec", "OPENAI_API_KEY"), ("claude_code_exec", "ANTHROPIC_API_KEY")],
)
def test_a_missing_key_is_said_with_the_variable_that_may_hold_it(
    backend: str, variable: str
) -> None:
    path = ("--set", f"model.{backend}.path={program('echo 1.0')}")
    ended = refused(2, "train", "searchqa", *SMALLEST, *AS_TARGET, backend, *path)
    assert "no key is given for the target" in ended.error and variable in ended.hint


def test_the_doctor_finds_the_program_where_the_configuration_says() -> None:
    asked = ("doctor", "searchqa", "--target-backend", "codex_exec", "--target-model", "m")
    asked = (*asked, "--optimizer-backend", "simulated")
    good = ("--set", f"model.codex_exec.path={program('echo 1.0')}")
    lost = ("--set", "model.codex_exec.path=/no/such/program")
    key = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert "codex_exec, model m" in skillopt(*asked, *good, **key).out
    assert "`/no/such/program`" in skillopt(*asked, *lost, **key).out


def test_any_command_can_be_trained_for() -> None:
    answer = program('cat > prompt; printf "{\\"result\\": \\"<answer>x</answer>\\"}"')
    told = (
        *("--set", f"model.command.argv={answer} --quiet", "--set", "model.command.answer=result"),
        *("--set", "run.executor=local", "--run-id", "a"),
    )
    ended = skillopt(
        *("train", "searchqa", *SMALLEST, "--target-backend", "command", *told),
        *("--optimizer-backend", "simulated"),
    )
    assert ended.code == 0, ended.err
    capped = skillopt(
        *("train", "searchqa", *SMALLEST, "--target-backend", "command", *told[:-1], "b"),
        *("--optimizer-backend", "simulated", "--max-rollouts", "3"),
    )
    assert capped.code == 5, capped.err


COMMAND = ("--target-backend", "command", "--optimizer-backend", "simulated")


@pytest.mark.parametrize("verb", [("train",), ("eval", "--from-scratch")])
def test_a_command_that_always_fails_ends_a_run_before_it_begins(verb: tuple[str, ...]) -> None:
    broken = program("echo 'no license' >&2; exit 3")
    settings = (f"model.command.argv={broken}", "run.executor=local", "model.retry.max_attempts=1")
    order = [word for text in settings for word in ("--set", text)]
    ended = refused(4, verb[0], "searchqa", *SMALLEST, *COMMAND, *order, *verb[1:])
    assert "fails at a one-line task: it ended with code 3: no license" in ended.error


def test_an_agent_that_refuses_so_short_a_question_is_trained_without_it() -> None:
    # It wants the context that every task of the benchmark has.
    picky = program("grep -q '## Context' || exit 3; echo '<answer>x</answer>'")
    settings = (f"model.command.argv={picky}", "run.executor=local", "model.retry.max_attempts=1")
    order = [word for text in settings for word in ("--set", text)]
    ended = refused(4, "train", "searchqa", *SMALLEST, *COMMAND, *order)
    assert "fails at a one-line task: it ended with code 3" in ended.error
    assert "`--set run.preflight=false` if it is only this one that fails" in ended.hint
    trained = skillopt(
        "train", "searchqa", *SMALLEST, *COMMAND, *order, "--set", "run.preflight=false"
    )
    assert trained.code == 0, trained.err
    assert "Preflight" not in trained.err and "Baseline: val score 0.00" in trained.err
    planned = skillopt(
        "plan", "searchqa", *SMALLEST, *COMMAND, *order, "--set", "run.preflight=false", "--json"
    )
    assert planned.json["preflight_calls"] == 0


def test_a_command_made_for_a_skill_file_has_it_in_the_first_check() -> None:
    picky = program('test -s "$1" && echo "<answer>x</answer>"')
    settings = (
        f"model.command.argv={picky} {{skill}}",
        *("model.command.skill_file=SKILL.md", "run.executor=local"),
    )
    order = [word for text in settings for word in ("--set", text)]
    ended = skillopt("train", "searchqa", *SMALLEST, *COMMAND, *order)
    assert ended.code == 0, ended.err


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["codex_exec", "claude_code_exec"])
def test_a_probe_asks_the_real_program(server: ModelServer, backend: str) -> None:
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    if lacking := load_backend(backend).missing({"PATH": os.environ["PATH"], **keys}):
        pytest.skip(lacking)
    ended = skillopt(
        *("backends", "list", "--probe", "--optimizer-backend", "simulated"),
        *("--target-backend", backend, "--target-model", "m", "--json"),
        OPENAI_BASE_URL=server.url,
        ANTHROPIC_BASE_URL=server.url,
        **keys,
    )
    assert ended.code == 0, ended.err
    assert "Paris" in ended.out
