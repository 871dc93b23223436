"""SpreadsheetBench: our verdict on generated pairs of workbooks is that of a second reading."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

openpyxl = pytest.importorskip("openpyxl")

from openpyxl.utils import get_column_letter  # noqa: E402
from spreadsheet_oracle import agree, same  # noqa: E402

from skillopt_cli.benchmarks.spreadsheetbench.areas import read_areas  # noqa: E402
from skillopt_cli.benchmarks.spreadsheetbench.cells import compare  # noqa: E402
from skillopt_cli.benchmarks.spreadsheetbench.workbook import read, settled  # noqa: E402

PAIRS = 55
"""Of workbooks, for each of the seeds."""
NAMES = ("Data", "My Sheet", "Costs, 2024", "It's", "a!b", "2024", "Über", "O'Neil, 'Q1' ")
DAY = datetime(2024, 1, 1)
KIN: tuple[tuple[Any, ...], ...] = (
    (None, "", " ", 0),
    (1, 1.0, True, "1", "1.00", 1.004, "1.004", 1.006, 0.996, "1e0", " 1 ", "True"),
    (0, False, "0", "-0", 0.004, -0.004, -0.006, None),
    (2.675, 2.67, 2.68, "2.675", 2.665),
    (1e15, 1e15 + 0.4, "1e15", 10**15, "1_000_000_000_000_000"),
    ("1,200", 1200, "1200", "$1,200", "1200.0"),
    ("12.5%", 12.5, 0.125, "12.5", "0.125"),
    (DAY, DAY.date(), DAY.replace(hour=6), DAY.replace(hour=12), DAY.replace(hour=18), 45292),
    (DAY, "45292", 45292.4, "2024-01-01", date(2024, 1, 2), 45293, datetime(1900, 1, 1)),
    (time(12, 30), time(12, 30, 5), time(12, 31), "12:30", "12:30:00", 0.5208333, time(0, 30)),
    (timedelta(hours=30), timedelta(hours=30, seconds=1), timedelta(hours=31), 1.25),
    ("a", "A", "a ", " a", "á", "a\u0301"),
    ("nan", "NaN"),
    ("inf", "Infinity", "-inf"),
    ("#N/A", "#DIV/0!", "N/A"),
)
Sheets = dict[str, dict[tuple[int, int], Any]]


def golden_sheets(rng: Random) -> Sheets:
    names = rng.sample(NAMES, rng.randint(1, 3))
    return {
        name: {
            (row, column): rng.choice(rng.choice(KIN))
            for row in range(1, rng.randint(2, 5))
            for column in range(1, rng.randint(2, 4))
        }
        for name in names
    }


def answer_sheets(rng: Random, golden: Sheets) -> Sheets:
    """The golden sheets with some cells exchanged for kin, and now and then more than that."""
    lapse = rng.choice((0, 0.1, 0.3))
    made = {
        name: {place: kin(rng, value) if rng.random() < lapse else value for place, value in cells}
        for name, cells in ((name, cells.items()) for name, cells in golden.items())
    }
    name = rng.choice(list(made))
    match rng.randint(1, 8):
        case 1:
            made[name][(rng.randint(5, 9), rng.randint(1, 3))] = "below"
        case 2:
            made[name][(rng.randint(1, 3), rng.randint(4, 6))] = "beside"
        case 3:
            made = {"Renamed" if each == name else each: cells for each, cells in made.items()}
        case 4:
            made = dict(reversed(made.items()))
    return made


def kin(rng: Random, value: Any) -> Any:
    families = [family for family in KIN if any(value is each for each in family)]
    return rng.choice(rng.choice(families))


def save(path: Path, sheets: Sheets) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, cells in sheets.items():
        sheet = book.create_sheet(name)
        for (row, column), value in cells.items():
            sheet.cell(row, column).value = value
    book.save(path)
    return path


def position(rng: Random, names: list[str]) -> str:
    """One to three areas, spelled in one of the ways in which people spell them."""
    parts = [prefix(rng, names) + place(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    return rng.choice((",", ", ", " ,")).join(parts)


def prefix(rng: Random, names: list[str]) -> str:
    name = rng.choice(names)
    if name == names[0] and rng.random() < 0.5:
        return ""
    if name.replace(" ", "").isalnum() and rng.random() < 0.5:
        return f"{name}!"
    quoted = name.replace("'", "''")
    return f"'{quoted}'!"


def place(rng: Random) -> str:
    rows = [rng.randint(1, 6) for _ in range(2)]
    columns = [get_column_letter(rng.randint(1, 5)) for _ in range(2)]
    fix = rng.choice(("", "$"))
    spelled = {
        "cell": f"{fix}{columns[0]}{fix}{rows[0]}",
        "range": f"{fix}{columns[0]}{fix}{rows[0]}:{fix}{columns[1]}{fix}{rows[1]}",
        "columns": f"{fix}{columns[0]}:{fix}{columns[1]}",
        "rows": f"{fix}{rows[0]}:{fix}{rows[1]}",
    }
    found = spelled[rng.choice(("cell", "range", "range", "columns", "rows"))]
    return rng.choice((str.upper, str.lower))(found)


def ours(golden: Path, found: Path, where: str, names: list[str]) -> bool:
    areas = settled(read_areas(where), names)
    gold, told = (read(path.read_bytes(), areas).cells for path in (golden, found))
    return compare(gold, told).equal


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))]
)
def test_verdicts_on_generated_workbooks(tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    seen: Counter[bool] = Counter()
    for number in range(PAIRS):
        sheets = golden_sheets(rng)
        golden = save(tmp_path / f"{number}_golden.xlsx", sheets)
        found = save(tmp_path / f"{number}_found.xlsx", answer_sheets(rng, sheets))
        where = position(rng, list(sheets))
        wanted = agree(golden, found, where)
        assert ours(golden, found, where, list(sheets)) is wanted, (number, where)
        seen[wanted] += 1
    assert min(seen[True], seen[False]) >= 10


def test_verdicts_on_each_value_and_its_kin(tmp_path: Path) -> None:
    pairs = [(one, other) for family in KIN for one in family for other in family]
    columns = [
        {(row, 1): value for row, value in enumerate(part, 1)} for part in zip(*pairs, strict=True)
    ]
    paths = [save(tmp_path / f"{n}.xlsx", {"S": cells}) for n, cells in enumerate(columns)]
    ones, others = (read(path.read_bytes(), read_areas("S!A:A")).cells["S"] for path in paths)
    books = [openpyxl.load_workbook(path, data_only=True)["S"] for path in paths]
    seen: Counter[bool] = Counter()
    for row, pair in enumerate(pairs, 1):
        cell = f"A{row}"
        wanted = same(*(book[cell].value for book in books))
        cells = ({cell: part[cell]} if cell in part else {} for part in (ones, others))
        assert compare(*({"S": each} for each in cells)).equal is wanted, pair
        seen[wanted] += 1
    assert min(seen[True], seen[False]) >= 150
