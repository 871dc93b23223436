"""What surrounds an attempt at a task that takes more than one answer: tools, and replies to turns.

An interactive environment is no seam of its own: it is bound to one attempt by its benchmark, and
an agent that takes turns plays it through the brief.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool.

    Attributes:
        id: ties the result to the call; unique within a conversation.
        arguments: JSON text as the model wrote it, which may be malformed.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool call, as the model reads it.

    Attributes:
        failed: whether the text reports a failure, such as malformed arguments.
        over: whether the attempt has ended with this call, as a game does that is won.
    """

    text: str
    failed: bool = False
    over: bool = False


@dataclass(frozen=True, slots=True)
class Heard:
    """What a reply without tool calls leads to: the next message to the model.

    Attributes:
        afresh: whether the model sees nothing of the turns before, only this and its instructions.
    """

    text: str
    afresh: bool = False


class Episode(Protocol):
    """The surroundings of one attempt.

    Its text must depend on nothing but the task and what the model did: a resume plays the
    journaled turns again. Whatever it raises makes the attempt broken, never wrong.
    """

    async def use(self, call: ToolCall) -> ToolResult:
        """Run a tool. Malformed arguments and unknown names are results, not errors."""
        ...

    async def hear(self, reply: str) -> Heard | None:
        """Take a reply without tool calls; None when it ends the attempt."""
        ...

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """What the attempt left behind, as JSON values, for the scorer; called once, at its end.

        Args:
            answer: the attempt's final answer; may come from an agent that took no turns here.
        """
        ...


@runtime_checkable
class Opened(Episode, Protocol):
    """An episode that shows something from the start: what only its surroundings know."""

    async def opening(self) -> str:
        """What the model sees below the brief before its first reply, as Markdown; may be empty."""
        ...
