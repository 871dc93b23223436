"""The report on one run, step by step; an evaluation in short."""

from __future__ import annotations

from collections.abc import Iterator

from skillopt_cli.core.edit_counts import outcomes_words
from skillopt_cli.core.events import RunFailed, TestMeasured
from skillopt_cli.reports.confusions import confusion_blocks, confusions_of
from skillopt_cli.reports.evaluation import evaluation_blocks, pruned_blocks
from skillopt_cli.reports.page import Block, Heading, Line, Number, Rows
from skillopt_cli.reports.run.chance import chance_blocks
from skillopt_cli.reports.run.cost import cost_blocks
from skillopt_cli.reports.run.early_rejection import savings_blocks
from skillopt_cli.reports.run.figures import edits_in_full, overview
from skillopt_cli.reports.run.steps import epoch_blocks, step_blocks
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.reports.split_ledger import ledger_blocks
from skillopt_cli.runlog.result_hints import result_hints
from skillopt_cli.runlog.summary import delta
from skillopt_cli.runlog.text.ending import ordered_tests, spend_lines, status_words
from skillopt_cli.runlog.text.format import (
    SEED,
    UNKNOWN,
    change,
    count,
    duration,
    one_line,
    out_of,
    result_name,
    score,
)
from skillopt_cli.runlog.text.header import (
    data_words,
    drift_words,
    families_note,
    models_words,
    simulated_note,
    skill_words,
)
from skillopt_cli.runlog.text.unfinished import (
    resume_command,
    unfinished_words,
    unrecorded_words,
)
from skillopt_cli.runlog.text.verdict import majority_lines, run_sentence
from skillopt_cli.runlog.verdict import is_compared, left_out_edits, no_gain_words, verdict_of
from skillopt_cli.runlog.view import RunView


def run_report(reported: Subject, *, illustrated: bool = False) -> Iterator[Block]:
    """The report on one run; `illustrated` for a place that can show pictures."""
    view = reported.view
    if view.run is None:
        if reported.evaluation is None:
            yield Heading(one_line(reported.label) or "run", 1)
            yield Line("no run has been recorded", free=True)
            return
        # An evaluation with several targets, each of which has a log of its own.
        benchmark = one_line(str(reported.evaluation.get("benchmark", "")))
        yield Heading(f"{benchmark} {one_line(reported.label)}", 1, "evaluation", "dim")
        yield from _found(reported, illustrated)
        return
    yield from _head(view)
    yield from _unfinished(view)
    if not view.total_steps:
        yield from _tests(view)
        yield from _found(reported, illustrated)
        yield from _ending(view)
        return
    yield from _verdict(view)
    yield from _selection(view)
    yield from _tests(view)
    yield from chance_blocks(view)
    yield from _looks(reported, illustrated)
    if illustrated:
        yield from overview(view)
    yield from _labels(reported)
    yield from _steps(reported, illustrated)
    yield from pruned_blocks(view.pruned)
    yield from savings_blocks(view)
    yield from cost_blocks(view)
    yield from _ending(view)


def _steps(reported: Subject, illustrated: bool) -> Iterator[Block]:
    view = reported.view
    ends = {epoch.step: epoch for epoch in view.epochs}
    if view.steps:
        yield Heading("Steps")
        if view.run and (note := families_note(view.run)):
            yield Line(f"Note: {note}.", "dim", free=True)
    for step in view.steps:
        yield from step_blocks(step, closes_epoch=step.number in ends, of_files=reported.of_files)
        if words := unrecorded_words(view, step):
            yield Line(words, "yellow")
        if illustrated:
            yield from edits_in_full(step)
        if step.number in ends:
            yield from epoch_blocks(ends[step.number])


def _head(view: RunView) -> Iterator[Block]:
    run = view.run
    if run is None:
        return
    kind = "" if view.total_steps else "evaluation"
    yield Heading(f"{one_line(run.benchmark)} {one_line(run.run_id)}", 1, kind, "dim")
    if skill := skill_words(run):
        yield Line(f"skill {skill}", free=True)
    yield Line(
        f"{models_words(run)}, metric {one_line(run.metric)}, data {data_words(run)}",
        "dim",
        free=True,
    )
    if note := simulated_note(run):
        yield Line(f"Note: {note}.", "yellow", free=True)


def _verdict(view: RunView) -> Iterator[Block]:
    """The verdict, and what to read one on label tasks with."""
    if view.verdict is None:
        return
    style = {"improved": "bold green", "worse": "bold red"}.get(view.verdict.word, "bold")
    if view.majority is not None and view.majority.unbeaten:
        style = "bold yellow"
    yield Line(f"Verdict: {run_sentence(view.verdict, view.majority)}", style, free=True)
    for sentence in majority_lines(view.verdict, view.majority):
        yield Line(sentence, free=True)


def _unfinished(view: RunView) -> Iterator[Block]:
    """Where a run broke off, why, and how to go on; nothing for one that works or is finished."""
    words = unfinished_words(view)
    if not words:
        return
    yield Line(words, "bold yellow", free=True)
    ending = view.ending if isinstance(view.ending, RunFailed) else None
    if ending is not None:
        yield Line(f"Cause: {one_line(ending.message)}", "yellow", free=True)
    command = resume_command(view, view.run.run_id if view.run else "")
    hint = one_line(ending.hint) if ending else ""
    if hint:
        yield Line(f"hint: {hint}", "yellow", free=True)
    if command and "skillopt resume" not in hint:
        yield Line(f"To go on: `{command}`", "yellow", free=True)


def _selection(view: RunView) -> Iterator[Block]:
    base, saved, standing = view.baseline, view.saved, view.standing
    reach = out_of(base.scored, base.n) if base else UNKNOWN
    rows = [("baseline", _known(base.value if base else None, "baseline_gate_score"), reach)]
    for name, value, came, means in (
        ("best", standing.best, standing.best_origin, saved.best if saved else None),
        ("final", standing.current, standing.current_origin, saved.current if saved else None),
    ):
        shown = _known(value, f"{name}_gate_score")
        came = "seed" if came == SEED else came
        rows.append((f"{name} ({came})", shown, out_of(means.scored, means.n) if means else reach))
    yield Rows(("skill", "val score", "tasks"), rows)
    tested = (
        "the test score is unbiased"
        if {"best", "final"} & view.tests.keys()
        else "no test score, which is unbiased, was measured"
    )
    if standing.best is not None and is_compared(view):
        yield Line(
            f"The best val score was selected on these tasks, so it overestimates; {tested}.",
            "dim",
            free=True,
        )
    if why := no_gain_words(view):
        yield Line(f"{why}.", "bold yellow", free=True)
    verdict = verdict_of(view)
    if verdict is not None and verdict.reason and verdict.edits:
        lost = outcomes_words(left_out_edits(view))
        yield Line(f"Edits that were not applied: {lost}", "yellow", free=True)
    for words in result_hints(view):
        yield Line(f"hint: {words}", "yellow", free=True)


def _known(value: float | None, key: str) -> str:
    return score(None) if value is None else Number(score(value), value, key)


def _tests(view: RunView) -> Iterator[Block]:
    tests = ordered_tests(view)
    if not tests:
        return
    seed = view.tests.get("seed")
    rows = []
    for test in tests:
        gains = _gains(test, seed) if seed is not None else ()
        key = one_line(test.label)
        name = key if view.total_steps else result_name(key)
        cells = (name, _known(test.hard, f"{key}.hard"), _known(test.soft, f"{key}.soft"))
        reach = out_of(test.scored, test.n)
        rows.append((*cells, reach, *gains))
    titles = ("test" if view.total_steps else "measured", "hard", "soft", "tasks")
    yield Rows((*titles, "hard vs seed", "soft vs seed") if seed else titles, rows)


def _gains(test: TestMeasured, seed: TestMeasured) -> tuple[str, str]:
    """What a test's hard and soft score gained on those of the seed."""
    if test is seed:
        return "", ""
    hard, soft = delta(test.hard, seed.hard), delta(test.soft, seed.soft)
    return "" if hard is None else change(hard), "" if soft is None else change(soft)


def _found(reported: Subject, illustrated: bool) -> Iterator[Block]:
    """What an evaluation found."""
    yield from _looks(reported, illustrated)
    yield from pruned_blocks(reported.view.pruned)
    if reported.evaluation is not None:
        yield from evaluation_blocks(reported.evaluation)
    yield from _labels(reported)


def _labels(reported: Subject) -> Iterator[Block]:
    if reported.tasks is None:
        return
    blocks = list(confusion_blocks(confusions_of(reported.tasks)))
    if blocks:
        yield Heading("Labels")
        yield from blocks


def _looks(reported: Subject, illustrated: bool) -> Iterator[Block]:
    ledger = reported.ledger
    if ledger is not None and (reported.view.total_steps or ledger.own):
        yield from ledger_blocks(ledger, whole=illustrated)


def _ending(view: RunView) -> Iterator[Block]:
    yield Heading("Ending", 2, status_words(view))
    made = f"{count(view.made, 'rollout')} made"
    if view.uncalled:
        made += f" ({view.uncalled:,} without a call, as the journal had the reply)"
    recalled = f", {view.recalled:,} recalled" if view.recalled else ""
    yield Line(f"{made}{recalled}, {view.rollouts_saved:,} saved, in {duration(view.wall_time)}")
    if view.loaded:
        loaded, known = view.loaded.get(True, 0), sum(view.loaded.values())
        share = f"The agent loaded the skill in {loaded:,} of {count(known, 'attempt')}"
        yield Line(f"{share} ({loaded / known:.0%})", "" if loaded == known else "yellow")
    for line in spend_lines(view):
        yield Line(line, "yellow" if line.startswith("Trouble") else "")
    if view.stopped:
        yield Line(f"Stopped early: {one_line(view.stopped)}")
    if view.drift:
        yield Line(drift_words(view.drift), "yellow")
