"""The attempts at a task: links to all of them, and the page of one attempt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from skillopt_cli.benchmarks.kit.answers import tagged_or_all
from skillopt_cli.charts.task_grid import STATE_WORDS
from skillopt_cli.core.edits import Trial
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.formatting import safe_name
from skillopt_cli.reports.task_answers import Tried
from skillopt_cli.reports.task_texts import NO_TEXTS, TaskTexts
from skillopt_cli.runlog.attempt_folders import attempt_folder, trial_folders
from skillopt_cli.runlog.outcomes import Outcome
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.text.edit import edit_words
from skillopt_cli.runlog.text.format import shorten
from skillopt_cli.runlog.view import RunView
from skillopt_cli.safe_files import read_regular
from skillopt_cli.web.context import Page, WebContext, run_name
from skillopt_cli.web.listing import part_of
from skillopt_cli.web.pages.run_page import run_page
from skillopt_cli.web.pages.task_list import task_list
from skillopt_cli.web.paths import NotFound, RunName
from skillopt_cli.web.runs import RunSnapshot

_PLACE = re.compile(
    r"(?:steps/step_\d{4,}/(?:rollout|selection)"
    r"|steps/step_\d{4,}/(?:round_\d{1,4}/)?verify/(?:together|(?:alone|again)_\d{2,4})"
    r"|(?:selection|train|test)(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,79})?(?:/draw_\d{1,6})?"
    r"|slow_update/epoch_\d{2,}/(?:rollout_prev|rollout_curr|(?:best/)?selection))"
)
"""Folders of a run that contain attempts."""
_FOLDED = 90
"""Characters shown of what is folded."""
LONGEST = 100_000
"""Limit on the characters shown of one text."""
SHORT = 160
"""Characters shown of an answer among others."""
NEAR = 10
"""Attempts at the same task listed below one, before it and after it."""
NO_LIST: Mapping[str, str] = MappingProxyType({})
"""The parameters of a link that is from no list of tasks."""
_MOST_BYTES = 20_000_000
_MOST_BESIDE = 8
Place = tuple[RunName, str]
"""A run, and the folder of an attempt in it."""


@dataclass(frozen=True, slots=True)
class AttemptLink:
    """An attempt at a task and the file it is stored in.

    Attributes:
        what: the skill it was made with.
        place: its folder in the run folder.
    """

    what: str
    place: str
    outcome: Outcome

    @property
    def state(self) -> str:
        """Its result in a word."""
        return STATE_WORDS[self.outcome.state]

    def url(self, name: RunName, more: Mapping[str, str] = NO_LIST) -> str:
        """The page of the attempt; `more` as for `address`."""
        return address(name, self.outcome.task, self.place, more)


def address(name: RunName, task: str, place: str = "", more: Mapping[str, str] = NO_LIST) -> str:
    """The address of a task's page, or of one attempt at it.

    Args:
        more: parameters of the list of tasks that the page leads back to.
    """
    query = {"task": task, **more} | ({"in": place} if place else {})
    return f"{name.url}/attempts?{urlencode(query, errors='surrogatepass')}"


def page(context: WebContext, request: Request) -> Page:
    """One attempt, or the list of all attempts at a task."""
    name = run_name(request)
    snapshot = context.runs.snapshot(name)
    task, place = request.query_params.get("task", ""), request.query_params.get("in", "")
    attempts = list(attempts_at(snapshot.view, task, snapshot.texts))
    if not place:
        if not attempts and snapshot.whole:
            raise NotFound
        part = part_of(attempts, f"{name.url}/attempts", request.query_params)
        places = [(one.place, task) for one in part.rows]
        # Texts of other tasks of a stage may be known too.
        known = snapshot.texts.read(places)
        texts = {at[0]: known[at] for at in places if at in known}
        about = next((one for one in texts.values() if one.question), NO_TEXTS)
        answers = {at: shorten(tagged_or_all(one.answer), SHORT) for at, one in texts.items()}
        return run_page(
            snapshot, "task.html", "Tasks", f"task {task}", task=task, part=part,
            question=about.question, expected=about.expected, answers=answers,
            **_around(snapshot, request, task),
        )  # fmt: skip
    document = _read(context, name, place, task)
    here = next((i for i, one in enumerate(attempts) if one.place == place), 0)
    near = attempts[max(here - NEAR, 0) : here + NEAR + 1]
    others = [(one, one.place == place) for one in near]
    return run_page(
        snapshot, "attempt.html", "Tasks", f"task {task}", task=task, place=place,
        attempt=document, others=others, n=len(attempts),
        expected=snapshot.texts.read([(place, task)]).get((place, task), NO_TEXTS).expected,
        what=next((one.what for one in attempts if one.place == place), place),
        beside=_beside(context, request, (name, place), task),
        **_around(snapshot, request, task),
    )  # fmt: skip


def compared_address(task: str, here: tuple[RunName, str], others: Sequence[Place]) -> str:
    """The address of an attempt with links to those at the same task in other runs."""
    run, place = here
    query = [("run", other.key) for other, _ in others] + [("at", at) for _, at in others]
    return f"{address(run, task, place)}&{urlencode(query, errors='surrogatepass')}"


def _beside(
    context: WebContext, request: Request, here: Place, task: str
) -> list[tuple[RunName, str]]:
    """The runs that this attempt is compared with, and the addresses of their attempts.

    Raises:
        NotFound: there is no such attempt.
    """
    asked = request.query_params
    keys, places = asked.getlist("run")[:_MOST_BESIDE], asked.getlist("at")
    others = [(RunName.of_key(key), at) for key, at in zip(keys, places, strict=False)]
    for run, at in others:
        if not _PLACE.fullmatch(at):
            raise NotFound
        context.outputs.file(run, f"{at}/{safe_name(task)}.json")
    return [
        (one[0], compared_address(task, one, [here, *(o for o in others if o != one)]))
        for one in others
    ]


def _around(snapshot: RunSnapshot, request: Request, task: str) -> dict[str, Any]:
    """The way to all attempts at a task, to the tasks beside it and to the list it is in."""
    found = task_list(snapshot, request.query_params, task)
    more = found.listing.parameters
    before, after = (
        {"name": other, "url": address(snapshot.name, other, more=more)} if other else None
        for other in found.beside(task)
    )
    back = {"split": found.split, "url": found.listing.address}
    return {
        "more": more,
        "all": address(snapshot.name, task, more=more),
        "before": before,
        "after": after,
        "back": back,
    }


def attempts_at(view: RunView, task: str, texts: TaskTexts) -> Iterator[AttemptLink]:
    """All attempts at a task: those of stages in the order of the log, then the trials of edits."""
    for made in view.rounds:
        outcomes = made.outcomes.at(task)
        if not outcomes:
            continue
        what, place = attempt_folder(view, made)
        if len(outcomes) == 1:
            yield AttemptLink(what, place, outcomes[0])
            continue
        tried = Tried(task, place, outcomes)
        for number, one in enumerate(tried.answer(texts.read(tried.places)).attempts, 1):
            yield AttemptLink(f"{what}, attempt {number}", one.folder, one.outcome)
    for step in view.steps:
        for trial, folders in trial_folders(step):
            if task in trial.tried:
                yield from _tried_at(step, trial, folders, [task], texts)


def trials_of(step: StepView, texts: TaskTexts) -> Iterator[tuple[Trial, list[AttemptLink]]]:
    """The trials of a step's edits, with the attempts that the run folder holds."""
    for trial, folders in trial_folders(step):
        if found := list(_tried_at(step, trial, folders, trial.tried, texts)):
            yield trial, found


def _tried_at(
    step: StepView,
    trial: Trial,
    folders: Sequence[str],
    tasks: Sequence[str],
    texts: TaskTexts,
) -> Iterator[AttemptLink]:
    """The attempts at some tasks of a trial; those without numbers as scores are left out."""
    found = dict[str, AttemptLink]()
    what = f"step {step.number}, trial of: {edit_words(trial.edit)}"
    for folder in folders:
        left = [task for task in tasks if task not in found]
        # Later folders are read only for what the earlier ones lack: a step may have many.
        known = texts.read((folder, task) for task in left)
        for task in left:
            hard, soft = known.get((folder, task), NO_TEXTS).scores
            if isinstance(hard, float | int) and isinstance(soft, float | int):
                found[task] = AttemptLink(what, folder, Outcome(task, hard, soft))
    return (found[task] for task in tasks if task in found)


def _read(context: WebContext, name: RunName, place: str, task: str) -> dict[str, Any]:
    """Read the stored copy of an attempt and truncate long texts.

    Raises:
        NotFound: there is none.
        DataError: it is not a copy of an attempt.
    """
    if not _PLACE.fullmatch(place):
        raise NotFound
    path = context.outputs.file(name, f"{place}/{safe_name(task)}.json")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError("it is too large to be shown")
        document = json.loads(read_regular(path))
        replied = any(turn["role"] == "assistant" for turn in document["conversation"])
        return {
            "output": "" if replied else cut(_printed(context, name, f"{place}/{safe_name(task)}")),
            "turns": [_turn(turn) for turn in document["conversation"]],
            "answer": cut(document["answer"]),
            "kind": str(document["task_type"]),
            "private": _structure(_parsed(document.get("private", ""))),
            "outcome": _structure(document.get("outcome", {})),
            **{k: document[k] for k in ("ending", "error", "hard", "soft", "feedback", "usage")},
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"{place}/{path.name} cannot be shown: {error}", "restore it from a copy"
        ) from error


def _printed(context: WebContext, name: RunName, attempt: str) -> str:
    """What the program of an attempt printed; empty where that is not stored, or is too large."""
    try:
        trace = context.outputs.file(name, f"{attempt}.trace.jsonl")
        return read_regular(trace, _MOST_BYTES).decode(errors="replace")
    except (NotFound, OSError):
        return ""


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A turn of the conversation; a text that is folded comes with its beginning."""
    role, content = str(turn["role"]), cut(turn["content"])
    return {
        "role": role,
        "content": content,
        "folded": shorten(content, _FOLDED) if role in ("system", "tool") else "",
        "calls": [
            {
                "name": str(call["name"]),
                "short": shorten(json.dumps(call["arguments"], ensure_ascii=False), _FOLDED),
                "arguments": _structure(_parsed(call["arguments"])),
            }
            for call in turn.get("tool_calls", ())
        ],
        "failed": bool(turn.get("failed")),
    }


def _parsed(value: object) -> object:
    """A text that holds a JSON object or list as that; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _structure(value: object, depth: int = 4) -> object:
    """A value of JSON for a list of terms: mappings and lists, the rest as text.

    Deeper than `depth` it is JSON again.
    """
    if isinstance(value, Mapping) and value and depth:
        return {cut(key): _structure(each, depth - 1) for key, each in value.items()}
    if isinstance(value, list) and value and depth:
        return [_structure(each, depth - 1) for each in value]
    if isinstance(value, str):
        return cut(value)
    return "" if value in (None, {}, []) else cut(json.dumps(value, ensure_ascii=False))


def cut(text: object) -> str:
    """A text as it is shown: of one that is too long its beginning, and how much is left out."""
    content = str(text)
    if len(content) <= LONGEST:
        return content
    more = len(content) - LONGEST
    return f"{content[:LONGEST]}\n[{more:,} more characters are in the run folder]"
