"""What tasks came to: where each attempt is kept, and an attempt in full."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.names import safe_name
from skillopt_cli.ui.pictures.grid import STATE_WORDS
from skillopt_cli.ui.rounds import Outcome, Round
from skillopt_cli.ui.view import RunView
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.places import Missing, Named
from skillopt_cli.web.site import Page, Site, named

_PLACE = re.compile(
    r"(?:steps/step_\d{4,}/(?:rollout|selection)|selection|train|test(?:/\w{1,20})?"
    r"|slow_update/epoch_\d{2,}/(?:rollout_prev|rollout_curr|(?:best/)?selection))"
)
"""Folders of a run that hold attempts."""
LONGEST = 100_000
"""Characters shown of one text."""
_MOST_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt at a task, and where to read it.

    Attributes:
        what: the text it was made with.
        place: the folder in the run that holds it.
    """

    what: str
    place: str
    outcome: Outcome

    @property
    def state(self) -> str:
        """What it came to, in a word."""
        return STATE_WORDS[self.outcome.state]

    def url(self, name: Named) -> str:
        """Its page."""
        return address(name, self.outcome.task, self.place)


def address(name: Named, task: str, place: str = "") -> str:
    """The page of a task of a run, or of an attempt at it."""
    query = {"task": task} | ({"in": place} if place else {})
    return f"{name.url}/attempts?{urlencode(query, errors='surrogatepass')}"


def page(site: Site, request: Request) -> Page:
    """An attempt, or all attempts at a task."""
    name = named(request)
    seen = site.runs.seen(name)
    task, place = request.query_params.get("task", ""), request.query_params.get("in", "")
    tried = list(attempts_at(seen.view, task))
    if not place:
        if not tried and seen.whole:
            raise Missing
        return framed(seen, "task.html", "Tasks", f"task {task}", task=task, tried=tried)
    document = _read(site, name, place, task)
    others = [(one, one.place == place) for one in tried]
    return framed(
        seen, "attempt.html", "Tasks", f"task {task}", task=task, place=place,
        attempt=document, others=others,
        what=next((one.what for one in tried if one.place == place), place),
    )  # fmt: skip


def attempts_at(view: RunView, task: str) -> Iterator[Tried]:
    """All attempts at a task that a run's facts tell of, in their order."""
    for made in view.rounds:
        for outcome in made.outcomes:
            if outcome.task == task:
                what, place = where(view, made)
                yield Tried(what, place, outcome)


def where(view: RunView, made: Round) -> tuple[str, str]:
    """With which text the attempts of a stage were made, and the folder that holds them."""
    step = f"steps/step_{made.step:04d}"
    if made.stage == "rollout":
        return f"step {made.step}, training", f"{step}/rollout"
    if made.stage == "test":
        return f"test of the {made.label} skill".replace("_", " "), f"test/{made.label}"
    if made.closing:
        return _closing(view, made)
    if made.step:
        return f"candidate of step {made.step}", f"{step}/selection"
    return "seed skill" if view.total_steps else "the skill", "selection"


def _closing(view: RunView, made: Round) -> tuple[str, str]:
    epoch = next((e.number for e in view.epochs if e.step == made.step), 0)
    if not epoch:
        plan = next((s.plan for s in view.steps if s.number == made.step), None)
        epoch = plan.epoch if plan else 0
    same = [r for r in view.rounds if r.closing and r.key == made.key]
    folder = f"slow_update/epoch_{epoch:02d}"
    if made is same[0]:
        return f"guidance of epoch {epoch}", f"{folder}/selection"
    return f"best skill with the guidance of epoch {epoch}", f"{folder}/best/selection"


def _read(site: Site, name: Named, place: str, task: str) -> dict[str, Any]:
    """The kept copy of an attempt, with long texts cut.

    Raises:
        Missing: there is none.
        DataError: it is not a copy of an attempt.
    """
    if not _PLACE.fullmatch(place):
        raise Missing
    path = site.outputs.file(name, f"{place}/{safe_name(task)}.json")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError("it is too large to be shown")
        document = json.loads(path.read_bytes())
        return {
            "turns": [
                {
                    "role": str(turn["role"]),
                    "content": _cut(turn["content"]),
                    "calls": [
                        (str(call["name"]), _cut(json.dumps(call["arguments"], ensure_ascii=False)))
                        for call in turn.get("tool_calls", ())
                    ],
                    "failed": bool(turn.get("failed")),
                }
                for turn in document["conversation"]
            ],
            "answer": _cut(document["answer"]),
            "kind": str(document["task_type"]),
            "private": _cut(document.get("private", "")),
            "outcome": _cut(json.dumps(document.get("outcome", {}), ensure_ascii=False, indent=2)),
            **{k: document[k] for k in ("ending", "error", "hard", "soft", "feedback", "usage")},
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"{place}/{path.name} cannot be shown: {error}", "restore it from a copy"
        ) from error


def _cut(text: object) -> str:
    said = str(text)
    if len(said) <= LONGEST:
        return said
    return f"{said[:LONGEST]}\n[{len(said) - LONGEST:,} more characters are in the run folder]"
