"""What all forms of an answer have in common: it has a shape, and it says something."""

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

Form = TypeVar("Form", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Said:
    """What stands in an answer.

    Attributes:
        finish: why it ended: `stop`, `length`, `tool_calls`, or a word of the service's.
        declined: whether the model or a filter says that it will not answer.
    """

    text: str
    calls: tuple[ToolCall, ...]
    finish: str
    declined: bool = False

    def reply(self, where: str, usage: Usage | None) -> ChatReply:
        """It as a reply.

        An answer cut at the token limit may be empty. Any other empty answer is a server's hiccup.

        Args:
            where: model and host, for messages.
            usage: what the call cost; None where the service does not say.

        Raises:
            RequestRefused: there is neither text nor a tool call, for the request was declined.
            ServerFailed: there is neither, for no reason that is given.
        """
        if self.text or self.calls or self.finish == "length":
            return ChatReply(self.text, usage or Usage(1), self.finish, self.calls)
        if self.declined:
            raise RequestRefused(f"{where} declined to answer this request", usage=usage)
        raise ServerFailed(f"{where} answered with an empty text", usage=usage)


def read_as(form: type[Form], data: object) -> Form | None:
    """Decoded JSON as a form of answer; None where it is not of that form."""
    try:
        return form.model_validate(data)
    except ValidationError:
        # Not chained to an error of ours: it quotes the body, which may hold a key.
        return None


def spent_in(data: object) -> Mapping[str, Any] | None:
    """What a decoded body holds under `usage`; None where it says nothing."""
    spent = data.get("usage") if isinstance(data, Mapping) else None
    return spent if isinstance(spent, Mapping) else None


def usage_in(data: object, read: str, written: str) -> Usage | None:
    """What a decoded body says its call cost; None where it says nothing.

    Some services count thoughts in their total only, and charge for them: all that was not read
    counts as written.

    Args:
        read: the service's name for the tokens it read.
        written: that for the tokens it wrote.
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
    """The number of tokens at a place in decoded JSON; None where no such number stands there."""
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
    """The arguments of a tool call as JSON text, however they came; "" for none."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)


def shape(data: object) -> str:
    """What sort of JSON value came, without its content."""
    if isinstance(data, Mapping):
        return f"an object of {', '.join(sorted(map(str, data))[:5]) or 'nothing'}"
    return f"a JSON {type(data).__name__}"
