"""Anthropic's Messages API on the wire: what an answer says, and what it cost."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from skillopt_cli.backends.reply import Said, read_as, shape
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, Usage

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}


class _Block(BaseModel):
    type: str
    text: str | None = None
    id: str = ""
    name: str = ""
    input: Any = None


class _Details(BaseModel):
    thinking_tokens: int | None = None


class _Usage(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _Details | None = None


class _Answer(BaseModel):
    content: list[_Block]
    stop_reason: str | None = None


class _Spent(BaseModel):
    usage: _Usage


def read_reply(data: object, where: str) -> ChatReply:
    """The reply in a decoded 200 body. Thinking is no part of its text.

    An answer cut at the token limit may be empty. Any other empty answer is a server's hiccup.

    Args:
        data: the decoded JSON.
        where: model and host, for messages.

    Raises:
        ServerFailed: the body is no message, or holds neither text nor a tool call.
        RequestRefused: the model declined to answer this request.
    """
    usage = read_usage(data)
    answer = read_as(_Answer, data)
    if answer is None:
        raise ServerFailed(f"{where} answered with {shape(data)}, not a message", usage=usage)
    if answer.stop_reason == "refusal":
        raise RequestRefused(f"{where} declined to answer this request", usage=usage)
    text = "".join(block.text or "" for block in answer.content if block.type == "text")
    calls = tuple(
        ToolCall(block.id, block.name, json.dumps(block.input, ensure_ascii=False))
        for block in answer.content
        if block.type == "tool_use"
    )
    reason = answer.stop_reason or "end_turn"
    finish = _FINISH.get(reason, reason)
    return Said(text, calls, finish).reply(where, usage)


def read_usage(data: object) -> Usage | None:
    """What a decoded body says its call cost; None where it says nothing.

    The service counts tokens read from and written into its cache apart from the others; here
    `prompt_tokens` holds them all.
    """
    found = read_as(_Spent, data)
    if found is None:
        return None
    spent = found.usage
    read = (
        spent.input_tokens,
        spent.cache_read_input_tokens,
        spent.cache_creation_input_tokens,
    )
    details = spent.output_tokens_details
    return Usage(
        calls=1,
        prompt_tokens=None if read[0] is None else sum(part or 0 for part in read),
        completion_tokens=spent.output_tokens,
        cached_tokens=spent.cache_read_input_tokens,
        reasoning_tokens=details.thinking_tokens if details else None,
    )
