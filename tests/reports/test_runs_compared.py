"""Runs compared on their test tasks: a table with its metric, and a sentence on what it shows."""

from __future__ import annotations

import pytest
from facts import attempts, begun, stamp

from skillopt_cli.core import events as ev
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.run.paired import paired_blocks
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold


def evaluated(label: str, wins: int) -> Subject:
    """An evaluation that solves so many of twelve test tasks."""
    facts = [
        begun(total_steps=0, epochs=0),
        ev.StageStarted(0, "test", 12, 1, label="eval"),
        *attempts(0, "test", 12, wins=wins, label="eval"),
        ev.StageFinished(0, "test", label="eval"),
    ]
    return Subject(label, fold(stamp(facts)))


@pytest.mark.parametrize(
    ("wins", "words"),
    [
        ((12, 11, 12), "no difference from the first run is"),
        ((12, 0, 12), "the difference of b from the first run is"),
        ((12, 0, 1), "the differences of b, c from the first run are"),
    ],
)
@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_a_comparison_names_its_metric_and_ends_with_what_it_shows(
    wins: tuple[int, ...], words: str, kind: str
) -> None:
    runs = [evaluated(label, n) for label, n in zip("abc", wins, strict=True)]
    page = as_markdown(paired_blocks(runs, kind))  # type: ignore[arg-type]
    assert f"Test tasks compared ({kind} scores)" in page
    assert f"On these test tasks, {words} more than chance explains." in page
