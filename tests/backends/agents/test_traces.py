"""Canned outputs of both programs, read without them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_rig import codex_lines, codex_says

from skillopt_cli.backends.agents import claude_code_exec, codex_exec
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import Message
from skillopt_cli.ports import Finished

COMMAND = {
    "id": "item_1",
    "type": "command_execution",
    "command": "/bin/bash -lc 'cat a'",
    "aggregated_output": "cat: a: No such file\n",
    "exit_code": 1,
    "status": "failed",
}
EDIT = {
    "id": "item_2",
    "type": "file_change",
    "changes": [{"path": "a.txt", "kind": "add"}],
    "status": "completed",
}


def done(stdout: str, code: int = 0, stderr: str = "") -> Finished:
    return Finished(code, stdout, stderr, False)


def item(content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "item.completed", "item": content}


def says(text: str) -> dict[str, Any]:
    return item({"id": "m", "type": "agent_message", "text": text})


TURN_DONE = {"type": "turn.completed", "usage": {}}


def test_codex_commands_edits_and_words_become_messages_and_the_last_word_the_answer() -> None:
    events = (
        {"type": "turn.started"},
        {"type": "item.started", "item": {**COMMAND, "status": "in_progress"}},
        item(COMMAND),
        item({"id": "r", "type": "reasoning", "text": "hm"}),
        item({"id": "e", "type": "error", "message": "a warning"}),
        says("I look again."),
        item(EDIT),
        item({"id": "n", "type": "new_kind", "what": 1}),
        {"type": "surprise"},
        says("Done."),
        TURN_DONE,
    )
    told = codex_exec.parse_output(done(codex_lines(*events)))
    assert (told.answer, told.ending, told.error) == ("Done.", "answered", "")
    assert told.messages[:3] == (
        Message("assistant", "", tool_calls=(ToolCall("item_1", "exec", COMMAND["command"]),)),
        Message("tool", "exit code 1\ncat: a: No such file\n", call_id="item_1", failed=True),
        Message("assistant", "I look again."),
    )
    assert [m.tool_calls[0].name for m in told.messages if m.tool_calls] == [
        "exec",
        "file_change",
        "new_kind",
    ]
    assert "a.txt" in told.messages[3].tool_calls[0].arguments


@pytest.mark.parametrize(
    ("finished", "words"),
    [
        (done(codex_lines({"type": "turn.failed", "error": {"message": "no\nway"}}), 1), "no way"),
        (done(codex_lines(says("half"), {"type": "turn.failed", "error": {}}), 1), "turn failed"),
        (done(codex_lines(TURN_DONE)), "without an answer"),
        (done(codex_lines(says("  \n"), TURN_DONE)), "without an answer"),
        (done(codex_lines(says("never the answer"))), "never the answer"),
        (done(codex_says("fine"), 1, "boom\nreason\n"), "reason"),
        (done("", -9), "it said nothing"),
        (done("Error: not logged in\n", 0), "not logged in"),
    ],
)
def test_codex_without_a_whole_turn_is_broken_and_has_no_answer(
    finished: Finished, words: str
) -> None:
    told = codex_exec.parse_output(finished)
    assert (told.ending, told.answer) == ("broken", "")
    assert words in told.error and "\n" not in told.error


RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 2,
    "result": "Done.",
}


def turn(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": list(blocks)}}


def test_claude_turns_become_messages_and_the_result_the_answer() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat ä"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no ä"}
    parts = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    events = (
        {"type": "system", "subtype": "init"},
        turn(
            "assistant", {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."}
        ),
        turn("assistant", call),
        turn("user", result),
        turn("user", {"type": "text", "text": "Base directory for this skill: ..."}),
        turn("user", {"type": "tool_result", "tool_use_id": "t2", "content": parts}),
        RESULT,
    )
    told = claude_code_exec.parse_output(done(codex_lines(*events)))
    assert (told.answer, told.ending) == ("Done.", "answered")
    assert told.messages == (
        Message("assistant", "I look."),
        Message("assistant", "", tool_calls=(ToolCall("t1", "Bash", '{"command": "cat ä"}'),)),
        Message("tool", "no ä", call_id="t1", failed=True),
        Message("tool", "one\ntwo", call_id="t2"),
    )


@pytest.mark.parametrize(
    ("result", "code", "words"),
    [
        (
            {**RESULT, "is_error": True, "api_error_status": 500, "result": "API Error"},
            1,
            "HTTP 500",
        ),
        ({**RESULT, "is_error": True, "result": "API Error: 500"}, 0, "API Error: 500"),
        (
            {"type": "result", "subtype": "error_during_execution", "errors": ["a", "b"]},
            1,
            "a; b",
        ),
        ({**RESULT, "result": ""}, 0, "without an answer"),
        ({**RESULT, "num_turns": 0}, 0, "without an answer"),
        ({"type": "other"}, 0, "ended with code 0"),
    ],
)
def test_claude_error_text_is_never_an_answer(
    result: dict[str, Any], code: int, words: str
) -> None:
    told = claude_code_exec.parse_output(done(json.dumps(result), code))
    assert (told.ending, told.answer) == ("broken", "")
    assert words in told.error


def test_claude_out_of_turns_gave_up() -> None:
    result = {"type": "result", "subtype": "error_max_turns", "is_error": True, "num_turns": 4}
    told = claude_code_exec.parse_output(done(json.dumps(result), 1))
    assert (told.ending, told.answer, told.error) == ("gave_up", "", "it used up its turns (4)")


def test_an_output_that_was_cut_is_read_as_far_as_it_goes() -> None:
    lines = codex_says("Done.")
    cut = lines[:20] + "\n[1000000 bytes left out]\n" + lines
    assert codex_exec.parse_output(done(cut)).answer == "Done."
