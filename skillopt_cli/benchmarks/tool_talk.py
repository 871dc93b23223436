"""An episode of tools: calls are carried out until a reply makes none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from skillopt_cli.benchmarks.toolbox import Offer, Toolbox
from skillopt_cli.core.episode import Heard, ToolCall, ToolResult
from skillopt_cli.core.errors import DataError


class ToolTalk:
    """An `Episode` whose tools leave nothing behind."""

    def __init__(self, offers: Sequence[Offer[Any]]) -> None:
        self._toolbox = Toolbox(offers)

    async def use(self, call: ToolCall) -> ToolResult:
        """Run a tool."""
        return await self._toolbox.use(call)

    async def hear(self, reply: str) -> Heard | None:
        """The reply is the answer."""
        return None

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    async def must(self, name: str, **arguments: object) -> str:
        """Run a tool that has to work, to show that a task can be done.

        Raises:
            DataError: it fails.
        """
        result = await self.use(ToolCall("proof", name, json.dumps(arguments)))
        if result.failed:
            raise DataError(f"the tool `{name}` fails on {json.dumps(arguments)}: {result.text}")
        return result.text
