"""Train, eval and resume find each role's model along the same chain, and say early what lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import SMALLEST, TINY, finished_run, refused, rows, skillopt, unfinish

from skillopt_cli.testing import ModelServer

QUICK = ("--set", "model.retry.base_seconds=0")


def by_variables(server: ModelServer) -> dict[str, str]:
    """A target on the server, an optimizer in process, by variables alone."""
    return {
        "TARGET_BACKEND": "openai_compatible",
        "TARGET_OPENAI_COMPATIBLE_BASE_URL": server.url,
        "TARGET_OPENAI_COMPATIBLE_API_KEY": "key-of-the-target",
        "TARGET_DEPLOYMENT": "served-model",
        "OPTIMIZER_BACKEND": "simulated",
    }


def models(server: ModelServer) -> set[tuple[str, str]]:
    return {(r["model"], r["authorization"]) for r in server.requests()}


def test_train_and_eval_take_the_same_model_from_variables(server: ModelServer) -> None:
    variables = by_variables(server)
    trained = skillopt("train", "searchqa", *SMALLEST, *QUICK, "--run-id", "a", **variables)
    assert trained.code == 0, trained.err
    assert models(server) == {("served-model", "Bearer key-of-the-target")}
    seen = len(server.requests())
    skill = "outputs/searchqa/a/best_skill.md"
    evaluated = skillopt("eval", "searchqa", "--skill", skill, *SMALLEST, *QUICK, **variables)
    assert evaluated.code == 0, evaluated.err
    assert len(server.requests()) > seen
    assert models(server) == {("served-model", "Bearer key-of-the-target")}


def test_the_whole_chain_stands_in_config_show(server: ModelServer) -> None:
    found = rows(skillopt("config", "show", "searchqa", "--json", **by_variables(server)))
    sources = {key: found[f"model.target.{key}"]["source"] for key in ("backend", "name")}
    assert sources == {
        "backend": "environment TARGET_BACKEND",
        "name": "environment TARGET_DEPLOYMENT",
    }
    url = found["model.target.base_url"]
    assert url["source"] == "environment TARGET_OPENAI_COMPATIBLE_BASE_URL"
    key = found["model.target.api_key_env"]
    assert key["value"] == "TARGET_OPENAI_COMPATIBLE_API_KEY"
    assert key["source"] == "environment TARGET_OPENAI_COMPATIBLE_API_KEY"


def test_resume_heeds_variables_as_a_first_start_does() -> None:
    folder = finished_run(*SMALLEST)
    unfinish(folder)
    lacking = refused(2, "resume", folder, TARGET_BACKEND="claude_chat")
    assert "no key" in lacking.error
    assert "environment TARGET_BACKEND" in lacking.error
    changed = refused(2, "resume", folder, TARGET_BACKEND="qwen_chat", TARGET_DEPLOYMENT="m")
    assert "model.target" in changed.error + changed.err


@pytest.mark.parametrize(
    "command", [("train", "searchqa"), ("eval", "searchqa", "--from-scratch"), ("resume", "a")]
)
@pytest.mark.parametrize(
    ("variables", "lacking"),
    [
        ({"TARGET_BACKEND": "openai_chat", "TARGET_DEPLOYMENT": "m"}, "endpoint"),
        ({"TARGET_BACKEND": "claude_chat", "TARGET_DEPLOYMENT": "m"}, "key"),
        ({"TARGET_BACKEND": "openai_compatible", "OPENAI_API_KEY": "k"}, "model"),
        ({"TARGET_BACKEND": "qwen", "TARGET_DEPLOYMENT": "m"}, "no backend `qwen`"),
    ],
)
def test_what_lacks_is_said_before_any_call_by_every_command(
    command: tuple[str, ...], variables: dict[str, str], lacking: str
) -> None:
    named = () if command[0] == "resume" else TINY
    if command[0] == "resume":
        unfinish(finished_run(*SMALLEST))
    before = sorted(Path("outputs").rglob("*"))
    ended = refused(2, *command, *named, **variables)
    assert lacking in ended.error
    assert "TARGET_BACKEND" in ended.error
    assert sorted(Path("outputs").rglob("*")) == before


def test_eval_asks_nothing_of_an_optimizer_it_does_not_need() -> None:
    ended = skillopt(
        *("eval", "searchqa", *SMALLEST, "--from-scratch"), OPTIMIZER_BACKEND="claude_chat"
    )
    assert ended.code == 0, ended.err
