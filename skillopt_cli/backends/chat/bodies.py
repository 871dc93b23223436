"""Bodies of answers with status 200: JSON, a stream of events instead, or a stray mark of one.

Every request asks for JSON. A stream that comes all the same is joined into
one body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Protocol

from skillopt_cli.backends.chat.endpoint import ModelAddress
from skillopt_cli.backends.chat.http_errors import (
    ADDRESS_HINT,
    failure_within,
    response_error,
    stream_failure,
)
from skillopt_cli.core.errors import NetworkFailed, ServerFailed

Event = dict[str, Any]
Join = Callable[[Iterable[Event]], dict[str, Any] | None]
"""Returns the body that the events of a stream make up; None if they break off."""

_DONE = "[DONE]"
_STOPPED: Event = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
"""What the mark of the end means where no chunk has a finish reason."""
_OBJECT = re.compile(r"^\s*\{", re.MULTILINE)
_ONLY_MARKS = re.compile(r"\s*(?:(?:data:|event:|:)[^\n]*\s*)*")


class HttpAnswer(Protocol):
    """An answer of an HTTP client: headers, whose names are case-insensitive, and a body."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""

    @property
    def text(self) -> str:
        """The body as text."""

    def json(self) -> Any:
        """Decode the body.

        Raises:
            ValueError: it is not JSON.
        """


def decoded_body(answer: HttpAnswer, address: ModelAddress, offered: str, join: Join) -> Any:
    """Decode the body of an answer with status 200.

    Args:
        offered: the expected API, such as "chat completions".
        join: joins a stream of that API.

    Raises:
        BackendError: it holds a failure, as routers send with this status.
        ServerFailed: it is neither JSON nor a stream.
        NetworkFailed: it is a stream that breaks off.
    """
    try:
        data = answer.json()
    except (ValueError, RecursionError):
        data = None
    # Raised here so that the decoder's error, which quotes the body, is not chained to ours.
    if data is None and answer.headers.get("content-type", "").lower().startswith("text/html"):
        raise ServerFailed(f"{address} answered with a web page", ADDRESS_HINT)
    if data is None:
        data = _marked_json(answer.text)
    if data is None and any(read_events(answer.text)):
        return body_of_stream(answer.text, address, offered, join)
    if data is None:
        raise ServerFailed(f"{address} answered with {_unreadable(answer.text)}")
    failure = failure_within(data, answer.headers, offered)
    if failure is not None:
        raise response_error(failure, address)
    return data


def _marked_json(text: str) -> Any:
    """Return the JSON object between notices and marks of a stream, such as `data: [DONE]`.

    Returns:
        None without one, or where the text is in another encoding than it is said to be.
    """
    text = text.removeprefix("\ufeff")
    begin = _OBJECT.search(text)
    if begin is None or "\ufffd" in text:
        return None
    with suppress(ValueError, RecursionError):
        value, end = json.JSONDecoder(strict=False).raw_decode(text, begin.end() - 1)
        if _ONLY_MARKS.fullmatch(text, end):
            return value
    return None


def _unreadable(text: str) -> str:
    """What a body is that is no JSON, without quoting it."""
    if not text.strip():
        return "an empty body"
    if text.startswith("\x1f"):
        return "a compressed body that no header announces"
    return (
        "text in another encoding than its header names" if "\ufffd" in text else "malformed JSON"
    )


def is_stream(wire: str) -> bool:
    """Whether an answer's body is a stream of events, and not a JSON value."""
    return not wire.lstrip().startswith(("{", "["))


def read_events(wire: str) -> Iterator[Event]:
    """Yield the events of a stream that are JSON objects, unlike `[DONE]`."""
    yield from filter(None, map(_event, _payloads(wire)))


def _payloads(wire: str) -> Iterator[str]:
    """Yield what the events of a stream hold; of events that no blank line separates, each line."""
    wire = wire.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for block in wire.split("\n\n"):
        lines = [line.lstrip() for line in block.split("\n")]
        data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
        whole = "\n".join(data)
        yield from data if _event(whole) is None else [whole]


def _event(payload: str) -> Event | None:
    try:
        event = json.loads(payload, strict=False)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def body_of_stream(wire: str, address: ModelAddress, offered: str, join: Join) -> dict[str, Any]:
    """Return the body that a stream makes up.

    Raises:
        BackendError: one of its events is an error.
        NetworkFailed: it breaks off, or one of its events is torn.
    """
    payloads = list(_payloads(wire))
    done = _DONE in payloads
    payloads = payloads[: payloads.index(_DONE)] if done else payloads
    if any(payload.startswith("{") and _event(payload) is None for payload in payloads):
        raise NetworkFailed(f"{address} sent a torn event in its answer")
    # A finish reason of the stream's own comes later, and counts.
    events = [*([_STOPPED] if done else []), *filter(None, map(_event, payloads))]
    for event in events:
        if event.get("type") == "error" or event.get("error"):
            raise response_error(stream_failure(event, {}, offered), address)
    body = None
    with suppress(AttributeError, IndexError, KeyError, TypeError):
        body = join(events)
    if body is None:
        raise NetworkFailed(f"{address} broke off its answer before that was whole")
    return body


def join_completion(events: Iterable[Event]) -> dict[str, Any] | None:
    """Join a stream of chat completions."""
    body: dict[str, Any] = {}
    message: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {}
    finish = None
    for event in events:
        body |= {name: event[name] for name in ("id", "usage") if event.get(name)}
        for choice in event.get("choices") or ():
            if choice.get("index"):
                continue  # another answer than the one that was asked for
            delta = choice.get("delta") or choice.get("message") or {}
            finish = choice.get("finish_reason") or finish
            for name, piece in delta.items():
                if name == "content" and isinstance(piece, list):
                    piece = "".join(part.get("text") or "" for part in piece)
                if isinstance(piece, str):
                    message[name] = message.get(name, "") + piece
            for piece in delta.get("tool_calls") or ():
                call = calls.setdefault(piece.get("index", 0), {"name": "", "arguments": ""})
                call |= {"id": piece["id"]} if piece.get("id") else {}
                for name, text in (piece.get("function") or {}).items():
                    call[name] += text or ""
    if finish is None:
        return None
    message["tool_calls"] = [
        {"id": call.pop("id", None), "function": call} for call in calls.values()
    ]
    return {**body, "choices": [{"message": message, "finish_reason": finish}]}


def join_response(events: Iterable[Event]) -> dict[str, Any] | None:
    """Join a stream of the Responses API."""
    items: list[Any] = []
    for event in events:
        match event.get("type"):
            case "response.output_item.done":
                items.append(event["item"])
            case "response.completed" | "response.incomplete" | "response.failed":
                kind, response = event["type"].removeprefix("response."), event["response"]
                return {"status": kind, **response, "output": items or response.get("output") or []}
    return None


def join_message(events: Iterable[Event]) -> dict[str, Any] | None:
    """Join a stream of the Messages API."""
    message: dict[str, Any] = {"content": []}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message = {**event["message"], "content": []}
                usage |= message.get("usage") or {}
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                _add_delta(blocks[event["index"]], event["delta"])
            case "message_delta":
                message |= event["delta"]
                usage |= {n: v for n, v in (event.get("usage") or {}).items() if v is not None}
            case "message_stop":
                return {**message, "content": list(blocks.values()), "usage": usage}
    return None


def _add_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    match delta.get("type"):
        case "text_delta":
            block["text"] += delta["text"]
        case "input_json_delta":
            before = block["input"] if isinstance(block["input"], str) else ""
            block["input"] = before + delta["partial_json"]
