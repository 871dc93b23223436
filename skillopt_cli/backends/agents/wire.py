"""The interfaces that programs of agents speak to their model, seen from between the two."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skillopt_cli.backends import anthropic_reply, anthropic_wire, responses
from skillopt_cli.backends.agents.events import is_stream, read_events
from skillopt_cli.backends.anthropic_wire import MessageSampling
from skillopt_cli.backends.chat_completions import Sampling
from skillopt_cli.backends.failure import TYPES, failure_within, untimely
from skillopt_cli.backends.http_errors import Place, refused
from skillopt_cli.backends.images import base64_of
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    NetworkFailed,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    ServerFailed,
    UnknownModel,
)
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.ports import RoleSettings

Json = Mapping[str, Any]
_RESPONSES = "Responses API"
_MESSAGES = "Messages API"


@dataclass(frozen=True, slots=True)
class AgentForm:
    """One interface.

    Attributes:
        path: below the base URL.
        title: for messages.
        headers: with which a key is sent.
        passed: beginnings of the names of headers that belong to a request, and not to its sender.
        body: that of a request of our own.
        read: the reply in an answer's body, a stream or a JSON value; it raises as a chat backend.
        fault: the body that tells a program of an error with this status.
    """

    name: str
    path: str
    title: str
    headers: Callable[[str], dict[str, str]]
    passed: tuple[str, ...]
    body: Callable[[ChatRequest, RoleSettings], dict[str, Any]]
    read: Callable[[str, Place], ChatReply]
    fault: Callable[[int, str], dict[str, Any]]


def status_of(error: BackendError) -> int:
    """The HTTP status by which a program understands an error."""
    kinds: tuple[tuple[type[BackendError], int], ...] = (
        (AuthFailed, 401),
        (QuotaExhausted, 403),
        (UnknownModel, 404),
        (RateLimited, 429),
        (RequestRefused, 400),
    )
    return next((status for kind, status in kinds if isinstance(error, kind)), 500)


def decoded(body: str) -> Any:
    """A body as the JSON value that it is; itself where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


def _response_body(request: ChatRequest, role: RoleSettings) -> dict[str, Any]:
    sampling = Sampling(role.model, role.max_completion_tokens, None, role.reasoning_effort)
    return responses.request_body(request, sampling, ())


def _read_response(wire: str, place: Place) -> ChatReply:
    items, response = _response_of(wire, place)
    usage = responses.read_usage(response)
    if response.get("status") in ("failed", "cancelled"):
        # It raises what this is.
        responses.read_reply({"output": [], **response}, str(place))
    parts = [
        part
        for item in items
        if item.get("type") == "message"
        for part in item.get("content") or ()
    ]
    text = "".join(part.get("text") or "" for part in parts)
    calls = any(item.get("type") not in ("message", "reasoning") for item in items)
    cut = response.get("status") == "incomplete"
    if not (text.strip() or calls or cut):
        raise ServerFailed(f"{place} answered with an empty text", usage=usage)
    finish = "length" if cut else "tool_calls" if calls else "stop"
    return ChatReply(text, usage or Usage(1), finish, wire=wire)


def _response_of(wire: str, place: Place) -> tuple[list[Json], Json]:
    """The items that a response brought, and the response itself."""
    if not is_stream(wire):
        response = _value(wire, place, _RESPONSES)
        return response.get("output") or [], response
    items: list[Json] = []
    for event in read_events(wire):
        match event.get("type"):
            case "response.output_item.done":
                items.append(event["item"])
            case "response.completed" | "response.incomplete" | "response.failed":
                kind = event["type"].removeprefix("response.")
                return items, {"status": kind, **event["response"]}
            case "error":
                raise refused(untimely(event, {}, _RESPONSES), place)
    raise _broken_off(place)


def _message_body(request: ChatRequest, role: RoleSettings) -> dict[str, Any]:
    sampling = MessageSampling(role.model, role.max_completion_tokens)
    return anthropic_wire.request_body(request, sampling, (), base64_of)


def _read_message(wire: str, place: Place) -> ChatReply:
    message = _message_of(wire, place)
    reply = anthropic_reply.read_reply(message, str(place))
    return ChatReply(reply.text, reply.usage, reply.finish, wire=wire)


def _message_of(wire: str, place: Place) -> Json:
    if not is_stream(wire):
        return _value(wire, place, _MESSAGES)
    message: dict[str, Any] = {"content": []}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in read_events(wire):
        match event.get("type"):
            case "message_start":
                message = {**event["message"], "content": []}
                usage |= message.get("usage") or {}
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta" if event["delta"].get("type") == "text_delta":
                blocks[event["index"]]["text"] += event["delta"]["text"]
            case "message_delta":
                message |= event["delta"]
                usage |= {n: v for n, v in (event.get("usage") or {}).items() if v is not None}
            case "message_stop":
                return {**message, "content": list(blocks.values()), "usage": usage}
            case "error":
                raise refused(untimely(event, {}, _MESSAGES), place)
    raise _broken_off(place)


def _value(wire: str, place: Place, offered: str) -> Json:
    value = decoded(wire)
    if not isinstance(value, dict):
        raise ServerFailed(f"{place} answered with malformed JSON")
    failure = failure_within(value, {}, offered)
    if failure is not None:
        raise refused(failure, place)
    return value


def _broken_off(place: Place) -> NetworkFailed:
    return NetworkFailed(f"{place} broke off its answer before that was whole")


def _fault_of_openai(status: int, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "relay_error", "code": None}}


def _fault_of_anthropic(status: int, message: str) -> dict[str, Any]:
    error = {"type": TYPES.get(status, "api_error"), "message": message}
    return {"type": "error", "error": error}


RESPONSES = AgentForm(
    "responses",
    "/responses",
    _RESPONSES,
    lambda key: {"authorization": f"Bearer {key}"} if key else {},
    ("openai-",),
    _response_body,
    _read_response,
    _fault_of_openai,
)
MESSAGES = AgentForm(
    "messages",
    "/messages",
    _MESSAGES,
    lambda key: {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})},
    ("anthropic-",),
    _message_body,
    _read_message,
    _fault_of_anthropic,
)
