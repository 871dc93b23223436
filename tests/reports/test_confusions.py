"""Confusion matrices: the counts of `runs export`, cut to the labels that occur most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from skillopt_cli.core.labels import Labels
from skillopt_cli.reports.confusions import (
    MOST,
    OTHER,
    ConfusionMatrix,
    confusion_blocks,
    confusions_of,
)
from skillopt_cli.reports.export.groups import NO_LABEL, export_of_confusions
from skillopt_cli.reports.export.tasks import ExportedTask, ExportedTasks
from skillopt_cli.reports.page import Abreast, as_markdown
from skillopt_cli.reports.task_answers import AnsweredAttempt, TaskAnswer
from skillopt_cli.reports.task_table import TaskRow
from skillopt_cli.runlog.rounds import Outcome

Given = tuple[str, str]


def answered(task: str, expected: str, given: str, *, known: bool = True) -> TaskAnswer:
    hard = float(expected == given)
    attempt = AnsweredAttempt(given, Outcome(task, hard, hard), "test/seed", known)
    return TaskAnswer((attempt,))


def tasks_with(
    pairs: Sequence[Given], later: Sequence[Given] = (), *, known: bool = True
) -> ExportedTasks:
    """Test tasks by their expected answer and the given one, under one text or two."""
    texts = [pairs, *([later] if later else [])]
    rows = [
        TaskRow(
            f"t{i}",
            "",
            "",
            (expected,),
            b"",
            tuple(answered(f"t{i}", *text[i], known=known) for text in texts),
        )
        for i, (expected, _) in enumerate(pairs)
    ]
    names = sorted({expected for expected, _ in pairs})
    titles = ("seed", "best")[: len(texts)]
    return ExportedTasks(titles, [ExportedTask("test", row) for row in rows], Labels(tuple(names)))


def matrix(found: ExportedTasks) -> ConfusionMatrix:
    (only,) = confusions_of(found).matrices
    return only


def test_the_counts_are_those_of_the_export() -> None:
    pairs = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "who knows"), ("c", "c")]
    found = tasks_with(pairs, [("a", "a"), ("a", "a"), ("b", "c"), ("b", "b"), ("c", "c")])
    made = matrix(found)
    assert made.names == ("a", "b", "c", NO_LABEL)
    exported = {row[1:3]: row[3:] for row in export_of_confusions(found).rows}
    for i, expected in enumerate(made.names):
        for j, given in enumerate(made.names):
            counts = tuple(table[i][j] for table in made.counts)
            assert counts == exported.get((expected, given), (0, 0))


@pytest.mark.parametrize("labels", [MOST, MOST + 1, MOST + 2, 40])
def test_many_labels_are_cut_to_the_most_frequent_without_losing_an_attempt(labels: int) -> None:
    names = [f"label {i:02d}" for i in range(labels)]
    # The later a label, the more often it is expected.
    pairs = [(name, names[-1]) for i, name in enumerate(names) for _ in range(i + 1)]
    made = matrix(tasks_with(pairs))
    cut = labels > MOST + 1
    kept = names[-MOST:] if cut else names
    assert made.names == (*kept, *((OTHER,) if cut else ()))
    assert made.merged == (labels - MOST if cut else 0)
    expected = Counter(expected if expected in kept else OTHER for expected, _ in pairs)
    assert [sum(row) for row in made.counts[0]] == [expected[name] for name in made.names]
    text = as_markdown(confusion_blocks(confusions_of(tasks_with(pairs))))
    assert (f"counts {labels - MOST} less frequent labels together" in text) == cut


def test_every_text_has_its_table_with_the_titles_of_rows_and_columns() -> None:
    pairs = [("a", "b"), ("b", "b")]
    (abreast,) = confusion_blocks(confusions_of(tasks_with(pairs, [*pairs[:1], ("b", "a")])))
    assert isinstance(abreast, Abreast)
    seed, best = abreast.tables
    assert seed.titles == best.titles == ("expected", "a", "b")
    assert (seed.rows, best.rows) == (
        [("a", "0", "1"), ("b", "0", "1")],
        [("a", "0", "1"), ("b", "1", "0")],
    )
    captions = [f"{t}, test: expected label by row, given one by column" for t in ("Seed", "Best")]
    assert [seed.caption, best.caption] == captions


def test_answers_that_are_not_in_the_folder_are_counted_and_named() -> None:
    text = as_markdown(confusion_blocks(confusions_of(tasks_with([("a", "a")], known=False))))
    assert "The answers of 1 attempt are not in the run folder" in text


def test_a_part_that_was_not_asked_for_and_answers_that_are_no_labels_have_no_table() -> None:
    found = tasks_with([("a", "a")])
    assert list(confusion_blocks(confusions_of(found), ["selection"])) == []
    free = ExportedTasks(found.titles, found.tasks, Labels())
    assert list(confusion_blocks(confusions_of(free))) == []
