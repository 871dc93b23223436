"""Faults of repositories: the line that an issue names is looked for and put right.

Unless the skill holds the rules of the issue's family, it is found and left as it is. An issue that
names no line ends the attempt.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping

from skillopt_cli.backends.simulated.sections import last_section
from skillopt_cli.backends.simulated.world import family_of, harm, missing
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import ChatReply, ChatRequest

_NAMED = re.compile(r"the line `([^`]+)` should be `([^`]+)`")
_FOUND = re.compile(r"^(?:\./)?(?P<path>[^:\n]+):\d+:(?P<line>.*)$", re.MULTILINE)


class RepositoryPlayer:
    """Plays what has a shell and a tool that edits files."""

    def plays(self, request: ChatRequest) -> bool:
        """Whether the request is of this kind."""
        return {"bash", "edit_file"} <= {tool.name for tool in request.tools}

    def play(self, request: ChatRequest) -> ChatReply:
        """The next step: look, edit, end."""
        told = "\n".join(m.content for m in request.messages if m.role == "system")
        user = next((m.content for m in request.messages if m.role == "user"), "")
        task = last_section(user, "task")
        results = [message.content for message in request.messages if message.role == "tool"]
        named = _NAMED.search(task)
        if named is None:
            return ChatReply("I do not see what to change.")
        if not results:
            look = f"grep -rnF --include='*.py' -- {shlex.quote(named[1])} ."
            return _call(0, "bash", {"command": look})
        found = list(_FOUND.finditer(results[0]))
        family = family_of(task)
        if not found or harm(family) in told or missing(family, told):
            return ChatReply("I found nothing that is wrong.")
        if len(results) > 1:
            return ChatReply("The line is as the issue wants it.")
        path, line = found[-1]["path"], found[-1]["line"]
        new = line.replace(named[1], named[2])
        return _call(1, "edit_file", {"path": path, "old": f"{line}\n", "new": f"{new}\n"})


def _call(number: int, name: str, arguments: Mapping[str, str]) -> ChatReply:
    call = ToolCall(f"call-{number}", name, json.dumps(arguments))
    return ChatReply("", finish="tool_calls", tool_calls=(call,))
