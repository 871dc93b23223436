"""Two roles against a real server: each call carries its own model, address and key."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from command_line import SMALLEST, TINY, calls, outcome, skillopt

from skillopt_cli.testing import ModelServer, ScriptedResponse, run_model_server

REMOTE = ("--set", "model.backend=openai_compatible", "--set", "model.retry.base_seconds=0")
KEYS = {
    "OPTIMIZER_OPENAI_COMPATIBLE_API_KEY": "key-of-one",
    "TARGET_OPENAI_COMPATIBLE_API_KEY": "key-of-two",
}


def asked(server: ModelServer) -> Counter[tuple[str, str]]:
    """How often each pair of model and key was seen."""
    return Counter((r["model"], r["authorization"]) for r in server.requests())


def test_each_role_has_its_own_model_address_and_key(server: ModelServer, tmp_path: Path) -> None:
    with run_model_server(tmp_path / "other.jsonl") as other:
        ended = skillopt(
            *("train", "searchqa", *TINY, *REMOTE, "--run-id", "a"),
            *("--optimizer-model", "m1", "--target-model", "m2"),
            OPTIMIZER_OPENAI_COMPATIBLE_BASE_URL=server.url,
            TARGET_OPENAI_COMPATIBLE_BASE_URL=other.url,
            **KEYS,
        )
        assert ended.code == 0, ended.err
        optimizer, target = asked(server), asked(other)
    assert set(optimizer) == {("m1", "Bearer key-of-one")}
    assert set(target) == {("m2", "Bearer key-of-two")}
    paid = sum(optimizer.values()) + sum(target.values())
    assert paid == calls(Path("outputs/searchqa/a")) + 2
    # The optimizer's requests ask for a schema, the target's hold the skill.
    assert "m1" in ended.err and "m2" in ended.err


def test_addresses_and_keys_may_stand_in_a_file_by_role(server: ModelServer) -> None:
    Path("my.yaml").write_text(
        f"""
model:
  backend: openai_compatible
  base_url: {server.url}
  optimizer: {{name: '007', api_key_env: FIRST}}
  target: {{name: 4, api_key_env: SECOND}}
""",
        encoding="utf-8",
    )
    Path(".env").write_text("export FIRST=one-secret-key\nSECOND=two-secret-key\n", "utf-8")
    ended = skillopt("train", "searchqa", *SMALLEST, "--config", "my.yaml")
    assert ended.code == 0, ended.err
    assert set(asked(server)) == {("007", "Bearer one-secret-key"), ("4", "Bearer two-secret-key")}


def test_a_server_without_a_key_needs_none(server: ModelServer) -> None:
    ended = skillopt(
        "train",
        "searchqa",
        *SMALLEST,
        *REMOTE,
        "--optimizer-model",
        "m",
        "--target-model",
        "m",
        OPENAI_BASE_URL=server.url,
    )
    assert ended.code == 0, ended.err
    assert set(asked(server)) == {("m", "Bearer no-key")}


def test_t24_every_call_of_three_epochs_has_the_configured_model(server: ModelServer) -> None:
    ended = skillopt(
        *("train", "searchqa", *SMALLEST, "--epochs", "3", *REMOTE, "--run-id", "a"),
        *("--optimizer-model", "not-the-default", "--target-model", "not-the-default"),
        OPENAI_BASE_URL=server.url,
        OPENAI_API_KEY="key-of-both",
    )
    assert ended.code == 0, ended.err
    found = asked(server)
    assert set(found) == {("not-the-default", "Bearer key-of-both")}
    history = json.loads(Path("outputs/searchqa/a/history.json").read_text(encoding="utf-8"))
    assert [step["epoch"] for step in history] == [1, 2, 3]
    assert found.total() > 10


def test_parameters_are_sent_as_configured_by_role(server: ModelServer) -> None:
    ended = skillopt(
        *("eval", "searchqa", *SMALLEST, *REMOTE, "--target-model", "m", "--from-scratch"),
        *("--set", "model.temperature=1.5", "--set", "model.target.temperature=0"),
        *("--set", "model.target.max_completion_tokens=77"),
        OPENAI_BASE_URL=server.url,
    )
    assert ended.code == 0, ended.err
    for body in server.bodies():
        assert body["temperature"] == 0
        assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_a_remote_run_decides_as_the_same_model_in_process_does(server: ModelServer) -> None:
    named = ("--optimizer-model", "simulated", "--target-model", "simulated")
    remote = skillopt(
        "train", "searchqa", *TINY, *REMOTE, *named, "--run-id", "r", OPENAI_BASE_URL=server.url
    )
    local = skillopt("train", "searchqa", *TINY, "--run-id", "l")
    assert (remote.code, local.code) == (0, 0)
    home = Path("outputs/searchqa")
    assert outcome(home / "r")["skills"] == outcome(home / "l")["skills"]


@pytest.mark.parametrize(
    ("status", "body", "word"),
    [
        (401, {"error": {"message": "bad key"}}, "no key was given"),
        (404, {"error": {"message": "no such model", "code": "model_not_found"}}, "does not exist"),
        (429, {"error": {"message": "spent", "code": "insufficient_quota"}}, "quota"),
    ],
)
def test_a_model_that_cannot_be_used_is_told_before_anything_is_spent(
    server: ModelServer, status: int, body: dict[str, object], word: str
) -> None:
    server.script(ScriptedResponse(status, body))
    ended = skillopt(
        "train",
        "searchqa",
        *SMALLEST,
        *REMOTE,
        "--optimizer-model",
        "m",
        "--target-model",
        "m",
        OPENAI_BASE_URL=server.url,
    )
    assert ended.code == 4
    assert word in ended.error
    assert ended.hint
    assert len(server.requests()) == 1
