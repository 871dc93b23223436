"""Server-sent events of model services: read, and rewritten without breaking them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

Event = dict[str, Any]

_BLOCK_END = re.compile(r"\r?\n\r?\n")
_LINE_END = re.compile(r"\r?\n")
_DELTA_TEXTS = ("text", "partial_json", "thinking")
"""What of a delta of the Messages API is a piece of one longer text."""


def is_stream(wire: str) -> bool:
    """Whether an answer's body is a stream of events, and not a JSON value."""
    return not wire.lstrip().startswith(("{", "["))


def read_events(wire: str) -> Iterator[Event]:
    """The events of a stream, in order, without what is no JSON object, such as `[DONE]`."""
    for block in _BLOCK_END.split(wire):
        lines = (line for line in _LINE_END.split(block) if line.startswith("data:"))
        data = "\n".join(line.removeprefix("data:").removeprefix(" ") for line in lines)
        try:
            event = json.loads(data)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def joined(wire: str) -> str:
    """The stream with each text of a Messages answer in one piece, so that all words are whole."""
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
        if waiting is not None:
            yield waiting
        waiting = event
    if waiting is not None:
        yield waiting


def _same_text(one: Event, other: Event) -> str:
    """The name of the text that two deltas are pieces of; empty where they are not."""
    kinds = {one.get("type"), other.get("type")}
    if kinds != {"content_block_delta"} or one.get("index") != other.get("index"):
        return ""
    shared = one["delta"].keys() & other["delta"].keys() & {*_DELTA_TEXTS}
    return next(iter(shared), "") if one["delta"]["type"] == other["delta"]["type"] else ""
