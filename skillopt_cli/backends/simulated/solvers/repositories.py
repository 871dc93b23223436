"""Repository faults: finds the line that an issue names, and fixes it.

Unless the skill holds the rules of the issue's family, the line is found and left unchanged. An
issue that names no line ends the attempt.
"""

from __future__ import annotations

import re
import shlex

from skillopt_cli.backends.simulated.messages import (
    calling,
    last_section,
    system_text,
    user_text,
)
from skillopt_cli.backends.simulated.world import untaught
from skillopt_cli.core.task import ChatReply, ChatRequest

_NAMED = re.compile(r"the line `([^`]+)` should be `([^`]+)`")
_FOUND = re.compile(r"^(?:\./)?(?P<path>[^:\n]+):\d+:(?P<line>.*)$", re.MULTILINE)


def solve_repository(request: ChatRequest) -> ChatReply | None:
    """Return the next step of a task with a shell and a tool for edits: search, edit, end."""
    if not {"bash", "edit_file"} <= {tool.name for tool in request.tools}:
        return None
    task = last_section(user_text(request), "task")
    results = [message.content for message in request.messages if message.role == "tool"]
    named = _NAMED.search(task)
    if named is None:
        return ChatReply("I do not see what to change.")
    if not results:
        search = f"grep -rnF --include='*.py' -- {shlex.quote(named[1])} ."
        return calling([("call-0", "bash", {"command": search})])
    found = list(_FOUND.finditer(results[0]))
    if not found or untaught(task, system_text(request)):
        return ChatReply("I found nothing that is wrong.")
    if len(results) > 1:
        return ChatReply("The line is as the issue wants it.")
    path, line = found[-1]["path"], found[-1]["line"]
    new = line.replace(named[1], named[2])
    edit = {"path": path, "old": f"{line}\n", "new": f"{new}\n"}
    return calling([("call-1", "edit_file", edit)])
