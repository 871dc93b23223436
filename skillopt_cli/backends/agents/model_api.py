"""The model APIs of agent programs: how the relay forwards requests and parses answers.

An answer is a JSON value, or a stream of server-sent events whose text deltas can be joined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skillopt_cli.backends.chat import anthropic_messages as anthropic_messages
from skillopt_cli.backends.chat import responses
from skillopt_cli.backends.chat.anthropic_messages import MessageSampling
from skillopt_cli.backends.chat.bodies import (
    Event,
    Join,
    body_of_stream,
    is_stream,
    join_message,
    join_response,
    read_events,
)
from skillopt_cli.backends.chat.chat_completions import Sampling
from skillopt_cli.backends.chat.endpoint import ModelAddress
from skillopt_cli.backends.chat.http_errors import (
    TYPES,
    failure_within,
    response_error,
)
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
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

_DELTA_TEXTS = ("text", "partial_json", "thinking")
"""Fields of a Messages API delta that are pieces of one longer text."""
_OF_ONE_TEXT = ("type", "item_id", "output_index", "content_index", "summary_index")
"""What all deltas of one text have in common in the Responses API."""


def joined(wire: str) -> str:
    """Return the stream with each text of an answer in one event."""
    if not is_stream(wire):
        return wire
    return "".join(
        f"event: {event.get('type', 'message')}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
        for event in _joined(read_events(wire))
    )


def _joined(events: Iterable[Event]) -> Iterator[Event]:
    waiting: Event | None = None
    for event in events:
        if event.get("type") == "ping":
            continue
        if waiting is not None and (name := _same_text(waiting, event)):
            waiting["delta"][name] += event["delta"][name]
            continue
        if waiting is not None and _same_delta(waiting, event):
            waiting["delta"] += event["delta"]
            continue
        if waiting is not None:
            yield waiting
        waiting = event
    if waiting is not None:
        yield waiting


def _same_delta(one: Event, other: Event) -> bool:
    """Return whether two deltas of the Responses API are pieces of one text."""
    texts = isinstance(one.get("delta"), str) and isinstance(other.get("delta"), str)
    return texts and all(one.get(name) == other.get(name) for name in _OF_ONE_TEXT)


def _same_text(one: Event, other: Event) -> str:
    """Return the name of the text that two deltas of the Messages API are pieces of, else ""."""
    kinds = {one.get("type"), other.get("type")}
    if kinds != {"content_block_delta"} or one.get("index") != other.get("index"):
        return ""
    shared = one["delta"].keys() & other["delta"].keys() & {*_DELTA_TEXTS}
    return next(iter(shared), "") if one["delta"]["type"] == other["delta"]["type"] else ""


@dataclass(frozen=True, slots=True)
class ModelApi:
    """One API.

    Attributes:
        path: below the base URL.
        title: for messages.
        headers: returns the headers that carry a key.
        passed: name prefixes of headers that belong to a request, not to its sender.
        body: writes a request of our own.
        read: parses an answer's body, a stream or a JSON value; raises as a chat backend.
        fault: writes the body of an error with this status.
    """

    name: str
    path: str
    title: str
    headers: Callable[[str], dict[str, str]]
    passed: tuple[str, ...]
    body: Callable[[ChatRequest, RoleSettings], dict[str, Any]]
    read: Callable[[str, ModelAddress], ChatReply]
    fault: Callable[[int, str], dict[str, Any]]


def status_of(error: BackendError) -> int:
    """Return the HTTP status that represents an error."""
    kinds: tuple[tuple[type[BackendError], int], ...] = (
        (AuthFailed, 401),
        (QuotaExhausted, 403),
        (UnknownModel, 404),
        (RateLimited, 429),
        (RequestRefused, 400),
    )
    return next((status for kind, status in kinds if isinstance(error, kind)), 500)


def decoded(body: str) -> Any:
    """Decode a body; return it unchanged if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


def _response_body(request: ChatRequest, role: RoleSettings) -> dict[str, Any]:
    sampling = Sampling(role.model, role.max_completion_tokens, None, role.reasoning_effort)
    return responses.request_body(request, sampling, ())


def _read_response(wire: str, address: ModelAddress) -> ChatReply:
    response = _body_of(wire, address, _RESPONSES, join_response)
    usage = responses.read_usage(response)
    if response.get("status") in ("failed", "cancelled"):
        # Raises the matching error.
        responses.read_reply({"output": [], **response}, str(address))
    items = response.get("output") or []
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
        raise ServerFailed(f"{address} answered with an empty text", usage=usage)
    finish = "length" if cut else "tool_calls" if calls else "stop"
    return ChatReply(text, usage or Usage(1), finish, wire=wire)


def _message_body(request: ChatRequest, role: RoleSettings) -> dict[str, Any]:
    sampling = MessageSampling(role.model, role.max_completion_tokens)
    return anthropic_messages.request_body(request, sampling, ())


def _read_message(wire: str, address: ModelAddress) -> ChatReply:
    message = _body_of(wire, address, _MESSAGES, join_message)
    reply = anthropic_messages.read_reply(message, str(address))
    return ChatReply(reply.text, reply.usage, reply.finish, wire=wire)


def _body_of(wire: str, address: ModelAddress, offered: str, join: Join) -> Json:
    if is_stream(wire):
        return body_of_stream(wire, address, offered, join)
    value = decoded(wire)
    if not isinstance(value, dict):
        raise ServerFailed(f"{address} answered with malformed JSON")
    failure = failure_within(value, {}, offered)
    if failure is not None:
        raise response_error(failure, address)
    return value


def _fault_of_anthropic(status: int, message: str) -> dict[str, Any]:
    error = {"type": TYPES.get(status, "api_error"), "message": message}
    return {"type": "error", "error": error}


RESPONSES = ModelApi(
    "responses",
    "/responses",
    _RESPONSES,
    lambda key: {"authorization": f"Bearer {key}"} if key else {},
    ("openai-",),
    _response_body,
    _read_response,
    lambda _, message: {"error": {"message": message, "type": "relay_error", "code": None}},
)
MESSAGES = ModelApi(
    "messages",
    "/messages",
    _MESSAGES,
    lambda key: {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})},
    ("anthropic-",),
    _message_body,
    _read_message,
    _fault_of_anthropic,
)
