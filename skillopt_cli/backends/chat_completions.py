"""OpenAI's chat completions on the wire: the request body and the answer."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from skillopt_cli.backends.images import data_uri, placed
from skillopt_cli.backends.negotiation import EFFORT_WITH_TOOLS
from skillopt_cli.backends.reply import Said, read_as, shape
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Image, Message, Tool, Usage

_CAPS = ("max_tokens", "max_completion_tokens")


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
    arguments: str | dict[str, Any] = ""


class _Call(BaseModel):
    id: str | None = None
    function: _Function


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    id: str | None = None
    choices: list[_Choice]


class _PromptDetails(BaseModel):
    cached_tokens: int | None = None


class _CompletionDetails(BaseModel):
    reasoning_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None


class _Spent(BaseModel):
    usage: _Usage


def read_reply(data: object, where: str) -> ChatReply:
    """The reply in a decoded 200 body.

    An answer cut at the token limit may be empty. Any other empty answer is a server's hiccup.

    Args:
        data: the decoded JSON.
        where: model and host, for messages.

    Raises:
        ServerFailed: the body is no chat completion, or holds neither text nor a tool call.
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
    if calls and finish == "stop":
        finish = "tool_calls"
    declined = bool(choice.message.refusal) or finish == "content_filter"
    return Said(text, calls, finish, declined).reply(where, usage)


def read_usage(data: object) -> Usage | None:
    """What a decoded body says its call cost; None where it says nothing."""
    found = read_as(_Spent, data)
    if found is None:
        return None
    spent = found.usage
    read, written = spent.prompt_tokens_details, spent.completion_tokens_details
    return Usage(
        calls=1,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        cached_tokens=read.cached_tokens if read else None,
        reasoning_tokens=written.reasoning_tokens if written else None,
    )


def _text(content: str | list[_Part] | None) -> str:
    if isinstance(content, list):
        return "".join(part.text or "" for part in content if part.type == "text")
    return content or ""


def _calls(calls: list[_Call], answer: str) -> tuple[ToolCall, ...]:
    """The wishes; one without an id gets one made from the answer's."""
    return tuple(
        ToolCall(
            call.id or f"{answer}_{position}",
            call.function.name,
            call.function.arguments
            if isinstance(call.function.arguments, str)
            else json.dumps(call.function.arguments, ensure_ascii=False),
        )
        for position, call in enumerate(calls)
    )
