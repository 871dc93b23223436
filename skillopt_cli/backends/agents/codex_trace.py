"""What the Codex CLI tells of its work: JSON lines on standard output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from skillopt_cli.backends.agents.program import Told, broken, last_words, step
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import Message
from skillopt_cli.ports import Finished

_SILENT = ("agent_message", "reasoning", "error")


def told(finished: Finished) -> Told:
    """What the events say; the last message of the agent is its answer.

    Lines and kinds of items that are not known are passed over or shown as they are.
    """
    answer, failure, completed = "", "", False
    messages: list[Message] = []
    for event in json_lines(finished.stdout):
        item = event.get("item")
        match event.get("type"):
            case "item.completed" if isinstance(item, Mapping):
                if item.get("type") == "agent_message":
                    answer = str(item.get("text") or "")
                messages += _messages(item)
            case "turn.completed":
                completed = True
            case "turn.failed":
                failure = str((event.get("error") or {}).get("message") or "the turn failed")
    said = tuple(messages)
    if failure or finished.returncode or not completed:
        why = failure or last_words(finished)
        return broken(f"codex ended with code {finished.returncode}: {why}", messages=said)
    if not answer.strip():
        return broken("codex ended without an answer", messages=said)
    return Told(answer, said)


def json_lines(text: str) -> Iterator[dict[str, Any]]:
    """The objects among the lines of a text."""
    for line in text.split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _messages(item: Mapping[str, Any]) -> Iterator[Message]:
    kind, name = str(item.get("type") or "item"), str(item.get("id") or "")
    if kind == "agent_message":
        yield Message("assistant", str(item.get("text") or ""))
    elif kind == "command_execution":
        code = item.get("exit_code")
        failed = item.get("status") == "failed" or code not in (0, None)
        said = f"exit code {code}\n" if failed else ""
        yield from step(
            ToolCall(name, "exec", str(item.get("command") or "")),
            f"{said}{item.get('aggregated_output') or ''}",
            failed=failed,
        )
    elif kind not in _SILENT:
        shown = {key: value for key, value in item.items() if key not in ("id", "type")}
        failed = item.get("status") == "failed"
        arguments = json.dumps(shown, ensure_ascii=False)
        yield from step(ToolCall(name, kind, arguments), str(item.get("status")), failed=failed)
