"""Anthropic's Messages API on the wire: what an answer says, and what it cost."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from skillopt_cli.backends.reply import Said, arguments_text, count, read_as, shape, spent_in
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
    id: str | None = None
    name: str = ""
    input: Any = None


class _Answer(BaseModel):
    content: list[_Block]
    stop_reason: str | None = None


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
        ToolCall(block.id or f"toolu_{position}", block.name, arguments_text(block.input))
        for position, block in enumerate(answer.content)
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
