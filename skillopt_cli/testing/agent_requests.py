"""Parses the requests that agents' programs send to the model server.

Such a program surrounds a task with its own instructions, facts about the machine, skills and tool
results. All of that becomes the system message of the simulated model; the task, or the request, is
the text below the heading that this package writes above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import ChatReply, Message

Json = Mapping[str, Any]

_HEADING = re.compile(r"^# (?:Task|Request)$\n", re.MULTILINE)
_NAMED = re.compile(r"\bskill `([\w-]+)`")
_LOADER = "Skill"
_ANSWERER = "StructuredOutput"
_OWN_SCHEMA = "codex_output_schema"


def agent_messages(items: Sequence[Json]) -> tuple[Message, Message] | None:
    """System and user message for the model; None for a conversation without a task."""
    texts = [text for item in items for text in _parts(item)]
    tasks = [index for index, text in enumerate(texts) if _HEADING.search(text)]
    if not tasks:
        return None
    before, task = _HEADING.split(texts[tasks[0]], 1)
    around = [before, *(text for index, text in enumerate(texts) if index != tasks[0])]
    return Message("system", "\n".join(around)), Message("user", task)


def skill_call(body: Json) -> ToolCall | None:
    """The call that loads the skill which a Messages request names, unless one was loaded."""
    offered = any(tool.get("name") == _LOADER for tool in body.get("tools") or ())
    if not offered or any(_loads(turn.get("content")) for turn in body["messages"]):
        return None
    texts = [text for turn in body["messages"] for text in _parts(turn)]
    named = next((found for text in texts if (found := _NAMED.search(text))), None)
    return ToolCall("toolu_skill", _LOADER, f'{{"skill": "{named[1]}"}}') if named else None


def requested_schema(body: Json) -> tuple[Json | None, str]:
    """The schema of the requested answer and its title, (None, "") if there is none."""
    form = (body.get("text") or {}).get("format") or {}
    schema = form.get("schema") if form.get("name") == _OWN_SCHEMA else None
    for tool in body.get("tools") or ():
        if tool.get("name") == _ANSWERER:
            schema = tool["input_schema"]
    return (schema, str(schema.get("title", ""))) if schema else (None, "")


def as_answer_call(body: Json, reply: ChatReply) -> ChatReply:
    """The reply as a call of the tool that submits answers, if the Messages request offers it."""
    offered = any(tool.get("name") == _ANSWERER for tool in body.get("tools") or ())
    if not offered or not reply.text.startswith("{"):
        return reply
    call = ToolCall("toolu_answer", _ANSWERER, reply.text)
    return ChatReply("", reply.usage, "tool_calls", (call,))


def _loads(content: object) -> bool:
    """Whether a turn loads a skill."""
    blocks = content if isinstance(content, list) else ()
    return any(block.get("name") == _LOADER for block in blocks)


def _parts(item: object) -> Iterator[str]:
    """The texts of a turn, a part or a tool's result, as the sender split them."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, Mapping):
        for name in ("text", "content", "output"):
            yield from _parts(item.get(name))
    elif isinstance(item, Sequence):
        for part in item:
            yield from _parts(part)
