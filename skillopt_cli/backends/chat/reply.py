"""Parsing shared by all API dialects: text, tool calls and usage of an answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, Usage

_PARSER = (
    "start the server with the reasoning parser of this very model (vLLM: --reasoning-parser), or"
    " set the model's thinking on or off to match it"
)
_AT_LIMIT = frozenset({"length", "max_tokens", "max_output_tokens", "max_completion_tokens"})
"""What services call the end of an answer at the token limit."""
Form = TypeVar("Form", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """The content of an answer.

    Attributes:
        finish: why it ended: `stop`, `length`, `tool_calls`, or the service's own word.
        declined: whether the model or a filter declined to answer.
        reasoning: where the answer holds reasoning beside its text; "" for nowhere.
    """

    text: str
    calls: tuple[ToolCall, ...]
    finish: str
    declined: bool = False
    reasoning: str = ""

    def reply(self, where: str, usage: Usage | None) -> ChatReply:
        """Return it as a reply.

        An answer cut at the token limit may be empty. Any other empty answer is a server failure.

        Args:
            where: model and host, for messages.
            usage: of the call; None if the service does not report it.

        Raises:
            RequestRefused: it has neither text nor tool call, since the request was declined, or
                since the service took all of its text for reasoning, as it would again.
            ServerFailed: it has neither, without a reason.
        """
        finish = "length" if self.finish.lower() in _AT_LIMIT else self.finish
        if (
            self.calls
            or finish == "length"
            or self.text.strip()
            or (self.text and not self.reasoning)
        ):
            return ChatReply(self.text, usage or Usage(1), finish, self.calls)
        if self.declined:
            raise RequestRefused(f"{where} declined to answer this request", usage=usage)
        if self.reasoning:
            raise RequestRefused(
                f"{where} answered with reasoning alone, in `{self.reasoning}`: its text is empty",
                _PARSER,
                usage=usage,
            )
        raise ServerFailed(f"{where} answered with an empty text", usage=usage)


def read_as(form: type[Form], data: object) -> Form | None:
    """Validate decoded JSON as a model; None if it does not fit."""
    try:
        return form.model_validate(data)
    except ValidationError:
        # Not chained to an error of ours, since it quotes the body, which may hold a key.
        return None


def misfit(form: type[BaseModel], data: object) -> str:
    """The place in decoded JSON that does not fit a model; "" for the value itself."""
    try:
        form.model_validate(data)
    except ValidationError as error:
        place = error.errors(include_url=False, include_input=False)[0]["loc"]
        # What comes behind a field of several types is the name of a type.
        return ".".join(str(part) for part in place if part != "str")
    return ""


def spent_in(data: object) -> Mapping[str, Any] | None:
    """Return the `usage` object of a decoded body; None without one."""
    spent = data.get("usage") if isinstance(data, Mapping) else None
    return spent if isinstance(spent, Mapping) else None


def usage_in(data: object, read: str, written: str) -> Usage | None:
    """Return the usage in a decoded body; None without one.

    Some services count reasoning in their total only, and charge for it, so the total minus the
    prompt counts as completion.

    Args:
        read: the service's name for prompt tokens.
        written: its name for completion tokens.
    """
    spent = spent_in(data)
    if spent is None:
        return None
    prompt, completion, total = (count(spent, name) for name in (read, written, "total_tokens"))
    if prompt is not None and total is not None:
        completion = max(completion or 0, total - prompt)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=count(spent, f"{read}_details", "cached_tokens"),
        reasoning_tokens=count(spent, f"{written}_details", "reasoning_tokens"),
    )


def count(data: object, *path: str) -> int | None:
    """Return the number of tokens at a path in decoded JSON; None without such a number."""
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    if isinstance(data, bool) or not isinstance(data, int | float | str):
        return None
    try:
        number = float(data)
    except (ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and 0 <= number == int(number) else None


def arguments_text(arguments: Any) -> str:
    """Return the arguments of a tool call as JSON text; "" for none."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)


def shape(data: object) -> str:
    """Describe a JSON value without its content, for messages."""
    if isinstance(data, Mapping):
        return f"an object of {', '.join(sorted(map(str, data))[:5]) or 'nothing'}"
    return f"a JSON {type(data).__name__}"
