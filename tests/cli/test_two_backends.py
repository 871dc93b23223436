"""Two roles on two different backends in one run, over HTTP: nothing of one reaches the other."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from command_line import SMALLEST, TINY, Ended, events, outcome, refused, skillopt

from skillopt_cli.testing import ModelServer, ScriptedResponse

OPTIMIZER_KEY = "sk-ant-key-of-optimizer"
TARGET_KEY = "key-of-target"
FAST = ("--set", "model.retry.base_seconds=0")
ROLES = ("--optimizer-backend", "claude_chat", "--target-backend", "openai_compatible")
NAMES = ("--optimizer-model", "claude-x", "--target-model", "small")


def run(server: ModelServer, *more: object, run_id: str = "a", **variables: str) -> Ended:
    known = {
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": OPTIMIZER_KEY,
        "OPENAI_COMPATIBLE_BASE_URL": server.url,
        "OPENAI_COMPATIBLE_API_KEY": TARGET_KEY,
        "OPENAI_API_KEY": "sk-ambient-openai",
    }
    return skillopt(
        *("train", "searchqa", *TINY, *FAST, *ROLES, *NAMES, "--run-id", run_id, *more),
        **(known | variables),
    )


def shapes(server: ModelServer) -> Counter[tuple[str, str, str]]:
    """How often each path was asked by which model with which key."""
    return Counter((r["path"], r["model"], r["authorization"]) for r in server.requests())


def spent(requests: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Calls answered, tokens of prompts, tokens of completions, as the server counts them."""
    answered = [r for r in requests if r["status"] == 200]
    prompt = sum(r["prompt_tokens"] for r in answered)
    return len(answered), prompt, sum(r["completion_tokens"] for r in answered)


def paid(folder: Path, role: str) -> tuple[int, int, int]:
    """The same, as the run has it on its log."""
    made = [e["usage"] for e in events(folder, "call_made") if e["role"] == role]
    prompt = sum(usage["prompt_tokens"] for usage in made)
    return len(made), prompt, sum(usage["completion_tokens"] for usage in made)


def test_each_role_speaks_its_own_interface_with_its_own_settings(server: ModelServer) -> None:
    ended = run(
        server,
        *("--set", "model.optimizer.reasoning_effort=high"),
        *("--set", "model.optimizer.thinking=enabled"),
        *("--set", "model.target.temperature=0"),
        *("--set", "model.target.max_completion_tokens=77"),
    )
    assert ended.code == 0, ended.err
    asked = shapes(server)
    assert set(asked) == {
        ("/v1/messages", "claude-x", f"Bearer {OPTIMIZER_KEY}"),
        ("/v1/chat/completions", "small", f"Bearer {TARGET_KEY}"),
    }
    for entry in server.requests():
        body = entry["body"]
        if entry["path"] == "/v1/messages":
            assert body["output_config"]["effort"] == "high"
            assert body["thinking"] == {"type": "adaptive"}
            assert "temperature" not in body
            assert body["max_tokens"] == 16384
        else:
            assert body["temperature"] == 0
            assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))
            assert not {"thinking", "output_config", "reasoning_effort"} & body.keys()


def test_skills_are_those_of_the_model_in_process_and_calls_those_the_server_counts(
    server: ModelServer,
) -> None:
    assert run(server).code == 0
    local = skillopt("train", "searchqa", *TINY, "--run-id", "l")
    assert local.code == 0, local.err
    remote, here = Path("outputs/searchqa/a"), Path("outputs/searchqa/l")
    assert outcome(remote)["skills"] == outcome(here)["skills"]
    requests = server.requests()
    for role, model in (("optimizer", "claude-x"), ("target", "small")):
        assert paid(remote, role) == spent([r for r in requests if r["model"] == model])


def test_keys_of_both_stay_out_of_the_run_folder(server: ModelServer) -> None:
    server.script(ScriptedResponse(500, {"error": {"message": f"{OPTIMIZER_KEY} {TARGET_KEY}"}}))
    ended = run(server)
    assert ended.code == 0, ended.err
    files = [p for p in Path("outputs").rglob("*") if p.is_file()]
    for text in (ended.out, ended.err, *(p.read_bytes().decode(errors="replace") for p in files)):
        assert OPTIMIZER_KEY not in text
        assert TARGET_KEY not in text


def test_a_resume_asks_the_same_models(server: ModelServer) -> None:
    server.script(ScriptedResponse(401, {"error": {"message": "expired"}}))
    ended = run(server)
    assert ended.code == 4
    assert "refused the key" in ended.error
    assert "ANTHROPIC_API_KEY holds a valid key" in ended.hint
    resumed = skillopt(
        *("resume", "outputs/searchqa/a"),
        ANTHROPIC_BASE_URL=server.url,
        ANTHROPIC_API_KEY=OPTIMIZER_KEY,
        OPENAI_COMPATIBLE_BASE_URL=server.url,
        OPENAI_COMPATIBLE_API_KEY=TARGET_KEY,
    )
    assert resumed.code == 0, resumed.err
    assert {(path, model) for path, model, _ in shapes(server)} == {
        ("/v1/messages", "claude-x"),
        ("/v1/chat/completions", "small"),
    }


def test_a_missing_key_is_told_before_any_call(server: ModelServer) -> None:
    ended = refused(
        2,
        *("train", "searchqa", *TINY, *ROLES, *NAMES),
        ANTHROPIC_BASE_URL=server.url,
        OPENAI_COMPATIBLE_BASE_URL=server.url,
    )
    assert "no key is given for the optimizer" in ended.error
    assert "ANTHROPIC_API_KEY" in ended.hint
    assert server.requests() == []


def test_variables_of_two_backends_reach_the_bodies_of_their_own_role(server: ModelServer) -> None:
    ended = skillopt(
        *("train", "searchqa", *SMALLEST, *FAST),
        *("--optimizer-backend", "minimax_chat", "--target-backend", "qwen_chat"),
        OPTIMIZER_MINIMAX_MODEL="MiniMax-M3",
        MINIMAX_BASE_URL=server.url,
        MINIMAX_API_KEY="key-of-minimax",
        MINIMAX_TEMPERATURE="0.2",
        MINIMAX_ENABLE_THINKING="true",
        QWEN_CHAT_MODEL="qwen",
        QWEN_CHAT_BASE_URL=server.url,
        QWEN_CHAT_TEMPERATURE="server_default",
        QWEN_CHAT_MAX_TOKENS="512",
        TARGET_QWEN_CHAT_MAX_TOKENS="256",
        QWEN_CHAT_THINKING_MODE="disabled",
    )
    assert ended.code == 0, ended.err
    names = ("model", "max_tokens", "temperature", "thinking", "chat_template_kwargs")
    found = {json.dumps([body.get(name) for name in names]) for body in server.bodies()}
    assert found == {
        json.dumps(["MiniMax-M3", 16384, 0.2, {"type": "adaptive"}, None]),
        json.dumps(["qwen", 256, None, None, {"enable_thinking": False}]),
    }
    assert {r["authorization"] for r in server.requests() if r["model"] == "qwen"} == {
        "Bearer no-key"
    }
