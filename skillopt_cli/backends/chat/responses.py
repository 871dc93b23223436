"""OpenAI's Responses API: writes the request body, parses the answer."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from pydantic import BaseModel

from skillopt_cli.backends.chat.chat_completions import Sampling
from skillopt_cli.backends.chat.images import data_uri, placed
from skillopt_cli.backends.chat.reply import ParsedReply, arguments_text, read_as, shape, usage_in
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import RateLimited, RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Image, Message, Tool, Usage

_ENDINGS = {"max_output_tokens": "length", "content_filter": "content_filter"}
_PASSING = {"server_error", "vector_store_timeout"}


def request_body(
    request: ChatRequest, sampling: Sampling, refused: Collection[str]
) -> dict[str, Any]:
    """Write the JSON body of a response, without the parameters the server refused.

    The service stores nothing; every request holds the whole conversation.

    Raises:
        RequestRefused: a picture cannot be read.
    """
    instructions = "\n\n".join(m.content for m in request.messages if m.role == "system")
    wanted: dict[str, Any] = {"max_output_tokens": sampling.max_tokens, "store": False}
    if sampling.temperature is not None:
        wanted["temperature"] = sampling.temperature
    if sampling.reasoning_effort:
        wanted["reasoning"] = {"effort": sampling.reasoning_effort}
    if request.schema is not None:
        name = request.schema_name or "answer"
        wanted["text"] = {"format": {"type": "json_schema", "name": name, "schema": request.schema}}
    if request.tools and request.tool_choice != "auto":
        choice = request.tool_choice
        named = choice not in ("required", "none")
        wanted["tool_choice"] = {"type": "function", "name": choice} if named else choice
    tools = {"tools": [_tool(tool) for tool in request.tools]} if request.tools else {}
    return {
        "model": sampling.model,
        **({"instructions": instructions} if instructions else {}),
        "input": [item for message in request.messages for item in _items(message)],
        "stream": False,
        **tools,
        **{name: value for name, value in wanted.items() if name not in refused},
        **sampling.extra,
    }


def _tool(tool: Tool) -> dict[str, Any]:
    # Functions are strict here by default, and strict ones support only a part of JSON Schema.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message.call_id,
            "output": message.content,
        }
    elif message.images:
        yield {"role": message.role, "content": [_part(part) for part in placed(message)]}
    elif message.role != "system" and (message.content or not message.tool_calls):
        yield {"role": message.role, "content": message.content}
    for call in message.tool_calls:
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }


def _part(part: str | Image) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    return {"type": "input_image", "image_url": data_uri(part), "detail": part.detail}


class _Part(BaseModel):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(BaseModel):
    type: str = ""
    id: str | None = None
    content: list[_Part] | str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Any = None


class _Code(BaseModel):
    code: str | None = None


class _Reason(BaseModel):
    reason: str | None = None


class _Response(BaseModel):
    output: list[_Item]
    status: str | None = None
    error: _Code | None = None
    incomplete_details: _Reason | None = None


def read_reply(data: object, where: str) -> ChatReply:
    """Parse the reply in a decoded 200 body; see `ParsedReply.reply` for empty answers.

    Args:
        data: the decoded JSON.
        where: model and host, for messages.

    Raises:
        RateLimited, ServerFailed: the body is not a response, reports a failure, or has neither
            text nor a tool call.
        RequestRefused: the model or a filter declined to answer.
    """
    usage = read_usage(data)
    response = read_as(_Response, data)
    if response is None:
        raise ServerFailed(f"{where} answered with {shape(data)}, not a response", usage=usage)
    if response.status in ("failed", "cancelled", "queued", "in_progress"):
        raise _failure(response, where, usage)
    parts = [part for item in response.output if item.type == "message" for part in _parts(item)]
    text = "".join(part.text or "" for part in parts if part.type == "output_text")
    calls = tuple(
        ToolCall(
            item.call_id or item.id or f"call_{position}",
            item.name or "",
            arguments_text(item.arguments),
        )
        for position, item in enumerate(response.output)
        if item.type == "function_call"
    )
    finish = _finish(response, calls)
    declined = finish == "content_filter" or any(part.refusal for part in parts)
    return ParsedReply(text, calls, finish, declined).reply(where, usage)


def _finish(response: _Response, calls: tuple[ToolCall, ...]) -> str:
    if response.status == "incomplete":
        reason = (response.incomplete_details or _Reason()).reason or "incomplete"
        return _ENDINGS.get(reason, reason)
    return "tool_calls" if calls else "stop"


def _failure(
    response: _Response, where: str, usage: Usage | None
) -> RateLimited | ServerFailed | RequestRefused:
    """Return our error for a response that reports its failure with HTTP status 200."""
    code = (response.error or _Code()).code
    if code == "rate_limit_exceeded":
        return RateLimited(f"{where} is rate limited", usage=usage)
    if code is None or code in _PASSING:
        return ServerFailed(f"{where} gave up with status `{response.status}`", usage=usage)
    return RequestRefused(f"{where} refused the request (`{code}`)", usage=usage)


def read_usage(data: object) -> Usage | None:
    """Return the usage in a decoded body; None without one."""
    return usage_in(data, "input_tokens", "output_tokens")


def _parts(item: _Item) -> list[_Part]:
    if isinstance(item.content, str):
        return [_Part(type="output_text", text=item.content)]
    return item.content or []
