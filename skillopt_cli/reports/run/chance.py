"""What chance may explain of each figure of a training, in one table of the report."""

from __future__ import annotations

from collections.abc import Iterator

from skillopt_cli.core.run_verdict import RunVerdict
from skillopt_cli.core.statistics import resolution_words
from skillopt_cli.reports.page import Block, Rows
from skillopt_cli.runlog.expectation import expected_best
from skillopt_cli.runlog.text.format import count, score
from skillopt_cli.runlog.text.verdict import TEST_DECIDES, chance_words, unproven_words
from skillopt_cli.runlog.view import RunView

_CONFIRMED = "more selection tasks, or the verdict on test tasks, can confirm them"
_TITLES = ("what chance may explain", "measured on", "how much")


def chance_blocks(view: RunView) -> Iterator[Block]:
    """A row for the gain, the best selection score and the scores of single steps, where known."""
    n = view.baseline.n if view.baseline else 0
    measured = count(n, "selection task")
    rows = []
    if view.verdict is not None and view.verdict.gain is not None:
        tasks = count(view.verdict.n, f"{view.verdict.split} task")
        rows.append(("the gain over the seed", tasks, _gain_words(view.verdict)))
    if expected := expected_best(view):
        rows.append((
            "the best val score",
            measured,
            f"the highest of {count(expected.texts, 'text')} measured in full:"
            f" {score(view.standing.best)} there, about {score(expected.value)} on fresh tasks",
        ))
    if n and any(step.gate for step in view.steps):
        graded = view.run is not None and view.run.metric != "hard"
        words = resolution_words(n, "accepted gain", graded=graded)
        rows.append(("the val score of one step", measured, f"{words}; {_CONFIRMED}"))
    if rows:
        yield Rows(_TITLES, rows)


def _gain_words(verdict: RunVerdict) -> str:
    cases = f"by chance alone, one so large in {chance_words(verdict.p_value)}"
    if verdict.word in ("improved", "worse"):
        return f"{cases}; {TEST_DECIDES}" if verdict.interval_disagrees else cases
    return f"{cases}; {unproven_words(verdict)}"
