"""How a task went over all skills of a run, from its outcomes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_cli.core.events import (
    RolloutFinished,
    RunEvent,
    RunStarted,
    StageFinished,
    StageName,
    StageStarted,
    Stamped,
    TestMeasured,
)
from skillopt_cli.core.task import SPLITS, Ending, Split
from skillopt_cli.reports.task_answers import AnsweredAttempt, TaskAnswer
from skillopt_cli.reports.task_table import RESULTS, TaskRow, first_split, task_table
from skillopt_cli.reports.task_texts import TaskTexts
from skillopt_cli.runlog.best_scores import best_test_scores
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.outcomes import Outcome
from skillopt_cli.runlog.view import RunView


def answered(hard: float | None) -> TaskAnswer:
    return TaskAnswer((AnsweredAttempt("x", Outcome("t", hard, hard), "selection"),))


def row(course: bytes, first: float | None, last: float | None) -> TaskRow:
    return TaskRow("t", "", "", (), course, (answered(first), answered(last)))


@pytest.mark.parametrize(
    ("course", "first", "last", "result", "flips"),
    [
        (b"fr", 0.0, 1.0, "fixed", 1),
        (b"rf", 1.0, 0.5, "broke", 1),
        (b"rr", 1.0, 1.0, "always right", 0),
        (b"ff", 0.0, 0.0, "always wrong", 0),
        (b"frfr", 0.0, 1.0, "fixed", 3),
        (b"frf", 0.0, 0.0, "flaky", 2),
        (b"rrf", 1.0, 1.0, "flaky", 1),
        (b"frb", 0.0, None, "flaky", 1),
        (b"bb", None, None, None, 0),
        (b"rbr", 1.0, 1.0, "always right", 0),
        (b"fb", 0.0, None, "always wrong", 0),
    ],
)
def test_result_and_flips(
    course: bytes,
    first: float | None,
    last: float | None,
    result: str | None,
    flips: int,
) -> None:
    found = row(course, first, last)
    assert (found.result, found.flips) == (result, flips)
    assert result is None or result in RESULTS


def evaluated(label: str, n: int = 2) -> RunView:
    """The view of an evaluation of `n` tasks."""
    stage = "test" if label == "eval" else "measure"
    facts: list[RunEvent] = [
        RunStarted("e", "searchqa", 0, 0, 0, "", "m", "d", 0, 0, n, "hard"),
        StageStarted(0, stage, n, 1),
        *(RolloutFinished(0, stage, f"t{i}", 1.0, 1.0, "answered", False) for i in range(n)),
        StageFinished(0, stage),
        TestMeasured(label, "x", 1.0, 1.0, n, n),
    ]
    return fold(Stamped(i, float(i), fact) for i, fact in enumerate(facts, 1))


def written(folder: Path, *rows: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(row if isinstance(row, str) else f"{json.dumps(row)}\n" for row in rows)
    (folder / "results.jsonl").write_text(text, encoding="utf-8")


def test_an_evaluation_has_one_answer(tmp_path: Path) -> None:
    view = evaluated("selection")
    about = {"task_type": "year", "question": "When?\u2028Say it.", "expected": ["1969", "69"]}
    written(tmp_path / "selection", {"id": "t0", "predicted_answer": "1969", **about})
    table = task_table(view, first_split(view), TaskTexts(tmp_path))
    assert (table.split, table.first, table.last) == ("selection", "", "answer")
    first, second = table.rows
    assert first.first is None and first.last is not None
    assert (first.last.text, first.kind, list(first.expected)) == ("1969", "year", ["1969", "69"])
    assert first.question == about["question"]
    # What the files lack is empty; the outcome is that of the log.
    assert second.last is not None
    assert (second.last.text, second.question, second.result) == ("", "", "always right")


@pytest.mark.parametrize("damage", ["{", "[1]\n", '{"id": "t0", "expected": 1}\n', "[" * 90_000])
def test_damaged_results_leave_the_outcomes(tmp_path: Path, damage: str) -> None:
    view = evaluated("selection")
    written(tmp_path / "selection", damage)
    table = task_table(view, "selection", TaskTexts(tmp_path))
    assert [row.result for row in table.rows] == ["always right"] * 2


def test_no_link_out_of_the_run_folder_is_followed(tmp_path: Path) -> None:
    view, run = evaluated("selection"), tmp_path / "run"
    written(tmp_path / "elsewhere", {"id": "t0", "question": "secret"})
    run.mkdir()
    (run / "selection").symlink_to(tmp_path / "elsewhere")
    assert task_table(view, "selection", TaskTexts(run)).rows[0].question == ""


def test_results_are_read_again_when_they_change(tmp_path: Path) -> None:
    view = evaluated("selection")
    for text in ("first", "second one"):
        written(tmp_path / "selection", {"id": "t0", "question": text})
        assert task_table(view, "selection", TaskTexts(tmp_path)).rows[0].question == text


def compared(split: Split, *draws: tuple[float | None, float | None]) -> RunView:
    """The view of an evaluation of `old` and `new` with one task; a draw has a score of each."""
    stage: StageName = "test" if split == "test" else "measure"
    suffix = "" if split == "test" else f"_{split}"
    names = ("old", "new")
    facts: list[RunEvent] = [
        RunStarted("e", "searchqa", 0, 0, 0, "", "m", "d", 1, 1, 1, "hard"),
        *(StageStarted(0, stage, len(draws), 1, name) for name in names),
    ]
    # As they end, not as they were drawn.
    for scores in reversed(draws):
        for name, score in zip(names, scores, strict=True):
            ending: Ending = "broken" if score is None else "answered"
            facts.append(RolloutFinished(0, stage, "t", score, score, ending, False, label=name))
    facts += [StageFinished(0, stage, name) for name in names]
    facts += [TestMeasured(f"{name}{suffix}", name, 1.0, 1.0, 1, 1) for name in names]
    return fold(Stamped(i, float(i), fact) for i, fact in enumerate(facts, 1))


@pytest.mark.parametrize("split", SPLITS)
def test_skills_are_compared_on_the_split_that_was_measured(split: Split, tmp_path: Path) -> None:
    view = compared(split, (0.0, 1.0))
    written(tmp_path / split / "old", {"id": "t", "question": "Why?", "predicted_answer": "a"})
    written(tmp_path / split / "new", {"id": "t", "question": "Why?", "predicted_answer": "b"})
    assert first_split(view) == split
    table = task_table(view, first_split(view), TaskTexts(tmp_path))
    assert (table.titles, table.first, table.last) == (("old", "new"), "old", "new")
    assert [column.title for column in table.columns if column.cells] == ["old", "new"]
    (found,) = table.rows
    assert (found.result, found.course, found.question) == ("fixed", b"fr", "Why?")
    assert [answer.text for answer in found.answers if answer] == ["a", "b"]
    others = [
        task_table(view, other, TaskTexts(tmp_path)).rows for other in SPLITS if other != split
    ]
    assert others == [[], []]


def test_every_repeated_attempt_counts(tmp_path: Path) -> None:
    view = compared("test", (0.0, None), (1.0, 1.0), (1.0, None))
    for name, scores in (("old", (0.0, 1.0, 1.0)), ("new", (None, 1.0, None))):
        for number, score in enumerate(scores, 1):
            folder = tmp_path / "test" / name / (f"draw_{number}" if number > 1 else "")
            text = f"{name} {number}"
            written(folder, {"id": "t", "predicted_answer": text, "hard": score, "soft": score})
    (found,) = task_table(view, "test", TaskTexts(tmp_path)).rows
    old, new = found.answers
    assert old is not None and new is not None
    assert [one.outcome.hard for one in old.attempts] == [0.0, 1.0, 1.0]
    assert [one.text for one in old.attempts] == ["old 1", "old 2", "old 3"]
    assert (old.outcome.hard, old.shown, old.text) == (2 / 3, 1, "old 1")
    # A broken attempt is no evidence, and not the one to show.
    assert (new.outcome.hard, new.shown, new.text) == (1.0, 2, "new 2")
    assert [one.folder for one in new.attempts] == [
        "test/new", "test/new/draw_2", "test/new/draw_3",
    ]  # fmt: skip
    assert (found.result, found.course) == ("fixed", b"fr")
    assert best_test_scores(view) == {"t": 2 / 3}


def test_skills_that_read_the_same_share_their_attempts(tmp_path: Path) -> None:
    view = compared("selection", (1.0, 1.0))
    rounds = tuple(made for made in view.rounds if made.label == "old")
    tests = {name: replace(test, digest="same") for name, test in view.tests.items()}
    shared, apart = replace(view, rounds=rounds, tests=tests), replace(view, rounds=rounds)
    (found,) = task_table(shared, "selection", TaskTexts(tmp_path)).rows
    assert found.answers[0] == found.answers[1]
    assert found.result == "always right"
    (found,) = task_table(apart, "selection", TaskTexts(tmp_path)).rows
    assert found.answers[1] is None and found.result == "always right"
