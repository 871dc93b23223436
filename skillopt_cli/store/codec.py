"""JSON for what a run remembers: one document per value, each with its schema number.

Strings are kept as they are, non-ASCII included. A document is one line that holds no line feed, so
a log is split at line feeds and nowhere else: U+2028 and the like may stand in a string.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import RunEvent, Stamped
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Attempt, ChatReply, Task

Root = Literal["state", "fact", "rollout", "call"]
Document = dict[str, Any]
Migration = Callable[[Root, Document], Document]

MIGRATIONS: tuple[Migration, ...] = ()
"""Migration i brings a document of any root from schema i + 1 to i + 2."""

SCHEMA = len(MIGRATIONS) + 1
"""The schema this program writes."""

LATEST = 2.5e11
"""Unix seconds of the latest time of a fact: late in the last millennium that calendars know."""

_UNSAID: tuple[tuple[str, object], ...] = (
    ("file", ""),
    ("folder", None),
    ("vetoed", ()),
    ("judge", ""),
    ("reached", ""),
)
"""What is left out of states and facts where there is none.

An edit's file, a skill's folder, a step's vetoed edits, a run's judge, the cap that ended it.
"""


@dataclass(frozen=True, slots=True)
class _State:
    state: TrainState


@dataclass(frozen=True, slots=True)
class _Fact:
    number: int
    time: Annotated[float, Field(ge=0, le=LATEST)]
    event: Annotated[RunEvent, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True)
class _Rollout:
    attempt: Attempt
    score: Score


@dataclass(frozen=True, slots=True)
class _Call:
    reply: ChatReply


_SHAPES: dict[Root, type] = {"state": _State, "fact": _Fact, "rollout": _Rollout, "call": _Call}


@cache
def _adapter(root: Root) -> TypeAdapter[Any]:
    """Built on first use: the union of all events takes longer to build than most commands run."""
    return TypeAdapter(_SHAPES[root])


def dump_state(state: TrainState) -> str:
    """A checkpoint as one line."""
    return _dump("state", _State(state))


def load_state(text: str | bytes) -> TrainState:
    """The checkpoint in `text`.

    Raises:
        ValueError: it is not a checkpoint.
        DataError: a newer version of the program wrote it.
    """
    state: TrainState = _load("state", text).state
    return state


def dump_fact(fact: Stamped) -> str:
    """A fact as one line, without the line end."""
    return _dump("fact", _Fact(fact.number, fact.time, fact.event))


def load_fact(line: str | bytes) -> Stamped:
    """The fact in `line`; raises as `load_state` does."""
    fact: _Fact = _load("fact", line)
    return Stamped(fact.number, fact.time, fact.event)


def dump_rollout(trajectory: Trajectory) -> str:
    """Attempt and score of a trajectory; the task is left to whoever reads it back.

    Raises:
        ValueError: the attempt is broken, which is never remembered.
    """
    if trajectory.score is None:
        raise ValueError(f"a broken attempt at task {trajectory.task.id!r} must not be remembered")
    return _dump("rollout", _Rollout(trajectory.attempt, trajectory.score))


def load_rollout(text: str | bytes, task: Task) -> Trajectory:
    """The trajectory of `task` whose attempt and score are in `text`; raises as `load_state`."""
    rollout: _Rollout = _load("rollout", text)
    return Trajectory(task, rollout.attempt, rollout.score)


def dump_call(reply: ChatReply) -> str:
    """A model's reply."""
    return _dump("call", _Call(reply))


def load_call(text: str | bytes) -> ChatReply:
    """The reply in `text`; raises as `load_state` does."""
    reply: ChatReply = _load("call", text).reply
    return reply


def migrate(
    root: Root, document: Document, migrations: Sequence[Migration] = MIGRATIONS
) -> Document:
    """Bring a document up to the newest schema, one migration after the other.

    Raises:
        ValueError: the document names no schema.
        DataError: its schema is newer than this program knows.
    """
    schema = document.get("schema")
    newest = len(migrations) + 1
    if not isinstance(schema, int) or schema < 1:
        raise ValueError(f"no schema number in a {root} document")
    if schema > newest:
        raise DataError(
            f"a {root} document has schema {schema}, this version reads up to {newest}",
            "upgrade skillopt, or use the version that wrote it",
        )
    for number in range(schema, newest):
        document = {**migrations[number - 1](root, document), "schema": number + 1}
    return document


def _dump(root: Root, value: object) -> str:
    document = {"schema": SCHEMA, **_adapter(root).dump_python(value)}
    if root in ("state", "fact"):
        document = _brief(document)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        # A model may answer half a surrogate pair, which UTF-8 cannot hold but a JSON escape can.
        text = json.dumps(document, separators=(",", ":"))
    return text


def _brief(value: Any) -> Any:
    """A document without what goes without saying."""
    if isinstance(value, dict):
        return {k: _brief(v) for k, v in value.items() if (k, v) not in _UNSAID}
    if isinstance(value, list | tuple):
        return [_brief(member) for member in value]
    return value


def _load(root: Root, text: str | bytes) -> Any:
    try:
        document = json.loads(text)
    except RecursionError:
        raise ValueError(f"a {root} document is nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError(f"a {root} document is not a JSON object")
    return _adapter(root).validate_python(migrate(root, document))
