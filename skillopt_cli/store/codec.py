"""JSON of checkpoints, facts, rollouts and calls: one document per value, with a schema number.

Strings stay as they are, non-ASCII included. A document is one line without a line feed, so a log
is split at line feeds and nowhere else: a string may contain U+2028 and the like.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

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

UPGRADE = "upgrade skillopt, or use the version that wrote it"
"""What helps against a document of a newer version."""

LATEST = 2.5e11
"""Latest Unix time of a fact: close to the last year that `datetime` knows."""

_DEFAULTS: Mapping[str, object] = {
    "file": "",
    "folder": None,
    "vetoed": (),
    "tasks": (),
    "trial": None,
    "refuted": (),
    "draws": 1,
    "solved": (),
    "judge": "",
    "reached": "",
    "pruned": False,
    "read_only": 0,
    "replay": "",
    "ties_best": False,
    "majority": None,
}
"""Fields that states and facts omit at these values.

An edit's file and tasks, a skill's folder, a step's vetoed edits, what became of edits and tasks
that were tried, a run's judge, the cap that ended it, whether its best text was pruned,
how many files beside its SKILL.md are read-only, the recording it replays, whether a candidate
replaced an equal best text, what the commonest
answer scores.
"""

_NESTED = (dict, list, tuple)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class _StateDocument:
    state: TrainState


@dataclass(frozen=True, slots=True)
class _FactDocument:
    number: int
    time: Annotated[float, Field(ge=0, le=LATEST)]
    event: Annotated[RunEvent, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True)
class _RolloutDocument:
    attempt: Attempt
    score: Score | None


@dataclass(frozen=True, slots=True)
class _CallDocument:
    reply: ChatReply


_SHAPES: dict[Root, type] = {
    "state": _StateDocument,
    "fact": _FactDocument,
    "rollout": _RolloutDocument,
    "call": _CallDocument,
}


@cache
def _adapter(root: Root) -> TypeAdapter[Any]:
    """Built on first use: the union of all events takes longer to build than most commands run."""
    return TypeAdapter(_SHAPES[root])


def dump_state(state: TrainState) -> str:
    """A checkpoint as one line."""
    return _dump("state", _StateDocument(state))


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
    return _dump("fact", _FactDocument(fact.number, fact.time, fact.event))


def load_fact(line: str | bytes) -> Stamped:
    """The fact in `line`; raises as `load_state` does."""
    fact: _FactDocument = _load("fact", line)
    return Stamped(fact.number, fact.time, fact.event)


def dump_rollout(trajectory: Trajectory) -> str:
    """Encode attempt and score of a trajectory, if it has one; the reader supplies the task.

    Raises:
        ValueError: the attempt is broken, or could not be read back; such are never stored.
    """
    if trajectory.broken:
        raise ValueError(f"a broken attempt at task {trajectory.task.id!r} must not be remembered")
    return _readable("rollout", _RolloutDocument(trajectory.attempt, trajectory.score))


def unknown_kind(error: ValueError) -> str:
    """The kind of event that kept a fact from being read; empty for another reason."""
    if not isinstance(error, ValidationError):
        return ""
    kinds = (e["ctx"]["tag"] for e in error.errors() if e["type"] == "union_tag_invalid")
    return str(next(kinds, ""))


def load_rollout(text: str | bytes, task: Task) -> Trajectory:
    """The trajectory of `task` whose attempt and score are in `text`; raises as `load_state`."""
    rollout: _RolloutDocument = _load("rollout", text)
    return Trajectory(task, rollout.attempt, rollout.score, unscored=rollout.score is None)


def dump_call(reply: ChatReply) -> str:
    """A model's reply; ValueError for one that could not be read back."""
    return _readable("call", _CallDocument(reply))


def load_call(text: str | bytes) -> ChatReply:
    """The reply in `text`; raises as `load_state` does."""
    reply: ChatReply = _load("call", text).reply
    return reply


def check(root: Root, text: str | bytes) -> None:
    """Raise as `load_state` does, unless `text` is a document of that kind."""
    _load(root, text)


def migrate(
    root: Root, document: Document, migrations: Sequence[Migration] = MIGRATIONS
) -> Document:
    """Migrate a document to the newest schema, one version at a time.

    Raises:
        ValueError: the document has no schema number.
        DataError: its schema is newer than the ones this program reads.
    """
    schema = document.get("schema")
    newest = len(migrations) + 1
    if not isinstance(schema, int) or schema < 1:
        raise ValueError(f"no schema number in a {root} document")
    if schema > newest:
        raise DataError(
            f"a {root} document has schema {schema}, this version reads up to {newest}", UPGRADE
        )
    for number in range(schema, newest):
        document = {**migrations[number - 1](root, document), "schema": number + 1}
    return document


def _readable(root: Root, value: object) -> str:
    """A document that is known to be read again."""
    try:
        # Values of another type are left to the reading, which refuses them.
        document = _dump(root, value, warnings=False)
        _load(root, document)
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise ValueError(f"a {root} could not be read back: {why}") from error
    return document


def _dump(root: Root, value: object, *, warnings: bool = True) -> str:
    document = {"schema": SCHEMA, **_adapter(root).dump_python(value, warnings=warnings)}
    if root in ("state", "fact"):
        document = _without_defaults(document)
    return json_text(document)


def json_text(document: Mapping[str, Any]) -> str:
    """A document as JSON in one line, which UTF-8 can hold."""
    text = _ENCODER.encode(document)
    try:
        text.encode()
    except UnicodeEncodeError:
        # A model may answer half a surrogate pair, which UTF-8 cannot hold but a JSON escape can.
        text = json.dumps(document, separators=(",", ":"))
    return text


def _without_defaults(value: Any) -> Any:
    """The document without the fields of `_DEFAULTS`."""
    if isinstance(value, dict):
        return {
            name: _without_defaults(member) if isinstance(member, _NESTED) else member
            for name, member in value.items()
            if name not in _DEFAULTS or member != _DEFAULTS[name]
        }
    if isinstance(value, list | tuple):
        return [_without_defaults(member) for member in value]
    return value


def _load(root: Root, text: str | bytes) -> Any:
    try:
        document = json.loads(text)
    except RecursionError:
        raise ValueError(f"a {root} document is nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError(f"a {root} document is not a JSON object")
    return _adapter(root).validate_python(migrate(root, document))
