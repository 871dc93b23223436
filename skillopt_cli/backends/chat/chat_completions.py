"""OpenAI's chat completions: writes the request body, parses answers, finds refused parameters."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from skillopt_cli.backends.chat.images import data_uri, placed
from skillopt_cli.backends.chat.reply import (
    ParsedReply,
    arguments_text,
    misfit,
    read_as,
    shape,
    usage_in,
)
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Image, Message, Tool, Usage

_CAPS = ("max_tokens", "max_completion_tokens")
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
"""Fields of a message where servers put what they take for reasoning."""
_BROKEN_OFF = ("error", "abort")
"""Finish reasons of routers and servers for an answer that broke off."""
OPTIONAL = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "temperature",
    "reasoning_effort",
    "reasoning",
    "response_format",
    "text",
    "tool_choice",
    "store",
)
"""Optional fields of a body, in both of OpenAI's APIs."""

EFFORT_WITH_TOOLS = "reasoning_effort with tools"
"""Learned from a model that accepts a reasoning effort, but not together with tools."""

# Messages name a parameter by its path or by its purpose.
_SPELLINGS = {
    "response_format": r"response[_ ]format|json_schema",
    "text": r"text\.format|response[_ ]format|json_schema",
    "reasoning": r"reasoning(?:[._]effort)?",
}
_UNSUPPORTED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed"
    r"|forbidden|invalid|unavailable|deprecated|instead|must be",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"too (?:large|long|many|high)|at most|at least|exceed|maximum|minimum|less than|greater than",
    re.IGNORECASE,
)
_TOOLS = re.compile(r"(?<!\w)tools?(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Request settings of a role besides the messages; None and "" are omitted.

    Attributes:
        extra: further fields of the body, always sent.
        new_cap: whether the length is first limited by `max_completion_tokens`, as OpenAI requires,
            and not by `max_tokens`, which every compatible server accepts.
    """

    model: str
    max_tokens: int
    temperature: float | None = None
    reasoning_effort: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    new_cap: bool = False


def request_body(
    request: ChatRequest, sampling: Sampling, refused: Collection[str]
) -> dict[str, Any]:
    """Write the JSON body of a chat completion, without the parameters the server refused.

    A server that refuses one length parameter gets the other; one that refuses both gets none.

    Raises:
        RequestRefused: a picture cannot be read.
    """
    first, second = reversed(_CAPS) if sampling.new_cap else _CAPS
    wanted: dict[str, Any] = {second if first in refused else first: sampling.max_tokens}
    if sampling.temperature is not None:
        wanted["temperature"] = sampling.temperature
    if sampling.reasoning_effort and not (request.tools and EFFORT_WITH_TOOLS in refused):
        wanted["reasoning_effort"] = sampling.reasoning_effort
    if request.schema is not None:
        wanted["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": request.schema_name or "answer", "schema": request.schema},
        }
    if request.tools and request.tool_choice != "auto":
        wanted["tool_choice"] = _choice(request.tool_choice)
    tools = {"tools": [_tool(tool) for tool in request.tools]} if request.tools else {}
    return {
        "model": sampling.model,
        "messages": [_message(message) for message in request.messages],
        "stream": False,
        **tools,
        **{name: value for name, value in wanted.items() if name not in refused},
        **sampling.extra,
    }


def _choice(wanted: str) -> str | dict[str, Any]:
    if wanted in ("required", "none"):
        return wanted
    return {"type": "function", "function": {"name": wanted}}


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if message.tool_calls:
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
        return {"role": message.role, "content": message.content or None, "tool_calls": calls}
    if message.images:
        parts = [
            {"type": "text", "text": part} if isinstance(part, str) else _picture(part)
            for part in placed(message)
        ]
        return {"role": message.role, "content": parts}
    return {"role": message.role, "content": message.content}


def _picture(image: Image) -> dict[str, Any]:
    detail = {} if image.detail == "auto" else {"detail": image.detail}
    return {"type": "image_url", "image_url": {"url": data_uri(image), **detail}}


class _Part(BaseModel):
    type: str = ""
    text: str | None = None


class _Function(BaseModel):
    name: str | None = None
    arguments: Any = None


class _Call(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str | None = None
    function: _Function


class _Message(BaseModel):
    model_config = ConfigDict(extra="allow", coerce_numbers_to_str=True)

    content: str | list[_Part | str] | _Part | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(BaseModel):
    index: Any = 0
    message: _Message
    finish_reason: str | None = None
    error: Any = None


class _Completion(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str | None = None
    choices: list[_Choice] | None


def read_reply(data: object, where: str) -> ChatReply:
    """Parse the reply in a decoded 200 body; see `ParsedReply.reply` for empty answers.

    Args:
        data: the decoded JSON.
        where: model and host, for messages.

    Raises:
        ServerFailed: the body is not a chat completion, its answer broke off, or it has neither
            text nor a tool call.
        RequestRefused: the model or a filter declined to answer.
    """
    usage = read_usage(data)
    completion = read_as(_Completion, data)
    if completion is None:
        place = misfit(_Completion, data)
        what = f", whose `{place}` cannot be read" if "." in place else ", not a chat completion"
        raise ServerFailed(f"{where} answered with {shape(data)}{what}", usage=usage)
    if not completion.choices:
        raise ServerFailed(f"{where} answered without a choice", usage=usage)
    choice = next((one for one in completion.choices if one.index == 0), completion.choices[0])
    text = _text(choice.message.content)
    old = choice.message.function_call
    made = choice.message.tool_calls or ([_Call(function=old)] if old else [])
    calls = _calls(made, completion.id or "call")
    finish = choice.finish_reason or "stop"
    if choice.error or finish in _BROKEN_OFF:
        raise ServerFailed(f"{where} broke off its answer (`{finish}`)", usage=usage)
    if calls and finish == "stop":
        finish = "tool_calls"
    declined = bool(choice.message.refusal) or finish == "content_filter"
    reasoning = next(filter((choice.message.model_extra or {}).get, _REASONING), "")
    if isinstance(choice.message.content, list) and choice.message.content and not text:
        reasoning = reasoning or "content"
    return ParsedReply(text, calls, finish, declined, reasoning).reply(where, usage)


def read_usage(data: object) -> Usage | None:
    """Return the usage in a decoded body; None without one."""
    return usage_in(data, "prompt_tokens", "completion_tokens")


def _text(content: str | list[_Part | str] | _Part | None) -> str:
    if not isinstance(content, list):
        content = [content] if content else []
    texts = (_Part(type="text", text=part) if isinstance(part, str) else part for part in content)
    return "".join(part.text or "" for part in texts if part.type in ("text", "output_text", ""))


def _calls(calls: list[_Call], answer: str) -> tuple[ToolCall, ...]:
    """Return the tool calls; one without an id gets one derived from the answer's."""
    return tuple(
        ToolCall(
            call.id or f"{answer}_{position}",
            call.function.name or "",
            arguments_text(call.function.arguments),
        )
        for position, call in enumerate(calls)
    )


def refused_parameter(param: str, message: str, sent: Collection[str]) -> str | None:
    """Return the optional parameter of a refused request (HTTP 400, 422) that the server rejects.

    Args:
        param: the error's own `param` field, "" if it has none.
        message: the error's text.
        sent: top-level names of the request's body.

    Returns:
        A name from `OPTIONAL` that was sent, or `EFFORT_WITH_TOOLS`; None if the refusal has
        another cause, such as a value that is too large: omitting that would silently change the
        request.
    """
    if _SIZE.search(message):
        return None
    found = _found(param, message, [name for name in OPTIONAL if name in sent])
    if found == "reasoning_effort" and "tools" in sent and _TOOLS.search(message):
        return EFFORT_WITH_TOOLS
    return found


def _found(param: str, message: str, candidates: Collection[str]) -> str | None:
    root = re.split(r"[.\[]", param)[0]
    if root in OPTIONAL:
        return root if root in candidates else None
    if not _UNSUPPORTED.search(message):
        return None
    for name in candidates:
        if re.search(rf"(?<!\w)(?:{_SPELLINGS.get(name, name)})(?!\w)", message):
            return name
    return None
