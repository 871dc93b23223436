"""SpreadsheetBench: where answers stand, and when a cell is right."""

from __future__ import annotations

import datetime
import json
from io import BytesIO
from typing import Any

import pytest

openpyxl = pytest.importorskip("openpyxl")

from skillopt_cli.benchmarks.spreadsheetbench.areas import (  # noqa: E402
    LAST_COLUMN,
    LAST_ROW,
    Area,
    read_areas,
)
from skillopt_cli.benchmarks.spreadsheetbench.cells import comparable, compare, shown  # noqa: E402
from skillopt_cli.benchmarks.spreadsheetbench.workbook import (  # noqa: E402
    WorkbookFault,
    read,
    settled,
    uncomputed,
    without_values,
)

MOMENT = datetime.datetime


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, 1.004, True),
        (1, 1.006, False),
        ("1.004", 1.0, True),  # texts that read as numbers are numbers
        ("1.0", "1", True),
        ("1,200", 1200, False),
        (" 7 ", 7, True),
        ("1_000", 1000, True),
        ("12.5%", 12.5, False),
        ("1e3", 1000, True),
        (True, 1, True),
        (True, "True", False),
        (False, None, False),
        (0, None, False),
        (0, "", False),
        ("", None, True),
        (None, None, True),
        (" ", None, False),
        ("a", "a", True),
        ("a", "A", False),
        ("a", "a ", False),
        ("nan", "nan", False),
        ("inf", "infinity", True),
        ("inf", "-inf", False),
        (datetime.time(12, 30, 5), "12:30", True),
        (datetime.time(12, 30, 5), datetime.time(12, 30, 59), True),
        (datetime.time(12, 30), datetime.time(12, 31), False),
        (MOMENT(2024, 1, 1), 45292, True),
        (MOMENT(2024, 1, 1, 6), MOMENT(2024, 1, 1), True),  # times of day are ignored
        (MOMENT(2024, 1, 1, 18), MOMENT(2024, 1, 1), False),  # and rounded to the next day
        (MOMENT(2024, 1, 1), "2024-01-01", False),
        (datetime.timedelta(hours=30), datetime.timedelta(hours=30), True),
        (datetime.timedelta(hours=30), datetime.timedelta(hours=31), False),
        (datetime.timedelta(0), "0:00:00", False),
        ("#DIV/0!", "#DIV/0!", True),
        (2.675, 2.67, True),  # as floats are rounded
    ],
)
def test_when_two_values_are_the_same(one: object, other: object, equal: bool) -> None:
    cells = [
        {"S": {"A1": told} if (told := comparable(v)) is not None else {}} for v in (one, other)
    ]
    # What an attempt leaves behind has been through JSON.
    wanted, got = (json.loads(json.dumps(each, allow_nan=False)) for each in cells)
    assert compare(wanted, got).equal is equal
    assert compare(got, wanted).equal is equal


A1, B2 = (1, 1), (2, 2)


@pytest.mark.parametrize(
    ("position", "areas"),
    [
        ("A1", [("", A1, A1)]),
        ("$A$1", [("", A1, A1)]),
        ("a1:b2", [("", A1, B2)]),
        ("$A$1:$B$2", [("", A1, B2)]),
        ("B2:A1", [("", A1, B2)]),
        ("B1:A2", [("", A1, B2)]),
        ("A:B", [("", A1, (LAST_ROW, 2))]),
        ("$c:$c", [("", (1, 3), (LAST_ROW, 3))]),
        ("1:2", [("", A1, (2, LAST_COLUMN))]),
        ("AA10", [("", (10, 27), (10, 27))]),
        ("A1,B2", [("", A1, A1), ("", B2, B2)]),
        ("A1 , B2 ", [("", A1, A1), ("", B2, B2)]),
        ("A1,", [("", A1, A1)]),
        ("Sheet1!A1", [("Sheet1", A1, A1)]),
        ("'Sheet1'!A1", [("Sheet1", A1, A1)]),
        ("'Sheet1!A1:B2'", [("Sheet1", A1, B2)]),
        ("'Sheet1'!'A1:B2'", [("Sheet1", A1, B2)]),
        ("My Sheet!A1", [("My Sheet", A1, A1)]),
        ("'North, East'!A1,B2", [("North, East", A1, A1), ("", B2, B2)]),
        ("North, East!A1", [("North, East", A1, A1)]),
        ("A1,North, East!B2", [("", A1, A1), ("North, East", B2, B2)]),
        ("'Bob''s'!A1", [("Bob's", A1, A1)]),
        ("Bob's!A1", [("Bob's", A1, A1)]),
        ("Bob's!A1,Ann's!B2", [("Bob's", A1, A1), ("Ann's", B2, B2)]),
        ("'a!b'!A1", [("a!b", A1, A1)]),
        ("2024!A1", [("2024", A1, A1)]),
        ("Sheet1!A1,Sheet2!B2", [("Sheet1", A1, A1), ("Sheet2", B2, B2)]),
    ],
)
def test_where_an_answer_stands(position: str, areas: list[Any]) -> None:
    assert read_areas(position) == tuple(Area(*area) for area in areas)


@pytest.mark.parametrize(
    "position",
    ["", " ", "A", "Sheet1!", "A1:B", "A0", "A01", "A\u0663", "A1;B2", "all cells", "A1:B2:C3"],
)
def test_what_is_no_reference(position: str) -> None:
    with pytest.raises(ValueError, match=r"names no cells|no reference"):
        read_areas(position)


def test_a_sheet_named_apart_counts_for_every_part() -> None:
    assert read_areas("A1,Other!B2", "Mine") == (Area("Mine", A1, A1), Area("Other", B2, B2))


def test_sheets_are_spelled_as_the_reference_spells_them() -> None:
    names = ["First", "Sales 2024 "]
    found = settled((Area("", A1, A1), Area("sales 2024", A1, A1)), names)
    assert [area.sheet for area in found] == names
    with pytest.raises(WorkbookFault, match="no sheet `Other`"):
        settled((Area("Other", A1, A1),), names)


def saved(sheets: dict[str, dict[str, object]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, cells in sheets.items():
        sheet = book.create_sheet(name)
        for place, value in cells.items():
            sheet[place] = value
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def differences(wanted: dict[str, Any], got: dict[str, Any], position: str) -> list[str]:
    gold = saved(wanted)
    areas = settled(read_areas(position), list(wanted))
    found = compare(read(gold, areas).cells, read(saved(got), areas).cells)
    return [*(f"no {sheet}" for sheet in found.missing), *map(str, found.differences)]


@pytest.mark.parametrize(
    ("wanted", "got", "position", "told"),
    [
        ({"S": {"A1": 1}}, {"S": {"A1": 1}}, "A1", []),
        ({"S": {"A1": 1}}, {"S": {"A1": "one"}}, "A1", ["S!A1: gt=1 pred='one'"]),
        ({"S": {"A1": 1}}, {"S": {}}, "A1", ["S!A1: gt=1 pred=(blank)"]),
        ({"S": {"A1": 1}}, {"T": {"A1": 1}}, "A1", ["no S"]),
        ({"S": {"A1": 1}}, {"s": {"A1": 1}}, "A1", ["no S"]),
        ({"S": {"A1": 1, "B9": 2}}, {"S": {"A1": 1}}, "A1", []),  # outside the position
        ({"S": {"A1": 1}}, {"S": {"A1": 1, "A99": 5}}, "A:A", ["S!A99: gt=(blank) pred=5"]),
        ({"S": {"A1": 1}}, {"S": {"A1": 1, "B1": 5}}, "1:1", ["S!B1: gt=(blank) pred=5"]),
        ({"A, B": {"A1": 1}}, {"A, B": {"A1": 2}}, "'A, B'!$a$1", ["A, B!A1: gt=1 pred=2"]),
        ({"S": {}, "T": {"A1": 1}}, {"S": {}, "T": {"A1": 1}}, "A1", []),  # the first sheet's
        ({"S": {"A1": 1}}, {"S": {"A1": 2}}, "$A$1", ["S!A1: gt=1 pred=2"]),
        ({"S": {"A1": 1}}, {"S": {"A1": 2}}, "a1", ["S!A1: gt=1 pred=2"]),
        (
            {"My Sheet": {"A1": 1}},
            {"My Sheet": {"A1": 2}},
            "My Sheet!A1",
            ["My Sheet!A1: gt=1 pred=2"],
        ),
        (
            {"My Sheet": {"A1": 1}},
            {"My Sheet": {}},
            "'My Sheet'!A:A",
            ["My Sheet!A1: gt=1 pred=(blank)"],
        ),
        ({"Bob's": {"A1": 1}}, {"Bob's": {"A1": 2}}, "'Bob''s'!A1", ["Bob's!A1: gt=1 pred=2"]),
        ({"S": {"B2": 1}}, {"S": {"B2": 1, "B1": "x"}}, "$b:$b", ["S!B1: gt=(blank) pred='x'"]),
        ({"S": {"A1": 1, "C1": 3}}, {"S": {"A1": 1, "C1": 4}}, "A1, C1", ["S!C1: gt=3 pred=4"]),
        ({"S": {"A1": "1.004"}}, {"S": {"A1": 1}}, "A1", []),
        ({"S": {"A1": None}}, {"S": {"A1": ""}}, "A1", []),
        ({"S": {}}, {"S": {}}, "A:A", []),
        (
            {"S": {"A2": 1.5, "B1": 2, "A10": 3}},
            {"S": {}},
            "A1:B10",
            [f"S!{cell}: gt={n} pred=(blank)" for cell, n in (("B1", 2), ("A2", 1.5), ("A10", 3))],
        ),
    ],
)
def test_what_differs(wanted: Any, got: Any, position: str, told: list[str]) -> None:
    assert differences(wanted, got, position) == told


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"<html>", saved({"S": {"A1": 1}})[:-40]])
def test_what_is_no_workbook(content: bytes) -> None:
    with pytest.raises(WorkbookFault):
        read(content, [Area("S", A1, A1)])


def test_formulas_are_seen_and_lose_their_values() -> None:
    content = saved({"S": {"A1": 1, "A2": "=A1+1", "B1": "=A1"}})
    found = read(content, [Area("S", (1, 1), (9, 1))])
    assert found.formulas == ("S!A2",)
    assert found.cells == {"S": {"A1": 1.0}}
    assert uncomputed(content) == ["S!B1", "S!A2"]
    assert uncomputed(saved({"S": {"A1": 1}})) == []
    assert read(without_values(content), [Area("S", (1, 1), (9, 2))]).cells == {"S": {"A1": 1.0}}


def test_values_are_shown_for_people() -> None:
    told = [shown(comparable(value)) for value in (None, 3, 2.5, "a", datetime.timedelta(1))]
    assert told == ["(blank)", "3", "2.5", "'a'", "timedelta 1 day, 0:00:00"]


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_a_whole_number_of_any_length_is_a_wrong_one(value: int) -> None:
    told = comparable(value)
    assert told is not None
    wanted, got = {"S": {"A1": 1.0}}, {"S": {"A1": told}}
    assert not compare(wanted, got).equal
    assert compare(got, got).equal


@pytest.mark.timeout(300)
@pytest.mark.parametrize("position", ["A:C", "1:3", "A1:XFD1048576"])
def test_a_cell_in_the_last_corner_costs_no_more_than_another(position: str) -> None:
    book, saved = openpyxl.Workbook(), BytesIO()
    sheet = book.active
    sheet["A1"], sheet["B2"] = 1, "=A1"
    sheet.cell(1_048_576, 16_384, 5)
    book.save(saved)
    content = saved.getvalue()
    found = read(content, settled(read_areas(position), ["Sheet"]))
    assert found.cells["Sheet"]["A1"] == 1.0
    assert ("XFD1048576" in found.cells["Sheet"]) == ("XFD" in position)
    assert found.formulas == ("Sheet!B2",)
    assert uncomputed(content) == ["Sheet!B2"]
