"""Anthropic's Messages API on the wire: the request body, and what servers refuse of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skillopt_cli.backends.images import placed
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import ChatRequest, Image, Message

Thinking = Literal["server_default", "enabled", "disabled"]
Encode = Callable[[Image], str]
"""The base64 text of a picture's bytes."""

_NAMED = {
    "temperature": r"temperature",
    "output_config.format": r"output_config\.format|output[ _]format|structured[ _]outputs?",
    "output_config.effort": r"output_config\.effort|effort",
    "output_config": r"output_config(?!\.)",
    "thinking": r"thinking",
}
"""Optional parameters, and how a refusal names each."""
_UNSUPPORTED = re.compile(
    r"not support|unsupported|not permitted|not allowed|not available|not compatible|deprecated"
    r"|unknown|unrecogni[sz]ed|unexpected|expected|invalid|may only|may not|must|cannot|should be",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"budget_tokens|too (?:large|long|many)|exceed|less than|greater than|range", re.IGNORECASE
)
_SMALLEST_BUDGET = 1024


@dataclass(frozen=True, slots=True)
class MessageSampling:
    """What a role asks of its model besides the messages; None, "" and server_default are left out.

    Attributes:
        max_tokens: longest answer, thinking included; the interface wants it in every request.
        effort: low, medium, high, xhigh or max.
    """

    model: str
    max_tokens: int
    temperature: float | None = None
    effort: str = ""
    thinking: Thinking = "server_default"


def request_body(
    request: ChatRequest, sampling: MessageSampling, refused: Collection[str], encode: Encode
) -> dict[str, Any]:
    """The JSON body of a message, without the parameters the server refused.

    Turns of one side that follow each other become one, as the interface has the sides alternate.
    Thinking is not asked for where a tool is forced: services refuse the two together. A model that
    refuses adaptive thinking is given a budget, half of `max_tokens`.

    Args:
        refused: names as `refused_parameter` returns them.
    """
    system = "\n\n".join(m.content for m in request.messages if m.role == "system" and m.content)
    wanted: dict[str, Any] = {
        "system": system or None,
        "temperature": None if "temperature" in refused else sampling.temperature,
        "thinking": _thinking(request, sampling, refused),
        "output_config": _output_config(request, sampling, refused),
        **_tools(request),
    }
    return {
        "model": sampling.model,
        "max_tokens": sampling.max_tokens,
        "messages": _turns(request.messages, encode),
        **{name: value for name, value in wanted.items() if value is not None},
    }


def _thinking(
    request: ChatRequest, sampling: MessageSampling, refused: Collection[str]
) -> dict[str, Any] | None:
    forced = request.tools and request.tool_choice not in ("auto", "none")
    if sampling.thinking == "server_default" or "thinking" in refused:
        return None
    if sampling.thinking == "disabled":
        return {"type": "disabled"}
    if forced:
        return None
    if "thinking.adaptive" in refused:
        budget = max(_SMALLEST_BUDGET, sampling.max_tokens // 2)
        return {"type": "enabled", "budget_tokens": budget}
    return {"type": "adaptive"}


def _output_config(
    request: ChatRequest, sampling: MessageSampling, refused: Collection[str]
) -> dict[str, Any] | None:
    config: dict[str, Any] = {}
    if sampling.effort:
        config["effort"] = sampling.effort
    if request.schema is not None:
        # The interface has no place for a schema's name, which other services show the model.
        named = {"title": request.schema_name} if request.schema_name else {}
        config["format"] = {"type": "json_schema", "schema": {**request.schema, **named}}
    kept = {name: value for name, value in config.items() if f"output_config.{name}" not in refused}
    return None if "output_config" in refused else kept or None


def _tools(request: ChatRequest) -> dict[str, Any]:
    if not request.tools:
        return {}
    known = {"auto": "auto", "required": "any", "none": "none"}.get(request.tool_choice)
    choice = {"type": known} if known else {"type": "tool", "name": request.tool_choice}
    tools = [
        {"name": t.name, "description": t.description, "input_schema": dict(t.parameters)}
        for t in request.tools
    ]
    return {"tools": tools, "tool_choice": choice}


def _turns(messages: Sequence[Message], encode: Encode) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = [] if message.role == "system" else _blocks(message, encode)
        if not blocks:
            continue
        side = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == side:
            turns[-1]["content"].extend(blocks)
        else:
            turns.append({"role": side, "content": blocks})
    return turns


def _blocks(message: Message, encode: Encode) -> list[dict[str, Any]]:
    """A turn's content; empty texts are left out, which the interface refuses."""
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": message.call_id}
        return [result | {"content": message.content} if message.content else result]
    shown = [
        {"type": "text", "text": part} if isinstance(part, str) else _picture(part, encode)
        for part in placed(message)
        if not isinstance(part, str) or part.strip()
    ]
    wishes = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments(call)}
        for call in message.tool_calls
    ]
    return [*shown, *wishes]


def _picture(image: Image, encode: Encode) -> dict[str, Any]:
    source = {"type": "base64", "media_type": image.media_type, "data": encode(image)}
    return {"type": "image", "source": source}


def _arguments(call: ToolCall) -> dict[str, Any]:
    """A wish's arguments as the object the interface wants; text that is none is put into one."""
    try:
        value = json.loads(call.arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": call.arguments}


def refused_parameter(message: str, body: Mapping[str, Any]) -> str | None:
    """Which optional parameter of a refused request (HTTP 400, 422) the server does not take.

    Args:
        message: the error's text.
        body: the request's body.

    Returns:
        The parameter the message names first, dotted where it is a part of another, of those that
        were sent; "thinking.adaptive" where only that way of thinking may be unknown. None when the
        refusal is about something else, such as a value that is too large.
    """
    if _SIZE.search(message) or not _UNSUPPORTED.search(message):
        return None
    found = {
        name: match.start()
        for name, pattern in _NAMED.items()
        if _sent(name, body) and (match := re.search(rf"(?<![\w.])(?:{pattern})", message, re.I))
    }
    if not found:
        return None
    first = min(found, key=lambda name: found[name])
    adaptive = first == "thinking" and body["thinking"]["type"] == "adaptive"
    return "thinking.adaptive" if adaptive else first


def _sent(name: str, body: Mapping[str, Any]) -> bool:
    outer, _, inner = name.partition(".")
    return outer in body and (not inner or inner in body[outer])
