"""Every empty cell that a task needs is named at once, however the tasks are read."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skillopt_cli.benchmarks.folder import SPEC
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS
from skillopt_cli.ports import BenchmarkRequest

HEAD = ("id", "body", "queue")
KEYS = {"prompt_key": "body", "answer_key": "queue"}


def rows(n: int, *, no_body: Sequence[int] = (), no_queue: Sequence[int] = ()) -> list[list[str]]:
    """Rows of a table; those of these numbers, from 0, have a blank cell."""
    return [
        [
            f"t{i}",
            " " if i in no_body else f"Parcel {i} came late and the box around it was wet.",
            "" if i in no_queue else "ab"[i % 2],
        ]
        for i in range(n)
    ]


def write(path: Path, cells: Sequence[Sequence[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in (HEAD, *cells):
            book.active.append(row)
        book.save(path)
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        mark = "\t" if path.suffix == ".tsv" else ","
        csv.writer(file, delimiter=mark).writerows([HEAD, *cells])
    return path


def refusals(**given: Any) -> list[DataError]:
    """What inference and opening of these tasks refuse, in this order."""
    request = BenchmarkRequest(options=KEYS, **given)
    assert SPEC.infer is not None
    found = []
    for read in (SPEC.infer, SPEC.open):
        with pytest.raises(DataError) as caught:
            read(request)
        found.append(caught.value)
    return found


@pytest.mark.parametrize(
    ("name", "unit"), [("t.csv", "line"), ("t.tsv", "line"), ("t.xlsx", "row")]
)
def test_one_empty_cell_is_named_with_its_place(tmp_path: Path, name: str, unit: str) -> None:
    for column in ("body", "queue"):
        blank = {"no_body" if column == "body" else "no_queue": [4]}
        path = write(tmp_path / name, rows(12, **blank))
        for error in refusals(data_path=path):
            assert error.message == f"{path}, {unit} 6: the cell `{column}` is empty"
            assert error.hint == "fill it in, or remove the row"


@pytest.mark.parametrize(
    ("name", "unit"), [("t.csv", "line"), ("t.tsv", "line"), ("t.xlsx", "row")]
)
def test_all_empty_cells_are_named_at_once(tmp_path: Path, name: str, unit: str) -> None:
    path = write(tmp_path / name, rows(30, no_body=[1, 4], no_queue=[4, *range(10, 22)]))
    for error in refusals(data_path=path):
        assert error.message == (
            f"{path}, {unit}s 3, 6: the cell `body` is empty; {path}, {unit}s 6, 12, 13, 14, 15,"
            " 16, 17, 18, 19, 20, ... (13 in all): the cell `queue` is empty"
        )
        assert error.hint == "fill in the cells, or remove the rows"


def test_empty_cells_of_splits_are_named_with_their_file(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / split / "t.csv", rows(12, no_body=[n]))
        for n, split in enumerate(("train", "val", "test"))
    ]
    inferred, opened = refusals(split_dir=tmp_path)
    places = [f"{path}, line {n + 2}: the cell `body` is empty" for n, path in enumerate(paths)]
    assert inferred.message == "; ".join(places)
    assert opened.message == places[0]


def test_cells_that_a_task_does_without_may_be_empty(tmp_path: Path) -> None:
    cells = [[f"t{i}" if i % 2 else "", f"Is {i} even?", "ab"[i % 2], "", ""] for i in range(12)]
    head = ("id", "question", "answer", "context", "kind")
    path = tmp_path / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *cells])
    opened = SPEC.open(BenchmarkRequest(data_path=path))
    assert sum(len(opened.tasks(split)) for split in SPLITS) == 12


def test_a_task_needs_choices_where_these_are_scored_and_no_reference_with_a_pattern(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "question,answer,choices,pattern\n"
        'Which?,a,"a|b",a\nWho?,a,,a\n"When, then?",,"a|b",a\nWhere?,a,"a|b",a\n',
        encoding="utf-8",
    )
    with pytest.raises(DataError) as caught:
        SPEC.open(BenchmarkRequest(data_path=path, options={"scorer": "choice"}))
    assert caught.value.message == (
        f"{path}, line 3: the cell `choices` is empty; {path}, line 4: the cell `answer` is empty"
    )
    opened = SPEC.open(BenchmarkRequest(data_path=path, options={"scorer": "regex"}))
    assert sum(len(opened.tasks(split)) for split in SPLITS) == 4
