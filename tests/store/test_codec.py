from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import AWKWARD, EVENTS, TASK, broken, fact, state, values

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import Degraded, EditsChosen, Stamped
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Attempt, ChatReply
from skillopt_cli.store import codec


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@settings(max_examples=15)
@given(data=st.data())
def test_every_event_survives_the_round_trip(kind: type, data: st.DataObject) -> None:
    event = data.draw(values(kind))
    stamped = Stamped(data.draw(st.integers(1)), data.draw(st.floats(0, codec.LATEST)), event)
    line = codec.dump_fact(stamped)
    back = codec.load_fact(line.encode())
    assert back == stamped
    assert type(back.event) is kind
    assert "\n" not in line


@settings(max_examples=60)
@given(values(TrainState))
def test_the_state_survives_the_round_trip(original: TrainState) -> None:
    assert codec.load_state(codec.dump_state(original).encode()) == original


@settings(max_examples=60)
@given(values(Attempt), values(Score), values(ChatReply))
def test_rollouts_and_calls_survive_the_round_trip(
    attempt: Attempt, score: Score, reply: ChatReply
) -> None:
    assert codec.load_call(codec.dump_call(reply)) == reply
    if attempt.ending != "broken":
        for given in (score, None):
            original = Trajectory(TASK, attempt, given, unscored=given is None)
            assert codec.load_rollout(codec.dump_rollout(original), TASK) == original


def test_order_of_marks_is_kept() -> None:
    original = state()
    back = codec.load_state(codec.dump_state(original))
    assert list(back.current.marks) == list(original.current.marks) == ["a", "b"]


def test_text_stays_readable_unless_utf8_cannot_hold_it() -> None:
    kept = codec.dump_fact(Stamped(1, 0.0, Degraded("größe", "漢字\u2028")))
    assert "größe" in kept
    assert "漢字\u2028" in kept
    codec.dump_fact(Stamped(1, 0.0, Degraded("", AWKWARD))).encode()


def test_a_broken_attempt_is_refused() -> None:
    with pytest.raises(ValueError, match="broken"):
        codec.dump_rollout(broken())


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", '{"schema":1}', '{"schema":"1","state":{}}', '{"schema":0}'],
)
def test_what_is_no_checkpoint_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        codec.load_state(text)


def test_an_unknown_kind_of_event_is_a_value_error() -> None:
    line = codec.dump_fact(fact(1)).replace("call_made", "call_unmade")
    with pytest.raises(ValueError, match="call_unmade"):
        codec.load_fact(line)


@pytest.mark.parametrize("time", ["NaN", "Infinity", "-1", "1e300"])
def test_a_time_that_no_calendar_knows_is_a_value_error(time: str) -> None:
    line = codec.dump_fact(Stamped(1, 7.5, Degraded("x", "y")))
    with pytest.raises(ValueError):
        codec.load_fact(line.replace("7.5", time))


def test_brackets_without_end_are_a_value_error() -> None:
    with pytest.raises(ValueError):
        codec.load_fact("[" * 100_000)


def test_a_newer_schema_is_refused_by_name() -> None:
    document = json.loads(codec.dump_state(state())) | {"schema": codec.SCHEMA + 1}
    with pytest.raises(DataError, match=f"schema {codec.SCHEMA + 1}") as caught:
        codec.load_state(json.dumps(document))
    assert "upgrade" in caught.value.hint


def test_migrations_run_in_order_from_the_documents_schema() -> None:
    def renamed(root: codec.Root, document: codec.Document) -> codec.Document:
        if root == "call":
            document = {**document, "reply": document["answer"]}
        return document

    def doubled(root: codec.Root, document: codec.Document) -> codec.Document:
        return {**document, "reply": document["reply"] * 2}

    steps = (renamed, doubled)
    assert codec.migrate("call", {"schema": 1, "answer": "x"}, steps)["reply"] == "xx"
    assert codec.migrate("call", {"schema": 2, "reply": "x"}, steps)["reply"] == "xx"
    assert codec.migrate("call", {"schema": 3, "reply": "x"}, steps)["reply"] == "x"
    assert codec.migrate("call", {"schema": 1, "answer": "x"}, steps)["schema"] == 3
    with pytest.raises(DataError):
        codec.migrate("call", {"schema": 4, "reply": "x"}, steps)


def test_a_skill_that_is_one_file_is_written_as_before_there_were_folders() -> None:
    edit = Edit("append", "x")
    document = json.loads(codec.dump_state(state()))
    assert set(document["state"]["current"]["skill"]) == {"text"}
    line = codec.dump_fact(Stamped(1, 0.0, EditsChosen(1, (edit,), ())))
    assert json.loads(line)["event"]["chosen"] == [edit.record]
    assert "file" not in line

    filed = replace(edit, file="a.py")
    line = codec.dump_fact(Stamped(1, 0.0, EditsChosen(1, (filed,), ())))
    assert json.loads(line)["event"]["chosen"][0]["file"] == "a.py"
