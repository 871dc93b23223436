"""Reading requests and writing tool calls, as all simulated models do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import ChatReply, ChatRequest

_SECTION = re.compile(r"^## +(.+?)[ \t]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def system_text(request: ChatRequest) -> str:
    """Return the text of the system messages."""
    return "\n".join(m.content for m in request.messages if m.role == "system")


def user_text(request: ChatRequest) -> str:
    """Return the first user message; later ones only comment on answers."""
    return next((m.content for m in request.messages if m.role == "user"), "")


def sections(text: str) -> dict[str, str]:
    """Return the titled parts of a message by title; the last one of equal titles."""
    return {title: body.strip() for title, body in _SECTION.findall(text)}


def last_section(user: str, title: str) -> str:
    """Return the text of the last section with this title, in any case; "" without one."""
    found = [body for name, body in _SECTION.findall(user) if name.lower() == title]
    return found[-1].strip() if found else ""


def calling(calls: Iterable[tuple[str, str, Mapping[str, object]]]) -> ChatReply:
    """Return a reply with tool calls, each given as id, name and arguments."""
    made = (ToolCall(id, name, json.dumps(arguments)) for id, name, arguments in calls)
    return ChatReply("", finish="tool_calls", tool_calls=tuple(made))
