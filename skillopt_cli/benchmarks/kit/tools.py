"""Tools of an episode: functions with checked arguments, and the loop that runs a model's calls."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from skillopt_cli.core.episode import Heard, ToolCall, ToolResult
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Tool

Arguments = TypeVar("Arguments", bound=BaseModel)
AGAIN = (
    "There is no marked answer in this reply. Look again, then give the final answer in the form"
    " that was asked for."
)


class ToolFault(Exception):
    """A tool call cannot be carried out; the message is for the model."""


@dataclass(frozen=True, slots=True)
class Offer(Generic[Arguments]):
    """A tool, and what runs it.

    Attributes:
        description: for the model.
        arguments: their types; field descriptions go into the schema.
        run: gives the text the model reads, or a whole result where the call ends the attempt.

    A `ToolFault` of `run` becomes a failed result.
    """

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Arguments], Awaitable[str | ToolResult]]

    @property
    def tool(self) -> Tool:
        """The tool as a model sees it."""
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        return Tool(self.name, self.description, schema)


class ToolLoop:
    """An `Episode` that carries out tool calls until a reply makes none, and leaves nothing behind.

    The base of episodes that use tools.
    """

    def __init__(self, offers: Sequence[Offer[Any]] = ()) -> None:
        self._offers = {offer.name: offer for offer in offers}

    async def use(self, call: ToolCall) -> ToolResult:
        """Run a call; its faults are failed results."""
        offer = self._offers.get(call.name)
        if offer is None:
            known = f"; there are {', '.join(self._offers)}" if self._offers else ""
            return ToolResult(f"There is no tool `{call.name}`{known}.", failed=True)
        try:
            given = offer.arguments.model_validate(json.loads(call.arguments or "{}"))
        except ValidationError as error:
            return ToolResult(_said(offer.name, error), failed=True)
        except ValueError as error:
            return ToolResult(f"The arguments are not JSON: {error}.", failed=True)
        try:
            came = await offer.run(given)
        except ToolFault as fault:
            return ToolResult(str(fault), failed=True)
        return came if isinstance(came, ToolResult) else ToolResult(came)

    async def hear(self, reply: str) -> Heard | None:
        """None: a reply without tool calls ends the attempt."""
        return None

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """Nothing: the answer is all."""
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


class AnswerRetry(ToolLoop):
    """An `Episode` without tools that asks again for a marked answer, as often as turns are left.

    Args:
        turns: replies at most, from 1; the last one counts whatever is in it.
        marked: whether a reply holds a marked answer.
    """

    def __init__(self, turns: int, marked: Callable[[str], bool]) -> None:
        super().__init__()
        self._left = turns
        self._marked = marked

    async def hear(self, reply: str) -> Heard | None:
        """None for a marked answer, and when there is no turn left."""
        self._left -= 1
        return None if self._left < 1 or self._marked(reply) else Heard(AGAIN)


def _said(name: str, error: ValidationError) -> str:
    faults = (
        f"`{'.'.join(map(str, fault['loc'])) or 'arguments'}`: {fault['msg']}"
        for fault in error.errors(include_url=False)
    )
    return f"The arguments of `{name}` do not fit: {'; '.join(faults)}."
