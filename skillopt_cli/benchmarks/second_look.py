"""Another look: a reply without a marked answer is asked for again, as often as turns are left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skillopt_cli.core.episode import Heard, ToolCall, ToolResult

AGAIN = (
    "There is no marked answer in this reply. Look again, then give the final answer in the form"
    " that was asked for."
)


class SecondLook:
    """An `Episode` without tools, over with the first marked answer or the last turn.

    Args:
        turns: replies at most, from 1; the last one counts whatever is in it.
        marked: whether a reply holds a marked answer.
    """

    def __init__(self, turns: int, marked: Callable[[str], bool]) -> None:
        self._left = turns
        self._marked = marked

    async def use(self, call: ToolCall) -> ToolResult:
        """No tool is offered."""
        return ToolResult(f"There is no tool `{call.name}`.", failed=True)

    async def hear(self, reply: str) -> Heard | None:
        """None for a marked answer, and when there is no turn left."""
        self._left -= 1
        return None if self._left < 1 or self._marked(reply) else Heard(AGAIN)

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """Nothing: the answer is all."""
        return {}
