from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.backends.agents.model_api import joined
from skillopt_cli.backends.chat.bodies import is_stream, read_events
from skillopt_cli.testing.model_dialects import message_stream, response_stream


def message(text: str, arguments: dict[str, str]) -> dict[str, object]:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "text", "text": text},
            {"type": "tool_use", "id": "t", "name": "Write", "input": arguments},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }


@given(st.text(min_size=1), st.text())
def test_texts_of_a_stream_are_joined_and_nothing_else_changes(text: str, path: str) -> None:
    wire = joined(message_stream(message(text, {"file_path": path})))

    deltas = [e for e in read_events(wire) if e["type"] == "content_block_delta"]
    assert [e["index"] for e in deltas] == [0, 1]
    assert deltas[0]["delta"] == {"type": "text_delta", "text": text}
    assert json.loads(deltas[1]["delta"]["partial_json"]) == {"file_path": path}
    others = [e["type"] for e in read_events(wire) if e["type"] != "content_block_delta"]
    assert others[0] == "message_start" and others[-1] == "message_stop"
    assert joined(wire) == wire


def test_a_path_that_was_cut_in_pieces_is_whole_afterwards() -> None:
    stream = message_stream(message("x", {"file_path": "/skillopt-attempt/work/answer.txt"}))
    assert "/skillopt-attempt/work" not in stream
    assert "/skillopt-attempt/work/answer.txt" in joined(stream)


def test_deltas_of_different_kinds_are_not_joined() -> None:
    kinds = ({"type": "thinking_delta", "thinking": "a"}, {"type": "text_delta", "text": "b"})
    events = [{"type": "content_block_delta", "index": 0, "delta": d} for d in kinds]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    assert list(read_events(joined(stream))) == events


def test_pings_between_pieces_do_not_part_them() -> None:
    piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}}
    first, second = ({**piece, "delta": {**piece["delta"], "text": t}} for t in ("a", "b"))
    stream = "".join(f"data: {json.dumps(e)}\n\n" for e in (first, {"type": "ping"}, second))
    assert [e["delta"]["text"] for e in read_events(joined(stream))] == ["ab"]


def test_the_pieces_of_each_text_of_a_responses_stream_are_joined() -> None:
    first, second = ({"type": "response.output_text.delta", "item_id": name} for name in "ab")
    pieces = [(first, "sk-can"), (first, "ary"), (second, "x"), (second, "y")]
    stream = "".join(f"data: {json.dumps(event | {'delta': d})}\n\n" for event, d in pieces)
    assert [event["delta"] for event in read_events(joined(stream))] == ["sk-canary", "xy"]


def test_a_json_body_is_no_stream_and_stays_as_it_is() -> None:
    body = json.dumps(message("x", {}))
    assert not is_stream(body)
    assert joined(body) == body


def test_events_are_read_whatever_their_line_ends_and_comments() -> None:
    stream = ': hello\r\n\r\nevent: a\r\ndata: {"type":\r\ndata: "a"}\r\n\r\ndata: [DONE]\r\n\r\n'
    assert list(read_events(stream)) == [{"type": "a"}]


def test_a_responses_stream_brings_each_item_whole_and_in_order() -> None:
    items = [
        {"id": "a", "type": "message", "content": [{"type": "output_text", "text": "hello you"}]},
        {"id": "b", "type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
    ]
    answer = {"id": "r", "status": "completed", "output": items, "usage": {"input_tokens": 1}}
    events = list(read_events(response_stream(answer)))
    assert [e["item"] for e in events if e["type"] == "response.output_item.done"] == items
    assert events[-1] == {"type": "response.completed", "response": answer}
    assert all(one != other for one, other in pairwise(events))
