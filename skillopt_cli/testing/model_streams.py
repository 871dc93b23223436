"""Answers of the test model server as server-sent events, as programs of agents ask for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]
_PIECE = 7
"""Characters per delta: few, so that a reader which trusts in whole words fails."""


def response_stream(answer: Json) -> str:
    """A whole answer of the Responses API, event by event."""
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
    """A whole answer of the Messages API, event by event."""
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
