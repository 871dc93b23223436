"""Tools of an episode: functions with checked arguments, offered to a model by schema."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from skillopt_cli.core.episode import ToolCall, ToolResult
from skillopt_cli.core.task import Tool

Arguments = TypeVar("Arguments", bound=BaseModel)


class ToolFault(Exception):
    """What the model is told of a tool call that cannot be carried out."""


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
        """The tool as a model is told of it."""
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        return Tool(self.name, self.description, schema)


class Toolbox:
    """The tools of one attempt; runs what a model asks for."""

    def __init__(self, offers: Sequence[Offer[Any]]) -> None:
        self._offers = {offer.name: offer for offer in offers}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools, in the order they were given."""
        return tuple(offer.tool for offer in self._offers.values())

    async def use(self, call: ToolCall) -> ToolResult:
        """Run a call. What is wrong with it is told as a failed result."""
        offer = self._offers.get(call.name)
        if offer is None:
            known = ", ".join(self._offers)
            return ToolResult(f"There is no tool `{call.name}`; there are {known}.", failed=True)
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


def _said(name: str, error: ValidationError) -> str:
    faults = (
        f"`{'.'.join(map(str, fault['loc'])) or 'arguments'}`: {fault['msg']}"
        for fault in error.errors(include_url=False)
    )
    return f"The arguments of `{name}` do not fit: {'; '.join(faults)}."
