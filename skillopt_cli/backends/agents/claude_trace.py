"""What the Claude Code CLI tells of its work: JSON lines, a result at the end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from skillopt_cli.backends.agents.codex_trace import json_lines
from skillopt_cli.backends.agents.program import Told, broken, last_words
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import Message
from skillopt_cli.ports import Finished

_OUT_OF_TURNS = "error_max_turns"


def told(finished: Finished) -> Told:
    """What the events say. The result's `is_error` counts: it calls itself a success even then."""
    result: Mapping[str, Any] | None = None
    messages: list[Message] = []
    for event in json_lines(finished.stdout):
        message = event.get("message")
        match event.get("type"):
            case "assistant" | "user" if isinstance(message, Mapping):
                messages += _messages(message.get("content"), own=event["type"] == "assistant")
            case "result":
                result = event
    said = tuple(messages)
    if result is None:
        why = f"claude ended with code {finished.returncode}: {last_words(finished)}"
        return broken(why, messages=said)
    if result.get("subtype") == _OUT_OF_TURNS:
        turns = result.get("num_turns")
        return Told("", said, "gave_up", f"it used up its turns ({turns})")
    if result.get("is_error") or finished.returncode:
        status = result.get("api_error_status")
        what = f"HTTP {status}" if status else str(result.get("subtype"))
        return broken(f"claude failed ({what}): {_reason(result)}", messages=said)
    structured = result.get("structured_output")
    answer = str(result.get("result") or "") if structured is None else json.dumps(structured)
    if not answer.strip() or not result.get("num_turns"):
        return broken("claude ended without an answer", messages=said)
    return Told(answer, said)


def _reason(result: Mapping[str, Any]) -> str:
    errors = result.get("errors")
    listed = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
    return str(result.get("result") or listed or "it said nothing")


def _messages(content: object, *, own: bool) -> Iterator[Message]:
    """The blocks of a turn.

    Args:
        own: whether it is the agent's; texts of others are what the program tells its model.
    """
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, Mapping):
            continue
        name = str(block.get("id") or block.get("tool_use_id") or "")
        match block.get("type"):
            case "text" if own and block.get("text"):
                yield Message("assistant", str(block["text"]))
            case "tool_use":
                arguments = json.dumps(block.get("input"), ensure_ascii=False)
                call = ToolCall(name, str(block.get("name")), arguments)
                yield Message("assistant", "", tool_calls=(call,))
            case "tool_result":
                text = "\n".join(_texts(block.get("content")))
                failed = bool(block.get("is_error"))
                yield Message("tool", text, call_id=name, failed=failed)


def _texts(content: object) -> Iterable[str]:
    if isinstance(content, str):
        return (content,)
    parts = content if isinstance(content, list) else ()
    return (str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part)
