"""The score curve: the skill in force and the best one, and every candidate's score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

from skillopt_cli.charts.svg import drawing, number, sample, tag
from skillopt_cli.core.events import SlowUpdateDecided
from skillopt_cli.core.formatting import count
from skillopt_cli.runlog.text.action import action_words
from skillopt_cli.runlog.text.format import score
from skillopt_cli.runlog.text.unfinished import unrecorded_words
from skillopt_cli.runlog.view import RunView

MarkKind = Literal["taken", "refused", "bound", "open", "guided"]

MARK_WORDS: dict[MarkKind, str] = {
    "taken": "candidate accepted",
    "refused": "candidate rejected",
    "bound": "rejected early: its score is at most this",
    "open": "candidate not decided on",
    "guided": "text with an epoch's guidance",
}
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 10, 14, 30
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_LETTER = 6.5


@dataclass(frozen=True, slots=True)
class Scored:
    """A mark of the curve: what was measured at a step, in [0, 1] under the gate metric."""

    step: int
    value: float
    kind: MarkKind
    words: str


@dataclass(frozen=True, slots=True)
class _Field:
    """Where a step and a score are on the paper."""

    width: float
    height: float
    steps: int
    low: float
    high: float

    def x(self, step: float) -> float:
        return _LEFT + (self.width - _LEFT - _RIGHT) * step / max(1, self.steps)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.height - _BOTTOM - (self.height - _TOP - _BOTTOM) * share


def score_curve(view: RunView, *, width: float = 720, height: float = 240) -> Markup:
    """The picture, for a place of this many pixels; letters have the same size at any width.

    Points of the skill in force, and marks of candidates, carry `data-step` and `data-score`, the
    score with the 6 decimals of `history.json`.
    """
    known, marks = course(view), scored(view)
    values = [v for _, *pair in known for v in pair if v is not None] + [m.value for m in marks]
    last = max([view.total_steps, *(step for step, _, _ in known), *(m.step for m in marks)])
    low, high, tick = _reach(values)
    field = _Field(width, height, last, low, high)
    return drawing(
        curve_words(view),
        (width, height),
        "curve",
        *_axes(field, tick),
        *_epochs(view, field),
        tag("path", class_="best", d=_line(field, [(s, best) for s, _, best in known])),
        tag("path", class_="current", d=_line(field, [(s, now) for s, now, _ in known])),
        *(_now(field, step, now) for step, now, _ in known if now is not None),
        *(_mark(field, mark) for mark in marks),
    )


def curve_words(view: RunView) -> str:
    """What the curve shows, in a sentence."""
    base = view.baseline.value if view.baseline else None
    standing = view.standing
    at = f" at {standing.best_origin}" if standing.best_step else ""
    lost = [
        f", step {step.number} {words.partition(';')[0]}"
        for step in view.steps
        if (words := unrecorded_words(view, step))
    ]
    return (
        f"Score curve over {count(view.done, 'step')}{''.join(lost)}: seed {score(base)},"
        f" best {score(standing.best)}{at}, in force {score(standing.current)}"
    )


def curve_legend(view: RunView) -> list[tuple[Markup, str]]:
    """A sample of each line and mark that occurs, and what it means."""
    lines = [("current", "skill in force"), ("best", "best skill")] if view.baseline else []
    kinds = {mark.kind for mark in scored(view)}
    found = [(tag("path", class_=name, d="M0 6h12"), words) for name, words in lines]
    found += [
        (tag("path", class_=f"mark {kind}", d=_form(kind, 6, 6)), words)
        for kind, words in MARK_WORDS.items()
        if kind in kinds
    ]
    return [(sample(shape, words), words) for shape, words in found]


def scored(view: RunView) -> list[Scored]:
    """What was measured at each step: its candidate, and the text with guidance after it."""
    found = []
    for step in view.steps:
        decision = step.gate.decision if step.gate else None
        if decision is not None and decision.candidate is not None:
            kind = _kind(decision.accepted, decision.verdict == "reject", decision.early)
            bound = "at most " if decision.early else ""
            words = f"step {step.number}: candidate {bound}{score(decision.candidate)}"
            words = f"{words}, {action_words(step.action)}"
            found.append(Scored(step.number, decision.candidate, kind, words))
    for epoch in view.epochs:
        value = _guided(view, epoch.slow) if epoch.slow else None
        if epoch.slow is not None and value is not None:
            words = f"end of epoch {epoch.number}: text with guidance {score(value)}"
            words = f"{words}, {action_words(epoch.slow.outcome)}"
            found.append(Scored(epoch.step, value, "guided", words))
    return found


def _kind(accepted: bool, rejected: bool, early: bool) -> MarkKind:
    if accepted:
        return "taken"
    if not rejected:
        return "open"
    return "bound" if early else "refused"


def _guided(view: RunView, slow: SlowUpdateDecided) -> float | None:
    """The score of a text with guidance under the gate metric, None where that was not said."""
    if slow.action == "inject_placeholder":
        return None
    if slow.decision is not None:
        return slow.decision.candidate
    metric = view.run.metric if view.run else "hard"
    return {"hard": slow.hard, "soft": slow.soft}.get(metric)


def course(view: RunView) -> list[tuple[int, float | None, float | None]]:
    """Step, score in force after it, best score after it; the seed is step 0."""
    if view.baseline is None:
        return []
    seed = view.baseline.value
    standings = [(s.number, s.standing) for s in view.steps if s.standing is not None]
    return [(0, seed, seed), *((n, known.current, known.best) for n, known in standings)]


def _reach(values: Sequence[float]) -> tuple[float, float, float]:
    """The lowest and highest score on the paper, and the distance of the lines between them."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    tick = next((t for t in _STEPS if high - low <= 5 * t), _STEPS[-1])
    bottom = max(0.0, math.floor(low / tick + 1e-9) * tick)
    top = min(1.0, math.ceil(high / tick - 1e-9) * tick)
    if top - bottom < tick / 2:
        # A level line alone shows no small part of the range as if it were all.
        return 0.0, 1.0, 0.25
    return bottom, top, tick


def _axes(field: _Field, tick: float) -> Iterator[Markup]:
    for i in range(round((field.high - field.low) / tick) + 1):
        value = min(field.high, field.low + i * tick)
        across = f"M{_LEFT} {number(field.y(value))}H{number(field.width - _RIGHT)}"
        yield tag("path", class_="grid", d=across)
        yield tag("text", score(value), class_="score", x=_LEFT - 6, y=field.y(value) + 4)
    widest = len(str(field.steps)) * _LETTER + 8
    room = max(1, int((field.width - _LEFT - _RIGHT) / widest))
    every = next(e for e in _strides() if field.steps / e <= room)
    for step in range(0, field.steps + 1, every):
        y = field.height - _BOTTOM + 14
        yield tag("text", str(step), class_="step", x=field.x(step), y=y)
    middle = (_LEFT + field.width - _RIGHT) / 2
    yield tag("text", "step", class_="step", x=middle, y=field.height - 3)


def _strides() -> Iterator[int]:
    """1, 2, 5, 10, 20, 50, ..."""
    size = 1
    while True:
        yield from (size, 2 * size, 5 * size)
        size *= 10


def _epochs(view: RunView, field: _Field) -> Iterator[Markup]:
    """Where epochs end: after their last step."""
    plans = [step.plan for step in view.steps if step.plan is not None]
    for before, after in pairwise(plans):
        if after.epoch != before.epoch:
            x = number(field.x(before.step + 0.5))
            path = f"M{x} {_TOP}V{number(field.height - _BOTTOM)}"
            words = f"epoch {after.epoch} begins"
            yield tag("g", tag("title", words), tag("path", class_="epoch", d=path))
            yield tag("text", f"e{after.epoch}", class_="epoch", x=float(x) + 3, y=_TOP - 4)


def _line(field: _Field, points: Sequence[tuple[int, float | None]]) -> str:
    """Level to halfway to the next step, so that the last level has a width too.

    Broken where a score is unknown.
    """
    path: list[str] = []
    before: tuple[int, float | None] = (0, None)
    for step, value in points:
        last, level = before
        x, middle = number(field.x(step)), number(field.x((last + step) / 2))
        if level is not None:
            path.append(f"H{middle}")
        if value is not None:
            y = number(field.y(value))
            path.append(f"V{y}H{x}" if level is not None else f"M{x} {y}")
        before = step, value
    return "".join(path)


def _now(field: _Field, step: int, value: float) -> Markup:
    words = f"{'after step ' + str(step) if step else 'seed'}: in force {score(value)}"
    return tag(
        "circle",
        tag("title", words),
        class_="now",
        cx=field.x(step),
        cy=field.y(value),
        r=2,
        data_step=step,
        data_score=str(round(value, 6)),
    )


def _mark(field: _Field, mark: Scored) -> Markup:
    return tag(
        "path",
        tag("title", mark.words),
        class_=f"mark {mark.kind}",
        d=_form(mark.kind, field.x(mark.step), field.y(mark.value)),
        data_step=mark.step,
        data_score=str(round(mark.value, 6)),
    )


def _form(kind: MarkKind, x: float, y: float) -> str:
    """A disc, a cross, a wedge that points down, a ring, a diamond: distinct without colour."""
    if kind in ("taken", "open"):
        return f"M{number(x - 4)} {number(y)}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"
    left, top = number(x - 4), number(y - 4)
    if kind == "refused":
        return f"M{left} {top}l8 8m0 -8l-8 8"
    if kind == "bound":
        return f"M{left} {top}h8l-4 7z"
    return f"M{number(x)} {number(y - 5)}l5 5l-5 5l-5 -5z"
