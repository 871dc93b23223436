"""Anthropic's Messages API: writes the request body, parses answers, finds refused parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from skillopt_cli.backends.chat.cache_marks import NAME as CACHE_MARKS
from skillopt_cli.backends.chat.cache_marks import has_marks, marked
from skillopt_cli.backends.chat.images import base64_of, placed
from skillopt_cli.backends.chat.reply import (
    ParsedReply,
    arguments_text,
    count,
    read_as,
    shape,
    spent_in,
)
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Image, Message, Usage

Thinking = Literal["server_default", "enabled", "disabled"]

_NAMED = {
    "temperature": r"temperature",
    "output_config.format": r"output_config\.format|output[ _]format|structured[ _]outputs?",
    "output_config.effort": r"output_config\.effort|effort",
    "output_config": r"output_config(?!\.)",
    "thinking": r"thinking",
    CACHE_MARKS: rf"(?:[\w.]+\.)?{CACHE_MARKS}",
}
"""Optional parameters, and the patterns by which a refusal names each."""
_UNSUPPORTED = re.compile(
    r"not support|unsupported|not permitted|not allowed|not available|not compatible|deprecated"
    r"|unknown|unrecogni[sz]ed|unexpected|expected|invalid|may only|may not|must|cannot|should be",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"budget_tokens|too (?:large|long|many)|exceed|less than|greater than|range", re.IGNORECASE
)
_SMALLEST_BUDGET = 1024
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}


@dataclass(frozen=True, slots=True)
class MessageSampling:
    """Request settings of a role besides the messages; None, "" and server_default are omitted.

    Attributes:
        max_tokens: longest answer, thinking included; required in every request.
        effort: low, medium, high, xhigh or max.
    """

    model: str
    max_tokens: int
    temperature: float | None = None
    effort: str = ""
    thinking: Thinking = "server_default"


def request_body(
    request: ChatRequest, sampling: MessageSampling, refused: Collection[str]
) -> dict[str, Any]:
    """Write the JSON body of a message, without the parameters the server refused.

    Consecutive turns of one side become one, since the sides must alternate. A forced tool disables
    thinking, since services refuse the two together. A model that refuses adaptive thinking gets a
    budget of half of `max_tokens`. What further requests repeat has cache marks.

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
    body = {
        "model": sampling.model,
        "max_tokens": sampling.max_tokens,
        "messages": _turns(request.messages),
        "stream": False,
        **{name: value for name, value in wanted.items() if value is not None},
    }
    return body if CACHE_MARKS in refused else marked(body, request)


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
        # The API has no field for the schema's name, which other services show the model.
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


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = [] if message.role == "system" else _blocks(message)
        if not blocks:
            continue
        side = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == side:
            turns[-1]["content"].extend(blocks)
        else:
            turns.append({"role": side, "content": blocks})
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    """Return a turn's content without empty texts, which the API refuses."""
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": message.call_id}
        return [result | {"content": message.content} if message.content else result]
    shown = [
        {"type": "text", "text": part} if isinstance(part, str) else _picture(part)
        for part in placed(message)
        if not isinstance(part, str) or part.strip()
    ]
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments(call)}
        for call in message.tool_calls
    ]
    return [*shown, *calls]


def _picture(image: Image) -> dict[str, Any]:
    source = {"type": "base64", "media_type": image.media_type, "data": base64_of(image)}
    return {"type": "image", "source": source}


def _arguments(call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments as an object; other text is put into one."""
    try:
        value = json.loads(call.arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": call.arguments}


def refused_parameter(message: str, body: Mapping[str, Any]) -> str | None:
    """Return the optional parameter of a refused request (HTTP 400, 422) that the server rejects.

    Args:
        message: the error's text.
        body: the request's body.

    Returns:
        The first sent parameter that the message names, dotted if it is a part of another;
        "thinking.adaptive" if only adaptive thinking may be unknown. None if the refusal has
        another cause, such as a value that is too large.
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
    if name == CACHE_MARKS:
        return has_marks(body)
    outer, _, inner = name.partition(".")
    return outer in body and (not inner or inner in body[outer])


class _Block(BaseModel):
    type: str
    text: str | None = None
    id: str | None = None
    name: str = ""
    input: Any = None


class _Answer(BaseModel):
    content: list[_Block]
    stop_reason: str | None = None


def read_reply(data: object, where: str) -> ChatReply:
    """Parse the reply in a decoded 200 body, without thinking; see `ParsedReply.reply`.

    Args:
        data: the decoded JSON.
        where: model and host, for messages.

    Raises:
        ServerFailed: the body is not a message, or has neither text nor a tool call.
        RequestRefused: the model declined to answer.
    """
    usage = read_usage(data)
    answer = read_as(_Answer, data)
    if answer is None:
        raise ServerFailed(f"{where} answered with {shape(data)}, not a message", usage=usage)
    if answer.stop_reason == "refusal":
        raise RequestRefused(f"{where} declined to answer this request", usage=usage)
    text = "".join(block.text or "" for block in answer.content if block.type == "text")
    calls = tuple(
        ToolCall(block.id or f"toolu_{position}", block.name, arguments_text(block.input))
        for position, block in enumerate(answer.content)
        if block.type == "tool_use"
    )
    reason = answer.stop_reason or "end_turn"
    finish = _FINISH.get(reason, reason)
    return ParsedReply(text, calls, finish).reply(where, usage)


def read_usage(data: object) -> Usage | None:
    """Return the usage in a decoded body; None without one.

    The service counts cached tokens separately; here `prompt_tokens` includes them.
    """
    spent = spent_in(data)
    if spent is None:
        return None
    rest, from_cache = count(spent, "input_tokens"), count(spent, "cache_read_input_tokens")
    into_cache = count(spent, "cache_creation_input_tokens")
    return Usage(
        calls=1,
        prompt_tokens=None if rest is None else rest + (from_cache or 0) + (into_cache or 0),
        completion_tokens=count(spent, "output_tokens"),
        cached_tokens=from_cache,
        reasoning_tokens=count(spent, "output_tokens_details", "thinking_tokens"),
        stored_tokens=into_cache,
    )
