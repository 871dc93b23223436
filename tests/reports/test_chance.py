"""What chance may explain of a run's figures: one table, each row about one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from facts import VERDICT, accepted_step, barren_run, begun, opening, stamp, whole_run

from skillopt_cli.core import events as ev
from skillopt_cli.core.run_verdict import VerdictWord
from skillopt_cli.reports.page import Rows, as_markdown
from skillopt_cli.reports.run.chance import chance_blocks
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold import fold


def rows_of(*events: ev.RunEvent) -> list[tuple[str, ...]]:
    blocks = list(chance_blocks(fold(stamp(events))))
    assert len(blocks) <= 1
    return [tuple(row) for block in blocks if isinstance(block, Rows) for row in block.rows]


def test_each_figure_has_one_row_that_names_it_and_its_tasks() -> None:
    run = [*opening(), *accepted_step(1), ev.VerdictReached(VERDICT)]
    assert rows_of(*run) == [
        (
            "the gain over the seed",
            "100 test tasks",
            "by chance alone, one so large in 1 of 33,000 cases",
        ),
        (
            "the best val score",
            "20 selection tasks",
            "the highest of 2 texts measured in full: 0.80 there, about 0.80 on fresh tasks",
        ),
        (
            "the val score of one step",
            "20 selection tasks",
            "scores move in steps of 0.05, and accepted gains below 0.25 can be chance; more"
            " selection tasks, or the verdict on test tasks, can confirm them",
        ),
    ]
    report = as_markdown(run_report(Subject("a", fold(stamp(run)))))
    assert report.count("on fresh tasks") == report.count("can be chance") == 1


@pytest.mark.parametrize(
    ("word", "detectable", "more"),
    [
        ("improved", 0.12, ""),
        ("worse", 0.12, ""),
        ("unproven", 0.12, "; a gain of 0.12 or more would most likely have shown"),
        (
            "underpowered",
            None,
            "; so few tasks hardly show a true gain of up to 0.20 in this paired test",
        ),
    ],
)
def test_what_the_tasks_cannot_show_is_stated_where_nothing_was_shown(
    word: VerdictWord, detectable: float | None, more: str
) -> None:
    changes: dict[str, Any] = {"p_value": 0.04}
    if word not in ("improved", "worse"):
        changes = {"gain": 0.05, "low": -0.1, "p_value": 0.4}
    found = replace(VERDICT, word=word, detectable=detectable, **changes)
    (row, *_) = rows_of(*opening(), *accepted_step(1), ev.VerdictReached(found))
    cases = "1 of 25 cases" if changes["p_value"] < 0.05 else "1 of 2 cases"
    assert row[2] == f"by chance alone, one so large in {cases}{more}"


def test_what_is_not_known_has_no_row() -> None:
    assert rows_of(begun()) == rows_of(*opening()) == []
    assert rows_of(*whole_run())[0][0] == "the best val score"
    assert [row[0] for row in rows_of(*barren_run())] == ["the val score of one step"]
    alike = ev.VerdictReached(replace(VERDICT, identical=True, gain=None))
    assert [row[0] for row in rows_of(*opening(), alike)] == []
