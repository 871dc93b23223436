"""Every benchmark's score is pinned by a table of cases, which does not shrink unseen."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import pytest
import test_alfworld
import test_babyvision
import test_docvqa
import test_docvqa_scoring
import test_livemathematicianbench
import test_mathverse
import test_mmrb_scoring
import test_officeqa_scoring
import test_scorers
import test_sealqa_scoring
import test_searchqa
import test_spreadsheet_cells
import test_swebench_scoring

ENOUGH = 25
TABLES: dict[str, tuple[Callable[..., Any], ...]] = {
    "alfworld": (test_alfworld.test_what_a_game_of_three_steps_scores,),
    "babyvision": (test_babyvision.test_what_needs_no_judge,),
    "docvqa": (test_docvqa.test_scores, test_docvqa_scoring.test_anls),
    "folder": (test_scorers.test_exact, test_scorers.test_chosen_option),
    "livemathematicianbench": (test_livemathematicianbench.test_scores,),
    "mathverse": (test_mathverse.test_what_needs_no_judge,),
    "mmrb": (
        test_mmrb_scoring.test_options_are_named_by_letter_or_text,
        test_mmrb_scoring.test_open_answers_are_the_same_text_or_as_published,
    ),
    "officeqa": (test_officeqa_scoring.test_what_is_right,),
    "sealqa": (
        test_sealqa_scoring.test_only_what_equals_the_reference_or_is_empty_is_clear,
        test_sealqa_scoring.test_a_verdict_is_a_score,
        test_sealqa_scoring.test_what_is_no_verdict_is_none,
    ),
    "searchqa": (test_searchqa.test_scores,),
    "spreadsheetbench": (
        test_spreadsheet_cells.test_when_two_values_are_the_same,
        test_spreadsheet_cells.test_what_differs,
    ),
    "swebench": (
        test_swebench_scoring.test_what_a_log_tells,
        test_swebench_scoring.test_when_a_fault_is_mended,
    ),
}


def test_every_benchmark_has_a_table() -> None:
    points = entry_points(group="skillopt.benchmarks")
    assert TABLES.keys() == {p.name for p in points if p.value.startswith("skillopt_cli.")}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_enough_cases(name: str) -> None:
    marks = [mark for test in TABLES[name] for mark in test.pytestmark]  # type: ignore[attr-defined]
    tables = [mark.args[1] for mark in marks if mark.name == "parametrize"]
    assert len(tables) == len(TABLES[name])
    assert sum(map(len, tables)) >= ENOUGH
    for table in tables:
        assert len({repr(case) for case in table}) == len(table)
