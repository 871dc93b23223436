"""The interfaces the test model server speaks: how each puts a request, an answer and an error."""

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
    in_wanted_form,
    skill_wish,
    told_to_agent,
    wanted_form,
)
from skillopt_cli.testing.model_streams import message_stream, response_stream

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """One interface.

    Attributes:
        path: below the base URL.
        read: the request in a body. Pictures and tools are left out: the model has no use for them.
        write: the body of an answer, given the model's name.
        fault: the body of an error, given its status.
        stream: an answer's body as server-sent events; None where it is never asked for.
        wish: what an agent's model would have done before it answers, if anything.
        dress: the reply as the request wants it.
    """

    path: str
    read: Callable[[Json], ChatRequest]
    write: Callable[[str, ChatReply], dict[str, Any]]
    fault: Callable[[int, BackendError], dict[str, Any]]
    stream: Callable[[Json], str] | None = None
    wish: Callable[[Json], ToolCall | None] = lambda body: None
    dress: Callable[[Json, ChatReply], ChatReply] = lambda body, reply: reply


def tokens(body: object) -> tuple[int | None, int | None]:
    """Prompt and completion tokens that a body of any form claims, None where it does not.

    Tokens that went into a cache or came out of it count as tokens of the prompt.
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
    """The text of a message's content, which may stand in parts; a tool's result is one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(_text(part.get("text") or part.get("content")) for part in parts)


def _read_completion(body: Json) -> ChatRequest:
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    messages = tuple(Message(m["role"], _text(m.get("content"))) for m in body["messages"])
    return ChatRequest(messages, "http", wanted.get("schema"), wanted.get("name", ""))


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


def _fault_of_openai(status: int, error: BackendError) -> dict[str, Any]:
    return {"error": {"message": error.message, "type": type(error).__name__, "code": None}}


def _read_response(body: Json) -> ChatRequest:
    wanted = (body.get("text") or {}).get("format") or {}
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if agent := told_to_agent([body.get("instructions", ""), *items]):
        return ChatRequest(agent, "http", *wanted_form(body))
    told = (Message("system", body["instructions"]),) if body.get("instructions") else ()
    return ChatRequest(
        (*told, *_items(items)), "http", wanted.get("schema"), wanted.get("name", "")
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
    """The interface has no name for a schema; its title stands in."""
    wanted = (body.get("output_config") or {}).get("format") or {}
    schema = wanted.get("schema")
    if agent := told_to_agent([{"content": body.get("system", "")}, *body["messages"]]):
        return ChatRequest(agent, "http", *wanted_form(body))
    told = (Message("system", _text(body["system"])),) if body.get("system") else ()
    turns = tuple(Message(m["role"], _text(m["content"])) for m in body["messages"])
    return ChatRequest((*told, *turns), "http", schema, (schema or {}).get("title", ""))


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


def _fault_of_anthropic(status: int, error: BackendError) -> dict[str, Any]:
    kind = _ANTHROPIC_TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": error.message}}


FORMS = (
    Form("/chat/completions", _read_completion, _write_completion, _fault_of_openai),
    Form("/responses", _read_response, _write_response, _fault_of_openai, response_stream),
    Form(
        "/messages",
        _read_message,
        _write_message,
        _fault_of_anthropic,
        message_stream,
        skill_wish,
        in_wanted_form,
    ),
)
"""OpenAI's Chat Completions and Responses, and Anthropic's Messages."""
