"""What plug-ins hand over: harmless types are converted, others are refused with what they are."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy
import pytest

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.plugin_values import LONGEST_TEXT
from skillopt_cli.core.score import Private, Score, Trajectory
from skillopt_cli.core.task import Attempt, ChatReply, Message, Task, Usage
from skillopt_cli.store.codec import dump_call, dump_rollout, load_call, load_rollout

ODD: Any = None
TASK = Task("t", "k", {})


class Word(StrEnum):
    YES = "yes"


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (1, 1.0),
        (True, 1.0),
        (False, 0.0),
        (Decimal("0.25"), 0.25),
        (Fraction(1, 4), 0.25),
        (numpy.float32(0.25), 0.25),
        (numpy.float64(0.25), 0.25),
        (numpy.int64(1), 1.0),
        (numpy.bool_(True), 1.0),
        (numpy.array(0.25), 0.25),
        (-0.0, 0.0),
    ],
)
def test_real_numbers_of_every_type_are_scores(given: Any, value: float) -> None:
    score = Score(given, given)
    assert score == Score(value, value)
    assert type(score.hard) is type(score.soft) is float
    made = Trajectory(TASK, Attempt("a"), score)
    assert load_rollout(dump_rollout(made), TASK) == made


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("1", r"hard score `'1'` of type str is no number"),
        (b"1", "type bytes is no number"),
        (None, "`None` of type NoneType is no number"),
        (1j, "type complex is no number"),
        ([1.0], "type list is no number"),
        (numpy.array([0.1, 0.2]), "type ndarray is no number"),
        (Decimal("sNaN"), "no number"),
        (10**400, "type int is no number"),
        (Rude(), "of type Rude is no number"),
    ],
)
def test_anything_else_is_no_score(given: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Score(given, 0.0)
    with pytest.raises(TypeError, match="soft score"):
        Score(0.0, given)


@pytest.mark.parametrize(
    "given", [float("nan"), float("inf"), -0.1, 1.0000001, Decimal("NaN"), Decimal(2), numpy.nan]
)
def test_a_score_lies_within_0_and_1(given: Any) -> None:
    with pytest.raises(ValueError, match=r"score \S+ is outside \[0, 1\]"):
        Score(given, 0.0)
    with pytest.raises(ValueError, match=r"score \S+ is outside \[0, 1\]"):
        Score(0.0, given)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        *(("why", "why"), (None, ""), (5, "5"), (0.5, "0.5"), (True, "True"), (Word.YES, "yes")),
        *((Decimal("1.50"), "1.50"), (Fraction(1, 2), "1/2"), (numpy.int64(3), "3")),
    ],
)
def test_feedback_is_a_text(given: Any, text: str) -> None:
    score = Score(0.0, 0.0, given)
    assert score.feedback == text and type(score.feedback) is str


@pytest.mark.parametrize("given", [b"x", ["x"], {"a": 1}, object(), Rude()])
def test_feedback_of_another_type_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="is no text"):
        Score(0.0, 0.0, given)


def test_a_huge_feedback_loses_its_middle() -> None:
    score = Score(0.0, 0.0, "a" * 10**6 + "b")
    assert len(score.feedback) < LONGEST_TEXT + 100
    assert score.feedback.endswith("ab")
    assert f"{10**6 + 1 - LONGEST_TEXT:,} characters left out" in score.feedback


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (None, ()),
        ("one", ("one",)),
        (7, ("7",)),
        (["a", 2, None], ("a", "2", "")),
        (numpy.int64(7), ("7",)),
        ([Decimal("1.50")], ("1.50",)),
        (numpy.array([1, 2]), ("1", "2")),
        (("a",), ("a",)),
        ((x for x in "ab"), ("a", "b")),
    ],
)
def test_expected_is_a_tuple_of_texts(given: Any, texts: tuple[str, ...]) -> None:
    assert Score(0.0, 0.0, expected=given).expected == texts


@pytest.mark.parametrize("given", [{"a": 1}, object(), [["a"]], [b"a"], b"a"])
def test_expected_of_another_type_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="expected"):
        Score(0.0, 0.0, expected=given)


def test_what_is_private_stays_so() -> None:
    odd: Any = "secret"
    assert Score(0.0, 0.0, private=odd).private == Private("secret")
    assert Score(0.0, 0.0, private=ODD).private == Private()


def test_an_attempt_is_converted_where_that_is_harmless() -> None:
    odd: Any = 42
    made = Attempt(odd, [Message("user", odd)], ODD, error="two\nlines", outcome={1: (2, 3)})  # type: ignore[arg-type, dict-item]
    found = made.checked()
    assert (found.answer, found.messages, found.usage) == ("42", (Message("user", "42"),), Usage())
    assert (found.error, found.outcome) == ("two lines", {"1": [2, 3]})
    assert found.checked() == found
    usage = Usage(numpy.int64(1), Decimal(3))  # type: ignore[arg-type]
    assert replace(found, usage=usage).checked().usage == Usage(1, 3)
    scored = Trajectory(TASK, found, Score(0.0, 0.0))
    assert load_rollout(dump_rollout(scored), TASK) == scored


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answer": ["a"]}, "an attempt's answer"),
        ({"answer": b"a"}, "an attempt's answer"),
        ({"messages": ["hello"]}, "a message `'hello'` of type str is no Message"),
        ({"messages": [Message(ODD, "x")]}, "a message's role None is none of system"),
        ({"messages": [Message("user", b"x")]}, "a message"),  # type: ignore[arg-type]
        ({"usage": {"calls": 1}}, "the usage"),
        ({"usage": Usage(1.5)}, "the usage's calls `1.5` of type float is no whole number"),  # type: ignore[arg-type]
        ({"usage": Usage("1")}, "the usage's calls"),  # type: ignore[arg-type]
        ({"ending": "done"}, "an attempt's ending 'done' is none of answered, gave_up, broken"),
        ({"ending": None}, "an attempt's ending None"),
        ({"outcome": {"a": object()}}, "an attempt's outcome holds what JSON cannot"),
        ({"outcome": {(1, 2): 1}}, "an attempt's outcome holds what JSON cannot"),
        ({"outcome": [1]}, "an attempt's outcome"),
        ({"skill_loaded": "yes"}, "an attempt's skill_loaded"),
        ({"trace": {}}, "an attempt's trace"),
    ],
)
def test_an_attempt_of_other_types_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError) as caught:
        replace(Attempt("a"), **change).checked()
    assert str(caught.value).startswith(said)


def test_a_reply_is_converted_or_refused() -> None:
    odd: Any = 7
    reply = ChatReply(odd, ODD, ODD).checked()
    assert (reply.text, reply.finish, reply.usage) == ("7", "", Usage())
    assert load_call(dump_call(reply)) == reply
    for change in ({"text": ["a"]}, {"usage": 3}, {"tool_calls": ["f"]}, {"finish": {}}):
        with pytest.raises(TypeError):
            replace(ChatReply("a"), **change).checked()  # type: ignore[arg-type]
    calls = (ToolCall("1", "f", "{}"),)
    assert ChatReply("", tool_calls=calls).checked().tool_calls == calls


@pytest.mark.parametrize(
    "attempt",
    [
        Attempt("a", usage=Usage("x")),  # type: ignore[arg-type]
        Attempt("a", messages=(Message(ODD, "x"),)),
        Attempt("a", outcome={"a": Decimal(1)}),
        Attempt(ODD),
    ],
)
def test_nothing_is_journaled_that_cannot_be_read_back(attempt: Attempt) -> None:
    with pytest.raises(ValueError, match="a rollout could not be read back: "):
        dump_rollout(Trajectory(TASK, attempt, Score(0.0, 0.0)))
    with pytest.raises(ValueError, match="a call could not be read back: "):
        dump_call(ChatReply(ODD))


def test_an_edit_of_texts_is_one() -> None:
    odd: Any = 3
    assert Edit("append", odd, tasks=["a"]).tasks == ("a",)  # type: ignore[arg-type]
    assert (Edit("append", odd).content, Edit("append", ODD).content) == ("3", "")
    for change in ({"content": ["x"]}, {"target": {}}, {"support": "many"}, {"tasks": {"a": 1}}):
        with pytest.raises(TypeError, match="an edit's "):
            Edit("append", **change)  # type: ignore[arg-type]


def test_a_task_has_a_text_as_its_id_and_a_record_of_json() -> None:
    odd: Any = 3
    assert Task(odd, ODD, {}) == Task("3", "", {})
    for values in ((["a"], "k", {}), ("a", {}, {}), ("a", "k", [1])):
        with pytest.raises(TypeError, match="a task's "):
            Task(*values)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the record of task `a` holds what JSON cannot"):
        _ = Task("a", "k", {"x": object()}).digest
