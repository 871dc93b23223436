"""Values for the store's tests: strategies built from the dataclasses, and a few fixed examples."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from skillopt_cli.core.events import CallMade, RunEvent, Stamped
from skillopt_cli.core.score import Mark, Measured, Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Attempt, ChatReply, Message, Task, Usage

AWKWARD = 'größer\u2028naïve\u0085 漢字 🦉 \r\n\t"\\\x00\x1c\x7f \ud800'

TEXT = st.one_of(st.text(st.characters(), max_size=12), st.just(AWKWARD))
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**63), 2**63),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    type(None): st.none(),
    Any: st.one_of(TEXT, st.booleans(), st.integers(-9, 9), st.lists(TEXT, max_size=2)),
    Score: st.builds(
        Score, st.floats(0, 1), st.floats(0, 1), TEXT, st.lists(TEXT, max_size=2).map(tuple)
    ),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value the annotation `kind` allows."""
    if kind in SCALARS:
        return SCALARS[kind]
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, types.UnionType):
        return st.one_of([values(arg) for arg in args])
    if origin is tuple and args[-1] is ...:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, args))
    if origin is Mapping:
        return st.dictionaries(values(args[0]), values(args[1]), max_size=3)
    assert isinstance(kind, type), kind
    hints = get_type_hints(kind)
    return st.builds(kind, **{f.name: values(hints[f.name]) for f in dataclasses.fields(kind)})


EVENTS = get_args(RunEvent)
TASK = Task("t/1", "year", {"q": "when?"})
REPLY = ChatReply(AWKWARD, Usage(1, 20, None), "length")


def scored(answer: str = AWKWARD, hard: float = 0.25) -> Trajectory:
    attempt = Attempt(answer, (Message("user", "q"), Message("assistant", answer)), Usage(1, 7, 3))
    return Trajectory(TASK, attempt, Score(hard, 0.5, AWKWARD, ("1912", "in 1912")))


def broken() -> Trajectory:
    return Trajectory(TASK, Attempt("", ending="broken", error="timeout"), None)


def state(done: int = 0, text: str = "# Skill\n") -> TrainState:
    measured = Measured(SkillDocument(text), {"a": Mark(1.0, 1.0), "b": Mark(None, None)})
    return TrainState(current=measured, best=measured, done=done, memory=AWKWARD)


def fact(number: int, stage: str = "reflect") -> Stamped:
    return Stamped(number, 100.0 + number, CallMade("optimizer", stage, Usage(1, 5, None)))
