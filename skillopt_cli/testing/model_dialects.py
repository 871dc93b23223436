"""The API dialects of the model server: bodies of requests, responses and errors, and streams."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import BackendError
from skillopt_cli.core.task import ChatReply, ChatRequest, Message
from skillopt_cli.testing.agent_requests import (
    agent_messages,
    as_answer_call,
    requested_schema,
    skill_call,
)

Json = Mapping[str, Any]
_PIECE = 7
"""Characters per delta: few, so that a reader that relies on whole words fails."""


@dataclass(frozen=True, slots=True)
class ServerDialect:
    """One API dialect.

    Attributes:
        path: below the base URL.
        read: parses a request body, without images and tools, which the simulated model ignores.
        write: the body of a response, given the model's name.
        error: the body of an error, given its status.
        stream: a response body as server-sent events; None where streams are not supported.
        first_call: the tool call that an agent's model makes before it answers, if any.
        adapt: converts the reply into the form that the request asks for.
    """

    path: str
    read: Callable[[Json], ChatRequest]
    write: Callable[[str, ChatReply], dict[str, Any]]
    error: Callable[[int, BackendError], dict[str, Any]]
    stream: Callable[[Json], str] | None = None
    first_call: Callable[[Json], ToolCall | None] = lambda body: None
    adapt: Callable[[Json, ChatReply], ChatReply] = lambda body, reply: reply


def tokens(body: object) -> tuple[int | None, int | None]:
    """Prompt and completion tokens of a response body of any dialect, None where it has none.

    Tokens written to a cache or read from it count as prompt tokens.
    """
    usage = body.get("usage") if isinstance(body, Mapping) else None
    if not isinstance(usage, Mapping):
        return None, None
    prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
    if prompt is not None:
        prompt += usage.get("cache_read_input_tokens") or 0
        prompt += usage.get("cache_creation_input_tokens") or 0
    return prompt, usage.get("completion_tokens", usage.get("output_tokens"))


def _text(content: object) -> str:
    """The text of a message's content, of its parts or of a tool's result."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(_text(part.get("text") or part.get("content")) for part in parts)


def _read_completion(body: Json) -> ChatRequest:
    requested = (body.get("response_format") or {}).get("json_schema") or {}
    messages = tuple(Message(m["role"], _text(m.get("content"))) for m in body["messages"])
    return ChatRequest(messages, "http", requested.get("schema"), requested.get("name", ""))


def _write_completion(model: str, reply: ChatReply) -> dict[str, Any]:
    prompt, completion = reply.usage.prompt_tokens or 0, reply.usage.completion_tokens or 0
    message = {"role": "assistant", "content": reply.text}
    return {
        "id": "chatcmpl-simulated",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


def _openai_error(status: int, error: BackendError) -> dict[str, Any]:
    return {"error": {"message": error.message, "type": type(error).__name__, "code": None}}


def _read_response(body: Json) -> ChatRequest:
    requested = (body.get("text") or {}).get("format") or {}
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if agent := agent_messages([body.get("instructions", ""), *items]):
        return ChatRequest(agent, "http", *requested_schema(body))
    system = (Message("system", body["instructions"]),) if body.get("instructions") else ()
    return ChatRequest(
        (*system, *_items(items)), "http", requested.get("schema"), requested.get("name", "")
    )


def _items(items: Sequence[Json]) -> Iterator[Message]:
    for item in items:
        if "role" in item:
            yield Message(item["role"], _text(item.get("content")))
        elif "output" in item:
            yield Message("tool", _text(item["output"]))


def _write_response(model: str, reply: ChatReply) -> dict[str, Any]:
    prompt, completion = reply.usage.prompt_tokens or 0, reply.usage.completion_tokens or 0
    part = {"type": "output_text", "text": reply.text, "annotations": []}
    message = {
        "id": "msg-simulated",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }
    calls = [
        {
            "id": f"fc-{call.id}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
        for call in reply.tool_calls
    ]
    return {
        "id": "resp-simulated",
        "object": "response",
        "created_at": int(time.time()),
        "model": model,
        "status": "completed",
        "output": [*([message] if reply.text or not calls else ()), *calls],
        "usage": {
            "input_tokens": prompt,
            "output_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


def _read_message(body: Json) -> ChatRequest:
    """Parse a Messages request; it has no name for a schema, whose title is used instead."""
    requested = (body.get("output_config") or {}).get("format") or {}
    schema = requested.get("schema")
    if agent := agent_messages([{"content": body.get("system", "")}, *body["messages"]]):
        return ChatRequest(agent, "http", *requested_schema(body))
    system = (Message("system", _text(body["system"])),) if body.get("system") else ()
    turns = tuple(Message(m["role"], _text(m["content"])) for m in body["messages"])
    return ChatRequest((*system, *turns), "http", schema, (schema or {}).get("title", ""))


def _write_message(model: str, reply: ChatReply) -> dict[str, Any]:
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in reply.tool_calls
    ]
    text = [{"type": "text", "text": reply.text}] if reply.text or not calls else []
    return {
        "id": "msg_simulated",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [*text, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": reply.usage.prompt_tokens or 0,
            "output_tokens": reply.usage.completion_tokens or 0,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        },
    }


_ANTHROPIC_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def _anthropic_error(status: int, error: BackendError) -> dict[str, Any]:
    kind = _ANTHROPIC_TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": error.message}}


def response_stream(answer: Json) -> str:
    """A response of the Responses API as a stream of events."""
    return "".join(_event(event) for event in _response_events(answer))


def _response_events(answer: Json) -> Iterator[dict[str, Any]]:
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(answer["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        yield {"type": "response.output_item.added", "output_index": index, "item": _empty(item)}
        for part in item.get("content", ()):
            for piece in _pieces(part["text"]):
                delta = {"content_index": 0, "delta": piece}
                yield {"type": "response.output_text.delta", **place, **delta}
        for piece in _pieces(item.get("arguments", "")):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": answer}


def _empty(item: Json) -> dict[str, Any]:
    hollow = {"content": [], "arguments": ""}
    return {**item, **{name: hollow[name] for name in hollow if name in item}}


def message_stream(answer: Json) -> str:
    """A response of the Messages API as a stream of events."""
    return "".join(_event(event) for event in _message_events(answer))


def _message_events(answer: Json) -> Iterator[dict[str, Any]]:
    usage = answer["usage"]
    begun = {**answer, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(answer["content"]):
        place = {"index": index}
        if block["type"] == "tool_use":
            empty, key, kind = {**block, "input": {}}, "partial_json", "input_json_delta"
            text = json.dumps(block["input"])
        else:
            empty, key, kind = {**block, "text": ""}, "text", "text_delta"
            text = block["text"]
        yield {"type": "content_block_start", **place, "content_block": empty}
        for piece in _pieces(text):
            yield {"type": "content_block_delta", **place, "delta": {"type": kind, key: piece}}
        yield {"type": "content_block_stop", **place}
    ending = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    spent = {"output_tokens": usage["output_tokens"]}
    yield {"type": "message_delta", "delta": ending, "usage": spent}
    yield {"type": "message_stop"}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _event(event: Json) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


DIALECTS = (
    ServerDialect("/chat/completions", _read_completion, _write_completion, _openai_error),
    ServerDialect("/responses", _read_response, _write_response, _openai_error, response_stream),
    ServerDialect(
        "/messages",
        _read_message,
        _write_message,
        _anthropic_error,
        message_stream,
        skill_call,
        as_answer_call,
    ),
)
"""OpenAI's Chat Completions and Responses, and Anthropic's Messages."""
