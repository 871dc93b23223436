"""OpenAI's chat completions on the wire: the request body and the answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from skillopt_cli.backends.images import data_uri, placed
from skillopt_cli.backends.negotiation import EFFORT_WITH_TOOLS
from skillopt_cli.backends.reply import Said, arguments_text, read_as, shape, usage_in
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Image, Message, Tool, Usage

_CAPS = ("max_tokens", "max_completion_tokens")
_BROKEN_OFF = ("error", "abort")
"""How routers and servers say that an answer ended where it should not have."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a role asks of its model besides the messages; None and "" are left out.

    Attributes:
        extra: further fields of the body, always sent.
        new_cap: whether chat completions are first capped by `max_completion_tokens`, as OpenAI's
            own want it, and not by `max_tokens`, which every compatible server knows.
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
    """The JSON body of a chat completion, without the parameters the server refused.

    A server that refuses one cap on the answer's length gets the other, one that refuses both none.

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
        return {"role": message.role, "content": [_part(part) for part in placed(message)]}
    return {"role": message.role, "content": message.content}


def _part(part: str | Image) -> dict[str, Any]:
    return {"type": "text", "text": part} if isinstance(part, str) else _picture(part)


def _picture(image: Image) -> dict[str, Any]:
    detail = {} if image.detail == "auto" else {"detail": image.detail}
    return {"type": "image_url", "image_url": {"url": data_uri(image), **detail}}


class _Part(BaseModel):
    type: str = ""
    text: str | None = None


class _Function(BaseModel):
    name: str
    arguments: Any = None


class _Call(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str | None = None
    function: _Function


class _Message(BaseModel):
    content: str | list[_Part | str] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None
    error: Any = None


class _Completion(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str | None = None
    choices: list[_Choice]


def read_reply(data: object, where: str) -> ChatReply:
    """The reply in a decoded 200 body.

    An answer cut at the token limit may be empty. Any other empty answer is a server's hiccup.

    Args:
        data: the decoded JSON.
        where: model and host, for messages.

    Raises:
        ServerFailed: the body is no chat completion, says that its answer was broken off, or holds
            neither text nor a tool call.
        RequestRefused: the model or a filter declined to answer this request.
    """
    usage = read_usage(data)
    completion = read_as(_Completion, data)
    if completion is None:
        raise ServerFailed(
            f"{where} answered with {shape(data)}, not a chat completion", usage=usage
        )
    if not completion.choices:
        raise ServerFailed(f"{where} answered without a choice", usage=usage)
    choice = completion.choices[0]
    text = _text(choice.message.content)
    calls = _calls(choice.message.tool_calls or [], completion.id or "call")
    finish = choice.finish_reason or "stop"
    if choice.error or finish in _BROKEN_OFF:
        raise ServerFailed(f"{where} broke off its answer (`{finish}`)", usage=usage)
    if calls and finish == "stop":
        finish = "tool_calls"
    declined = bool(choice.message.refusal) or finish == "content_filter"
    return Said(text, calls, finish, declined).reply(where, usage)


def read_usage(data: object) -> Usage | None:
    """What a decoded body says its call cost; None where it says nothing."""
    return usage_in(data, "prompt_tokens", "completion_tokens")


def _text(content: str | list[_Part | str] | None) -> str:
    if not isinstance(content, list):
        return content or ""
    texts = (_Part(type="text", text=part) if isinstance(part, str) else part for part in content)
    return "".join(part.text or "" for part in texts if part.type == "text")


def _calls(calls: list[_Call], answer: str) -> tuple[ToolCall, ...]:
    """The wishes; one without an id gets one made from the answer's."""
    return tuple(
        ToolCall(
            call.id or f"{answer}_{position}",
            call.function.name,
            arguments_text(call.function.arguments),
        )
        for position, call in enumerate(calls)
    )
