"""Programs that bring their own model, with stubs: Cursor's and Copilot's CLIs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_rig import BRIEF, KEY, SKILL, codex_lines, executor, role, seen_by, stub

from skillopt_cli.backends.agents import copilot, cursor_exec
from skillopt_cli.core.errors import BackendUnusable, ServerFailed
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, ChatReply, ChatRequest, Message, Usage
from skillopt_cli.ports import BackendSpec, RoleSettings
from skillopt_cli.testing import FunctionChat

CURSOR, EXEC, CHAT = cursor_exec.SPEC, copilot.EXEC, copilot.CHAT
COPILOT = (
    *("--output-format", "json", "--stream", "off", "--no-color", "--log-level", "none"),
    *("--no-custom-instructions", "--disable-builtin-mcps"),
    "--secret-env-vars=COPILOT_GITHUB_TOKEN",
)

PLACE = ".agents/skills/skillopt-target/SKILL.md"
LOOK = f"What you were taught for tasks of this kind is in the file `{PLACE}`. Read it first."


def settings(spec: BackendSpec, program: Path, **options: Any) -> RoleSettings:
    model, effort = options.pop("model", spec.name), options.pop("effort", "")
    return role(model=model, effort=effort, path=str(program), **options)


async def attempt(
    spec: BackendSpec, tmp_path: Path, told: RoleSettings, skill: SkillDocument = SKILL
) -> Attempt:
    assert spec.open is not None and spec.agent is not None
    agent = spec.agent(spec.open(told), told)
    return await agent.attempt(BRIEF, skill, executor(tmp_path / "attempts"))


def cursor_says(text: str, *between: dict[str, Any], **result: Any) -> str:
    shown = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    ended = {"type": "result", "subtype": "success", "is_error": False, "result": text}
    return codex_lines(
        {"type": "system", "subtype": "init", "apiKeySource": "env", "model": "m"},
        *between,
        {"type": "assistant", "message": shown},
        {**ended, **result},
    )


def copilot_says(text: str, *between: dict[str, Any]) -> str:
    return codex_lines(
        {"type": "session.tools_updated", "data": {"model": "m"}},
        *between,
        {"type": "assistant.message", "data": {"content": text, "toolRequests": []}},
        {"type": "result", "exitCode": 0, "usage": {"premiumRequests": 1}},
    )


async def test_cursor_gets_its_flags_its_file_and_its_key(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "cursor-agent", cursor_says("Anna Lee"), note=note)
    made = await attempt(CURSOR, tmp_path, settings(CURSOR, program, model="composer-2.5"))

    assert (made.answer, made.ending, made.usage) == ("Anna Lee", "answered", Usage(1))
    assert made.skill_loaded is None
    (seen,) = seen_by(note)
    assert seen["argv"] == [
        *("-p", "--output-format", "stream-json", "--trust", "--workspace", seen["cwd"]),
        *("--sandbox", "enabled", "--force", "--model", "composer-2.5"),
    ]
    assert list(seen["files"]) == [f"work/{PLACE}"]
    assert bytes.fromhex(seen["stdin"]).startswith(LOOK.encode())
    assert seen["environment"]["CURSOR_API_KEY"] == KEY
    assert "never-to-be-seen" not in str(seen)


async def test_copilot_gets_its_flags_its_file_and_its_key(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "copilot", copilot_says("Anna Lee"), note=note)
    told = settings(EXEC, program, model="gpt-5.5", effort="low")
    made = await attempt(EXEC, tmp_path, told)

    assert (made.answer, made.ending, made.usage) == ("Anna Lee", "answered", Usage(1))
    (seen,) = seen_by(note)
    asked = ("--model", "gpt-5.5", "--reasoning-effort", "low")
    assert seen["argv"] == [*COPILOT, "--allow-all-tools", *asked]
    assert list(seen["files"]) == [f"work/{PLACE}"]
    assert bytes.fromhex(seen["stdin"]).startswith(LOOK.encode())
    environment = seen["environment"]
    assert environment["COPILOT_GITHUB_TOKEN"] == KEY
    assert environment["COPILOT_HOME"] == environment["HOME"]
    assert environment["COPILOT_AUTO_UPDATE"] == "false"
    assert "COPILOT_ALLOW_ALL" not in environment and "never-to-be-seen" not in str(seen)


async def test_read_only_and_an_unnamed_model_show_in_the_flags(tmp_path: Path) -> None:
    note = tmp_path / "note"
    for spec, out in ((CURSOR, cursor_says("a")), (EXEC, copilot_says("a"))):
        program = stub(tmp_path / spec.name, out, note=note)
        await attempt(spec, tmp_path, settings(spec, program, sandbox="read-only"))
    program = stub(tmp_path / "chat", copilot_says("a"), note=note)
    for skill in (SKILL, SkillDocument("")):
        await attempt(CHAT, tmp_path, settings(CHAT, program), skill)
    cursor, reading, taught, chat = seen_by(note)
    assert cursor["argv"][-4:] == ["--sandbox", "enabled", "--mode", "ask"]
    assert reading["argv"] == [*COPILOT]
    assert chat["argv"] == [*COPILOT, "--available-tools=none"]
    head = f"# Skill\n\n{SKILL.text.strip()}\n\n"
    assert bytes.fromhex(taught["stdin"]).decode().startswith(head)
    assert bytes.fromhex(chat["stdin"]).startswith(b"You answer questions.")


async def test_what_was_done_is_told_step_by_step(tmp_path: Path) -> None:
    call = {"shellToolCall": {"args": {"command": "ls"}, "result": {"success": {"stdout": "a"}}}}
    lost = {"readToolCall": {"args": {"path": "b"}, "result": {"error": {"message": "no b"}}}}
    cursor = [
        {"type": "tool_call", "subtype": "started", "call_id": "1", "tool_call": call},
        {"type": "tool_call", "subtype": "completed", "call_id": "1", "tool_call": call},
        {"type": "tool_call", "subtype": "completed", "call_id": "2", "tool_call": lost},
    ]
    begun = {"toolCallId": "1", "toolName": "bash", "arguments": {"command": "ls"}}
    done = {"toolCallId": "1", "success": True, "result": {"content": "a"}}
    denied = {"toolCallId": "2", "success": False, "error": {"message": "Permission denied"}}
    other = [
        {"type": "tool.execution_start", "data": begun},
        {"type": "tool.execution_complete", "data": done},
        {"type": "tool.execution_complete", "data": denied},
        {"type": "assistant.message", "data": {"content": "", "toolRequests": []}},
    ]
    for spec, out in (
        (CURSOR, cursor_says("x", *cursor)),
        (EXEC, copilot_says("x", *other)),
    ):
        program = stub(tmp_path / spec.name, out)
        made = await attempt(spec, tmp_path, settings(spec, program))
        _, wish, result, _, failed, said = made.messages
        assert json.loads(wish.tool_calls[0].arguments) == {"command": "ls"}
        assert "a" in result.content and not result.failed
        assert failed.failed and ("no b" in failed.content or "denied" in failed.content)
        assert said == Message("assistant", "x")


COPILOT_FAILS = codex_lines(
    {"type": "session.error", "data": {"errorType": "query", "message": "No response"}},
    {"type": "result", "exitCode": 1},
)


@pytest.mark.parametrize(
    ("spec", "stubbed", "error"),
    [
        (CURSOR, {"out": cursor_says("oh", is_error=True)}, "cursor-agent failed: oh"),
        (CURSOR, {"out": cursor_says("oh", subtype="error")}, "cursor-agent failed: oh"),
        (CURSOR, {"out": cursor_says(" ")}, "cursor-agent ended without an answer"),
        (
            CURSOR,
            {"err": "Workspace Trust Required", "code": 1},
            "cursor-agent ended with code 1: Workspace Trust Required",
        ),
        (CURSOR, {"out": "no json"}, "cursor-agent ended with code 0: no json"),
        (EXEC, {"out": COPILOT_FAILS, "code": 1}, "copilot ended with code 1: No response"),
        (EXEC, {"out": copilot_says("")}, "copilot ended without an answer"),
        (EXEC, {"out": "x", "err": "no token", "code": 1}, "copilot ended with code 1: no token"),
    ],
)
async def test_what_is_no_answer_is_broken(
    tmp_path: Path, spec: BackendSpec, stubbed: dict[str, Any], error: str
) -> None:
    program = stub(tmp_path / "program", **stubbed)
    made = await attempt(spec, tmp_path, settings(spec, program))
    assert (made.ending, made.answer, made.error) == ("broken", "", error)


async def test_copilot_can_be_asked_as_the_optimizer_without_any_tool(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "copilot", copilot_says('{"edits": []}'), note=note)
    told = replace(settings(CHAT, program, model="gpt-5.5"), role="optimizer")
    assert CHAT.program_chat is not None
    inner = FunctionChat(lambda request: ChatReply("", Usage(1)), "gpt-5.5")
    chat = CHAT.program_chat(inner, told, executor(tmp_path / "runs"))
    talk = (Message("system", "Be brief."), Message("user", "What?"))
    reply = await chat.chat(ChatRequest(talk, stage="reflect", schema={"type": "object"}))

    assert (reply.text, reply.usage) == ('{"edits": []}', Usage(1))
    (seen,) = seen_by(note)
    assert seen["argv"] == [*COPILOT, "--available-tools=none", "--model", "gpt-5.5"]
    assert bytes.fromhex(seen["stdin"]).endswith(b"Be brief.\n\n# Request\n\nWhat?")
    assert [(call.stage, call.turn) for call in inner.requests] == [("reflect", 0)]
    stub(tmp_path / "copilot", "", err="no token", code=1)
    with pytest.raises(ServerFailed, match="copilot_chat gave no answer: copilot ended with"):
        await chat.chat(ChatRequest(talk, stage="reflect"))


@pytest.mark.parametrize("spec", [CURSOR, EXEC, CHAT], ids=lambda spec: spec.name)
def test_a_missing_key_or_program_is_said_before_anything_begins(
    tmp_path: Path, spec: BackendSpec
) -> None:
    assert spec.open is not None
    program = stub(tmp_path / "program")
    with pytest.raises(BackendUnusable, match="no key is given for the target"):
        spec.open(replace(settings(spec, program), api_key=None))
    with pytest.raises(BackendUnusable, match=f"which model.{spec.name}.path names"):
        spec.open(settings(spec, Path("/no/such/program")))
    (keys,) = spec.variables.values()
    path = {"PATH": str(tmp_path)}
    assert "is not installed" in spec.missing(path)
    for name in ("cursor-agent", "copilot"):
        stub(tmp_path / name)
    assert spec.missing(path) == f"{keys[0]} is not set"
    assert spec.missing({**path, keys[-1]: "k"}) == ""


def test_no_key_shows_in_what_is_written_of_a_program(tmp_path: Path) -> None:
    program = stub(tmp_path / "program")
    for made in (
        cursor_exec.cursor_exec(settings(CURSOR, program)),
        copilot.copilot(settings(EXEC, program), "copilot_exec"),
    ):
        assert KEY not in repr(made) + made.fingerprint
        assert str(tmp_path) not in made.fingerprint
