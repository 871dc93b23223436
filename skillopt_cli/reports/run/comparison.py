"""Several runs side by side: their scores, and a comparison on the tasks they have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from skillopt_cli.core.events import TestMeasured
from skillopt_cli.reports.page import Block, Heading, Line, Rows
from skillopt_cli.reports.run.cost import is_priced, money_cell
from skillopt_cli.reports.run.figures import courses
from skillopt_cli.reports.run.paired import paired_blocks
from skillopt_cli.reports.run.subject import NO_DIFFERENCES, RunDifferences, Subject
from skillopt_cli.runlog.manifest_diff import Difference
from skillopt_cli.runlog.parts import EpochView, Standing, StepView
from skillopt_cli.runlog.summary import summarise
from skillopt_cli.runlog.text.action import action_words
from skillopt_cli.runlog.text.epoch import guidance_outcome
from skillopt_cli.runlog.text.format import (
    SEED,
    change,
    count,
    one_line,
    out_of,
    plain_words,
    result_name,
    score,
)
from skillopt_cli.runlog.text.header import skill_words
from skillopt_cli.runlog.text.verdict import run_sentence
from skillopt_cli.runlog.verdict import why_no_change
from skillopt_cli.runlog.view import RunView

_ABREAST = 4
"""Runs that get a column each; of more, each gets a row."""


def side_by_side(
    runs: Sequence[Subject],
    differences: RunDifferences = NO_DIFFERENCES,
    *,
    illustrated: bool = False,
) -> Iterator[Block]:
    """The report on several runs: scores, gate decisions by step, what they were set to."""
    yield Heading(count(len(runs), "run"), 1)
    # A column of nothing but zeros would only take room.
    priced = any(is_priced(run.view.spent) for run in runs)
    kind = test_kind(runs)
    metrics = {run.view.run.metric for run in runs if run.view.run}
    mark = "" if metrics <= {"hard"} else f" ({kind})"
    tests = (f"test seed{mark}", f"test best{mark}")
    money = ("USD",) if priced else ()
    named = bool(mark) and metrics != {"soft"}
    selection = ("baseline", "best", *(("metric",) if named else ()), "from", "n")
    titles = ("run", *selection, *tests, "n", "steps", "saved", *money, "status")
    words = ("run", "metric", "from", "status")
    numbers = [i for i, title in enumerate(titles) if title not in words]
    rows = [_row(run, kind, priced=priced, named=named) for run in runs]
    yield Rows(titles, rows, numbers)
    yield Line(
        "steps: accepted/rejected/skipped/indecisive; the best val score was selected on its tasks,"
        " so it overestimates: compare test scores",
        "dim",
        free=True,
    )
    if splits := " and ".join(differences.shared):
        other = f"The runs do not have the same {splits} tasks: a score is of its run's tasks."
        yield Line(other, "yellow", free=True)
    # Runs with the same test tasks have the same looks.
    if "test" not in differences.shared and (ledger := runs[0].ledger) and ledger.sentence:
        yield Line(ledger.sentence, "dim", free=True)
    for label, run in zip(_labels(runs), runs, strict=True):
        if run.view.run and (skill := skill_words(run.view.run)):
            yield Line(f"{label}: skill {skill}", free=True)
    yield from _verdicts(runs)
    yield from paired_blocks(runs, kind, differences)
    if illustrated:
        yield from courses(runs)
    if any(run.view.steps for run in runs):
        yield Heading("Steps")
        yield _accepted(runs) if len(runs) > _ABREAST else _steps(runs)
    yield Heading("What differs")
    if differences.settings:
        yield _differing(runs, differences.settings)
    else:
        yield Line("nothing that can alter a text or a score")
    yield from _reasons(runs)


def _verdicts(runs: Sequence[Subject]) -> Iterator[Line]:
    """The verdict of each run that has one, in its sentence."""
    for label, run in zip(_labels(runs), runs, strict=True):
        if run.view.verdict is not None:
            words = run_sentence(run.view.verdict, run.view.majority)
            yield Line(f"{label}: {words}", free=True)


def test_kind(runs: Sequence[Subject]) -> Literal["hard", "soft"]:
    """The score that tests are compared by: the soft one where every run's gate compared that."""
    metrics = {run.view.run.metric for run in runs if run.view.run}
    return "soft" if metrics == {"soft"} else "hard"


def _labels(runs: Sequence[Subject]) -> list[str]:
    return [one_line(run.label) for run in runs]


def _steps(runs: Sequence[Subject]) -> Rows:
    """What became of each step of each run, and of the guidance where it closes an epoch."""
    columns = zip_longest(*map(_cells, runs), fillvalue="-")
    rows = [(str(i), *cells) for i, cells in enumerate(columns, 1)]
    return Rows(("step", *_labels(runs)), rows)


def _cells(run: Subject) -> Iterator[str]:
    ends = _ends(run.view.epochs)
    for step in run.view.steps:
        yield "; ".join(filter(None, (_cell(step), ends.get(step.number))))


def _ends(epochs: Iterable[EpochView]) -> dict[int, str]:
    """What became of the guidance of each epoch that made any, by the step that the epoch closes.

    `end of epoch 2: guidance accepted, new best 0.50`.
    """
    return {
        epoch.step: f"end of epoch {epoch.number}: {outcome}"
        for epoch in epochs
        if epoch.slow and (outcome := guidance_outcome(epoch.slow))
    }


def _accepted(runs: Sequence[Subject]) -> Rows:
    """The steps of each run that changed its skill, and the ends of epochs that did."""
    rows = [
        (label, "; ".join(_changes(run)) or "-")
        for label, run in zip(_labels(runs), runs, strict=True)
    ]
    return Rows(("run", "accepted in step"), rows)


def _changes(run: Subject) -> Iterator[str]:
    ends = _ends(epoch for epoch in run.view.epochs if epoch.changed)
    for step in run.view.steps:
        if _changed(step):
            yield f"{step.number}: {_cell(step)}"
        if step.number in ends:
            yield ends[step.number]


def _changed(step: StepView) -> bool:
    return "accept" in (step.action or "")


def _differing(runs: Sequence[Subject], differences: Sequence[Difference]) -> Rows:
    """Settings with the value each run has."""
    labels = _labels(runs)
    columns = [(one_line(d.key), *_shown(d, labels)) for d in differences]
    if len(runs) <= _ABREAST:
        return Rows(("setting", *labels), columns)
    titles, *values = zip(*columns, strict=True)
    rows = [(label, *row) for label, row in zip(labels, values, strict=True)]
    return Rows(("run", *titles), rows)


def _row(
    run: Subject, kind: Literal["hard", "soft"], *, priced: bool, named: bool
) -> tuple[str, ...]:
    """A run's row; `named` where the score of the gate is named."""
    summary = summarise(run.view, expect=False)
    counts = (summary[f"total_{name}"] for name in ("accepts", "rejects", "skips", "indecisive"))
    gain = summary[f"test_delta_{kind}"]
    tested = f" ({change(gain)})" if gain is not None else ""
    n, scored = summary["test_n"], summary["test_scored"]
    test = score(summary[f"test_{kind}"]) + tested if n else "-"
    selection = run.view.baseline.value if run.view.baseline else None, run.view.standing.best
    if run.view.tests and not run.view.total_steps:
        selection = _pruned_from_to(run.view)
        # Scores of other tasks than the test ones have no column here.
        first = next((t for t in run.view.tests.values() if t.split == "test"), None)
        n, scored = (first.n, first.scored) if first else (0, 0)
        test = _tested_alone(first, kind) if first else "-"
    return (
        one_line(run.label),
        *map(_known, selection),
        *((run.view.run.metric if run.view.run else "-",) if named else ()),
        _origin(run.view.standing),
        _reach(summary["best_selection_scored"], summary["best_selection_n"]),
        score(summary[f"baseline_test_{kind}"]) if summary["baseline_test_n"] else "-",
        test,
        _reach(scored, n),
        "/".join(str(number) for number in counts) if run.view.total_steps else "-",
        f"{run.view.rollouts_saved:,}",
        *((money_cell(run.view.spent),) if priced else ()),
        plain_words(str(summary["status"])),
    )


def _tested_alone(test: TestMeasured, kind: Literal["hard", "soft"]) -> str:
    """The test score of an evaluation, of the first of its skills where it has several."""
    name = result_name(test.label)
    return score(getattr(test, kind)) + ("" if name == "test" else f" ({name})")


def _pruned_from_to(view: RunView) -> tuple[float | None, float | None]:
    """The selection scores of a skill before and after its pruning; None in an evaluation."""
    return (view.pruned.before, view.pruned.after) if view.pruned else (None, None)


def _known(value: float | None) -> str:
    return "-" if value is None else score(value)


def _origin(standing: Standing) -> str:
    """Where the best skill comes from: `seed`, `step 3`, `end of epoch 2`."""
    if standing.best is None:
        return "-"
    origin = standing.best_origin
    return "seed" if origin == SEED else origin.removeprefix("the ")


def _reach(scored: int, n: int) -> str:
    return out_of(scored, n).removeprefix("n=") if n else "-"


def _cell(step: StepView) -> str:
    decision = step.gate.decision if step.gate else None
    if decision is None or decision.candidate is None:
        return action_words(step.action)
    bound = "at most " if decision.early else ""
    return f"{action_words(step.action)} {bound}{score(decision.candidate)}"


def _shown(difference: Difference, labels: Sequence[str]) -> Iterator[str]:
    """The value of each run; of digests, the first run that has the same one."""
    if not difference.digests:
        yield from map(_value, difference.values)
        return
    first: dict[object, str] = {}
    for label, digest in zip(labels, difference.values, strict=True):
        same = first.setdefault(digest, label)
        yield "-" if digest is None else "its own" if same == label else f"that of {same}"


def _value(value: object) -> str:
    return (
        "-" if value is None else one_line(value if isinstance(value, str) else json.dumps(value))
    )


def _reasons(runs: Sequence[Subject]) -> Iterator[Block]:
    found = [(run.label, why_no_change(run.view)) for run in runs]
    if any(reasons for _, reasons in found):
        yield Heading("Why nothing changed")
        for label, reasons in found:
            if reasons:
                yield Line(f"{one_line(label)}: {reasons['sentence']}", "yellow")
