"""`backends list --probe`: one tiny call per role, read as a run would read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, refused, skillopt

from skillopt_cli.testing import ModelServer, ScriptedResponse

CANARY = "sk-canary-3f9a7c51d2e84b60"
PROBE = ("backends", "list", "--probe")
REMOTE = (
    *("--set", "model.backend=openai_compatible", "--set", "model.retry.base_seconds=0"),
    *("--optimizer-model", "o", "--target-model", "t"),
)


def said(content: str, **more: Any) -> ScriptedResponse:
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": content}, **more}
    return ScriptedResponse(200, {"choices": [choice]})


def by_role(*arguments: object, code: int = 0, **variables: str) -> dict[str, dict[str, Any]]:
    ended = skillopt(*PROBE, *arguments, "--json", **variables)
    assert ended.code == code, ended.err
    assert CANARY not in ended.out + ended.err
    return {row["role"]: row for row in ended.json}


def test_both_roles_are_asked_once_and_what_came_is_told(server: ModelServer) -> None:
    variables = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": CANARY}
    found = by_role(*REMOTE, **variables)
    target, optimizer = found["target"], found["optimizer"]
    assert (target["backend"], target["model"]) == ("openai_compatible", "t")
    assert target["address"] == server.url
    assert target["answer"] == "<answer>Paris</answer>"
    assert target["read"] == "Paris"
    assert target["finish"] == "stop"
    assert target["usage"]["completion_tokens"] > 0
    assert 0 < target["seconds"] < 30
    assert json.loads(optimizer["answer"])["failure_summary"]
    assert optimizer["read"] in ("no edit", "1 edit: append")
    asked = server.bodies()
    assert [body["model"] for body in asked] == ["o", "t"]
    assert "edits" in str(asked[0]["response_format"])
    assert "<answer>" in asked[1]["messages"][0]["content"]


def test_it_is_told_to_people_on_a_few_lines(server: ModelServer) -> None:
    ended = skillopt(*PROBE, *REMOTE, OPENAI_BASE_URL=server.url)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == f"optimizer: openai_compatible/o at {server.url}"
    target = lines[lines.index(f"target: openai_compatible/t at {server.url}") + 1 :]
    assert target[0].endswith(' s (stop): "<answer>Paris</answer>"')
    assert target[1].startswith("  usage: tokens ")
    assert target[2:] == ['  read as: "Paris"']


def test_unknown_usage_is_not_zero(server: ModelServer) -> None:
    server.script(said('{"edits": []}'), said("<answer>Lyon</answer>"))
    ended = skillopt(*PROBE, *REMOTE, OPENAI_BASE_URL=server.url)
    assert ended.out.count("usage: unknown, the service does not report it") == 2
    assert 'read as: "Lyon"' in ended.out


@pytest.mark.parametrize(
    ("scripted", "role", "kind", "words"),
    [
        ((ScriptedResponse(401, {"error": {"message": "no"}}),), "optimizer", "AuthFailed", "401"),
        ((said("{}"),), "optimizer", "UnusableAnswer", "edits: Field required"),
        ((said("I would rather not"),), "optimizer", "UnusableAnswer", "it holds no JSON object"),
        (
            (said('{"edits": [', finish_reason="length"),),
            "optimizer",
            "UnusableAnswer",
            "it was cut at max_completion_tokens",
        ),
        (
            (said('{"edits": []}'), ScriptedResponse(404, {"error": {"code": "model_not_found"}})),
            "target",
            "UnknownModel",
            "`t`",
        ),
        (
            (said('{"edits": []}'), *[ScriptedResponse(500, "down")] * 3),
            "target",
            "ServerFailed",
            "500",
        ),
    ],
)
def test_a_role_that_fails_says_why_and_the_other_is_asked_all_the_same(
    server: ModelServer, scripted: tuple[ScriptedResponse, ...], role: str, kind: str, words: str
) -> None:
    server.script(*scripted)
    found = by_role(*REMOTE, code=4, OPENAI_BASE_URL=server.url, OPENAI_API_KEY=CANARY)
    failed = found.pop(role)
    (other,) = found.values()
    assert failed["kind"] == kind
    assert words in failed["error"]
    assert failed["hint"]
    assert (failed["ok"], other["ok"]) == (False, True)


def test_an_answer_without_tags_is_read_and_remarked(server: ModelServer) -> None:
    server.script(said('{"edits": []}'), said("Well.\n\nParis"))
    target = by_role(*REMOTE, OPENAI_BASE_URL=server.url)["target"]
    assert target["read"] == "Paris"
    assert target["note"] == "it came without <answer> tags, so its last line counts"


def test_a_role_without_an_endpoint_does_not_hide_the_other() -> None:
    found = by_role("--target-backend", "simulated", code=2)
    assert found["target"]["read"] == "Paris"
    assert found["optimizer"]["kind"] == "ConfigError"
    assert "no model endpoint is configured for the optimizer" in found["optimizer"]["error"]
    ended = skillopt("backends", "list", "--probe", "--target-backend", "simulated")
    assert ended.code == 2
    assert "  not set up: no model endpoint is configured for the optimizer\n" in ended.out


NAMED = ("--optimizer-model", "o", "--target-model", "t")
NOWHERE = ("--set", "model.base_url=http://127.0.0.1:9/v1", "--set", "model.retry.base_seconds=0")
FAULTS = {
    "no endpoint": (NAMED, 2),
    "no model": (NOWHERE, 2),
    "no address": ((*NAMED, "--set", "model.base_url=localhost:8000/v1"), 2),
    "no key": ((*NAMED, *NOWHERE, "--set", "model.api_key_env=NO_SUCH_KEY"), 2),
    "no server": ((*NAMED, *NOWHERE), 4),
}


@pytest.mark.parametrize(("flags", "code"), FAULTS.values(), ids=FAULTS)
def test_a_fault_has_one_exit_code_whoever_finds_it(flags: tuple[str, ...], code: int) -> None:
    commands = (("train", "searchqa"), ("doctor", "searchqa"), ("doctor", "--probe"), PROBE)
    assert {command: skillopt(*command, *flags).code for command in commands} == dict.fromkeys(
        commands, code
    )


def test_an_optimizer_without_a_model_needs_no_call() -> None:
    found = by_role(*TINY, "--optimizer-backend", "rules")
    assert found["optimizer"]["note"] == "it needs no model"
    assert found["optimizer"]["seconds"] is None


def test_settings_are_those_of_a_run() -> None:
    Path("my.yaml").write_text("model: {target: {backend: simulated}}\n", encoding="utf-8")
    variables = {"SKILLOPT_MODEL__OPTIMIZER__BACKEND": "simulated"}
    assert set(by_role("--config", "my.yaml", **variables)) == {"optimizer", "target"}
    ended = refused(2, *PROBE, "--set", "model.colour=red")
    assert "unknown configuration key `model.colour`" in ended.error


def test_a_key_that_a_server_echoes_is_not_shown(server: ModelServer) -> None:
    server.script(
        said(f"the key is {CANARY}"), ScriptedResponse(401, {"error": {"message": CANARY}})
    )
    for flags in ((), ("--json",)):
        server.script(
            said(f"the key is {CANARY}"), ScriptedResponse(401, {"error": {"message": CANARY}})
        )
        variables = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": CANARY}
        ended = skillopt(*PROBE, *REMOTE, *flags, **variables)
        assert ended.code == 4
        assert "canary" not in ended.out + ended.err


def test_nothing_is_written() -> None:
    skillopt(*PROBE, *TINY)
    assert list(Path().iterdir()) == []


def test_a_program_that_fails_is_to_be_tried_by_hand() -> None:
    agent = Path("agent").absolute()
    agent.write_text("#!/bin/sh\necho there is no SKILL.md >&2\nexit 1\n", encoding="utf-8")
    agent.chmod(0o755)
    program = ("--set", "model.target.backend=command", "--set", f"model.command.argv={agent}")
    ended = skillopt("doctor", "searchqa", *TINY, *program, "--probe", "--json")
    (row,) = [row for row in ended.json["checks"] if row["name"] == "target answers"]
    assert row["state"] == "failing" and "there is no SKILL.md" in row["what"]
    assert row["fix"].startswith("run the program by hand in an empty folder, ")
    assert "`model.command.skill_file`" in row["fix"]
    # The arm `none` has no skill, so there is no file to be missed.
    ended = refused(4, "eval", "searchqa", *TINY, *program, "--arms", "none,seed", "--run-id", "a")
    assert "without a skill, for which no file is laid out: " in ended.error
    assert "without a skill file" in ended.hint and "skill_file" not in ended.hint
