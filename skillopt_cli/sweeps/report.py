"""The summary of a sweep, as a page and as one JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from skillopt_cli.config.declarations import declared
from skillopt_cli.config.layers import typed
from skillopt_cli.core.ledger import Spent
from skillopt_cli.core.statistics import CHANGED, detectable_gain
from skillopt_cli.reports.page import Block, Heading, Line, Rows
from skillopt_cli.reports.run.cost import money_cell
from skillopt_cli.runlog.summary import summarise
from skillopt_cli.runlog.text.format import (
    change,
    count,
    one_line,
    p_words,
    pair,
    plain_words,
    score,
)
from skillopt_cli.runlog.text.spend import spend_words
from skillopt_cli.store.layout import SUMMARY_SCHEMA
from skillopt_cli.sweeps.budget import SweepBudget
from skillopt_cli.sweeps.grid import Axis, SweepGrid
from skillopt_cli.sweeps.results import (
    Combination,
    SweepComparison,
    SweepResults,
    TestScores,
    TrialResult,
)

Document = dict[str, Any]


def sweep_page(grid: SweepGrid, found: SweepResults, budget: SweepBudget) -> Iterator[Block]:
    """The summary for people: combinations, their differences, and the spend."""
    results = list(found.results)
    finished = sum(result.finished for result in results)
    yield Heading(f"Sweep {grid.name}", 1, f"{finished} of {count(len(results), 'run')} finished")
    priced = any(result.view.spent.usd or result.view.spent.unpriced for result in results)
    selection, test = "selection", "test"
    if any(name != "hard" for name, _ in found.metrics):
        selection, test = f"selection ({found.metric})", "test (hard)"
    titles = ("", *(names(grid.axes)), "runs", selection, test, "95 %", "n", "against first")
    titles += ("USD",) if priced else ()
    placed = zip(found.places, found.combinations, strict=True)
    rows = [_cells(place, combination, priced) for place, combination in placed]
    yield Rows(titles, rows, [0])
    for text in _notes(grid, found):
        yield Line(text, free=True)
    for result in results:
        if result.message:
            yield Line(f"{result.trial.run_id}: {one_line(result.message)}", "red", free=True)
    for text in _spend(found, budget):
        yield Line(text, "dim", free=True)


def sweep_document(
    grid: SweepGrid, found: SweepResults, budget: SweepBudget, exit_code: int
) -> Document:
    """The summary for programs; the numbers of a run are those of its `summary.json`.

    `against_first` is None for the first combination and where a comparison is impossible; its
    `chance` is the p-value, corrected for the number of comparisons. The `gate_score`s of a
    combination are under the metric `ranked_by`, which is hard where the gates of the runs have
    different ones. `notes` are the sentences below the table of the summary for people.
    """
    placed = zip(found.places, found.combinations, strict=True)
    return {
        "schema": SUMMARY_SCHEMA,
        "name": grid.name,
        "exit_code": exit_code,
        "interrupted": found.outcome.interrupted,
        "finished": all(r.finished or r.status == "pruned" for r in found.results),
        "incomparable": found.incomparable or None,
        "ranked_by": found.metric,
        "combinations": [_document(place, combination) for place, combination in placed],
        "caps": {
            cap.name: {"limit": cap.limit, "spent": round(budget.spent(cap.name), 6)}
            for cap in budget.caps
        },
        "notes": [*_notes(grid, found), *_spend(found, budget)],
    }


def names(axes: Sequence[Axis]) -> list[str]:
    """Names of axes: the key without its sections, or the full key where two would be equal."""
    short = [axis.name for axis in axes]
    return [axis.key if short.count(axis.name) > 1 else axis.name for axis in axes]


def _cells(place: int | None, combination: Combination, priced: bool) -> tuple[str, ...]:
    tested, against = combination.tested, combination.against
    spent = sum((result.view.spent for result in combination.results), Spent())
    if combination.before is None and combination.best is None:
        selection = "-"
    else:
        selection = " -> ".join(pair(combination.before, combination.best))
    return (
        "-" if place is None else str(place),
        *(one_line(value) or "unset" for _, value in combination.settings),
        _status_cell(combination.results),
        selection,
        *(_test_cells(tested) if tested else ("-", "-", "-")),
        _verdict_cell(against) if against else "-",
        *((money_cell(spent),) if priced else ()),
    )


def _status_cell(results: Sequence[TrialResult]) -> str:
    """Number of finished runs, with the states of the others."""
    others = [plain_words(result.status) for result in results if not result.finished]
    if not others:
        return str(len(results))
    counted = ", ".join(
        f"{others.count(word)} {word}" if len(results) > 1 else word
        for word in dict.fromkeys(others)
    )
    done = len(results) - len(others)
    return f"{done} of {len(results)}: {counted}" if len(results) > 1 else counted


def _test_cells(tested: TestScores) -> tuple[str, str, str]:
    spread = ""
    if len(tested.by_seed) > 1:
        spread = f" ({score(min(tested.by_seed))}-{score(max(tested.by_seed))})"
    return (
        f"{score(tested.hard)}{spread}",
        f"{score(tested.low)} to {score(tested.high)}",
        str(tested.n),
    )


def _verdict_cell(against: SweepComparison) -> str:
    return (
        f"{change(against.difference)} {against.verdict}"
        f" (won {against.won}, lost {against.lost}, {p_words(against.chance)})"
    )


def _notes(grid: SweepGrid, found: SweepResults) -> Iterator[str]:
    if any(c.complete for c in found.combinations):
        ranked = "the selection score, which chose each best skill and so overestimates it"
        if len(found.metrics) > 1:
            ranked = (
                "the hard selection score, as the gates of the runs have different metrics; each"
                " best skill was chosen on these tasks, which overestimate it"
            )
        yield (
            f"Ranked by {ranked}; compared on the test tasks (exact sign-flip test over tasks,"
            " corrected for the number of comparisons)."
        )
    if found.incomparable:
        yield f"Not compared: {one_line(found.incomparable)}."
        return
    tested = [c for c in found.combinations if c.tested]
    if len(tested) < 2:
        if any(c.complete for c in found.combinations):
            yield "Nothing to compare: fewer than two combinations have test scores."
        return
    apart = [c for c in tested if c.against and c.against.verdict != "within noise"]
    if not apart:
        yield "All differences are within noise: on these tasks no combination is shown to be best."
    else:
        verb = "is" if len(apart) == 1 else "are"
        yield f"{count(len(apart), 'difference')} from the first {verb} more than noise."
    n = min(c.tested.n for c in tested if c.tested)
    gain = detectable_gain(n)
    if gain is None:
        yield f"{count(n, 'test task')} hardly show a gain of up to {CHANGED:.2f}."
    else:
        yield f"{n} test tasks show reliably a gain of {gain:.2f} or more, not less."
    if len(grid.seeds) < 2:
        yield (
            "Each combination was trained with one seed: this compares the skills that came out,"
            " not yet the settings. `seeds: [1, 2, 3]` would."
        )


def _spend(found: SweepResults, budget: SweepBudget) -> Iterator[str]:
    spent = sum((result.view.spent for result in found.results), Spent())
    if spent.calls:
        yield f"spent: {spend_words(spent)}"
    for cap in budget.caps:
        yield f"cap: {cap.name} {budget.spent(cap.name):.6g} of {cap.limit:.10g}"


def _document(place: int | None, combination: Combination) -> Document:
    tested, against = combination.tested, combination.against
    return {
        "place": place,
        "settings": {key: _value(key, text) for key, text in combination.settings},
        "baseline_gate_score": combination.before,
        "best_gate_score": combination.best,
        "test": None
        if tested is None
        else {
            "hard": tested.hard,
            "low": tested.low,
            "high": tested.high,
            "n": tested.n,
            "by_seed": list(tested.by_seed),
        },
        "against_first": None
        if against is None
        else {
            "difference": against.difference,
            "won": against.won,
            "lost": against.lost,
            "n": against.n,
            "chance": against.chance,
            "verdict": against.verdict.replace(" ", "_"),
        },
        "runs": [_run(result) for result in combination.results],
    }


def _value(key: str, text: str) -> Any:
    """A setting as its run has it: `off` is a word where the key has that word to choose."""
    found = declared(key)
    return text if found and text in found.words else typed(key, text)


def _run(result: TrialResult) -> Document:
    summary = summarise(result.view)
    shown = ("exit_code", "baseline_gate_score", "best_gate_score", "best_selection_n",
             "baseline_test_hard", "test_hard", "test_n", "test_scored", "usd_total",
             "usd_unknown_calls", "rollouts_made", "rollouts_recalled")  # fmt: skip
    return {
        "run_id": result.trial.run_id,
        "folder": str(result.trial.folder),
        "seed": result.trial.seed,
        "status": result.status,
        "message": result.message or None,
        **{key: summary[key] for key in shown},
    }
