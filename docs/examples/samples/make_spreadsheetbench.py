"""Makes the bundled sample of spreadsheetbench: workbooks, instructions and answers of our own.

    python make_spreadsheetbench.py FOLDER

The same seed gives the same files, down to the byte with one version of openpyxl.
"""

from __future__ import annotations

import datetime
import json
import random
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from openpyxl import Workbook
from openpyxl.utils import get_column_letter

SEED = 20
SPLITS = {"train": 12, "val": 8, "test": 12}
CELL, SHEET = "Cell-Level Manipulation", "Sheet-Level Manipulation"
DAY = datetime.datetime(2024, 1, 1)
MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)")

Table = list[list[object]]
Book = dict[str, Table]


@dataclass
class Item:
    """A task: what is asked, where the answer stands, and the workbooks before and after."""

    instruction: str
    position: str
    kind: str
    cases: list[tuple[Book, Book]] = field(default_factory=list)
    sheet: str = ""


REGIONS = ("North", "South", "East", "West")
GOODS = ("Lamp", "Chair", "Desk", "Shelf", "Clock", "Rug", "Vase")
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo", "Ida", "Jon")
FAMILIES = ("Ames", "Berg", "Cole", "Dorn", "Engel", "Falk", "Gray", "Holt", "Ivers", "Kern")
SHEETS = ("Sales", "Sales 2024", "North, East", "Q1", "Orders", "Bob's list", "data")


def orders(rng: random.Random) -> Table:
    """A table of orders, without a value here and there."""
    rows: Table = [["Region", "Item", "Quantity", "Price"]]
    for _ in range(rng.randint(7, 14)):
        price = round(rng.uniform(3, 90), 2)
        rows.append([rng.choice(REGIONS), rng.choice(GOODS), rng.randint(1, 30), price])
    return rows


def people(rng: random.Random) -> Table:
    """A table of people with two dates each."""
    rows: Table = [["First", "Last", "Start", "End"]]
    for _ in range(rng.randint(6, 11)):
        start = DAY + datetime.timedelta(days=rng.randint(0, 200))
        end = start + datetime.timedelta(days=rng.randint(1, 90))
        rows.append([rng.choice(NAMES), rng.choice(FAMILIES), start, end])
    return rows


def column(rows: Table, header: str) -> list[object]:
    """The values below a header."""
    at = rows[0].index(header)
    return [row[at] for row in rows[1:]]


def with_column(rows: Table, header: str, values: list[object]) -> Table:
    """The table with one more column."""
    return [[*rows[0], header], *([*row, v] for row, v in zip(rows[1:], values, strict=True))]


def quoted(sheet: str) -> str:
    """A sheet's name as references hold it."""
    escaped = sheet.replace("'", "''")
    return sheet if sheet.isalnum() else f"'{escaped}'"


Make = Callable[[random.Random, str], tuple[Book, Book]]


def statistic(rng: random.Random, sheet: str, which: int) -> Item:
    word, of = (
        ("sum", sum),
        ("largest value", max),
        ("smallest value", min),
        ("average, rounded to two places,", lambda values: round(sum(values) / len(values), 2)),
    )[which % 4]
    header = ("Quantity", "Price")[which // 4 % 2]

    def case() -> tuple[Book, Book]:
        rows = orders(rng)
        after = [list(row) for row in rows]
        after[0] += [None, "Result"]
        after[1] += [None, of(column(rows, header))]
        before = [list(row) for row in rows]
        before[0] += [None, "Result"]
        return {sheet: before}, {sheet: after}

    places = ("F2", "$F$2", "f2", "F2:F2")
    text = f"Put the {word} of the column `{header}` on sheet `{sheet}` into cell F2."
    return Item(text, f"{quoted(sheet)}!{places[which % 4]}", CELL, [case(), case()])


def count(rng: random.Random, sheet: str, which: int) -> Item:
    region = REGIONS[which % 4]

    def case() -> tuple[Book, Book]:
        rows = orders(rng)
        number = column(rows, "Region").count(region)
        after = [list(row) for row in rows]
        after[0] += [None, number]
        return {sheet: rows}, {sheet: after}

    text = f"Count the rows on sheet `{sheet}` whose `Region` is `{region}`. Put it into cell F1."
    return Item(text, "F1", CELL, [case()], sheet)


def product(rng: random.Random, sheet: str, which: int) -> Item:
    rows = orders(rng)
    pairs = zip(column(rows, "Quantity"), column(rows, "Price"), strict=True)
    total = [round(a * b, 2) for a, b in pairs]
    text = (
        f"On sheet `{sheet}`, add a column `Total` in column E:"
        " `Quantity` times `Price`, rounded to two places, for every row."
    )
    position = "E:E" if which % 2 else f"$E$1:$E${len(rows)}"
    return Item(
        text,
        f"{quoted(sheet)}!{position}",
        CELL,
        [({sheet: rows}, {sheet: with_column(rows, "Total", total)})],
    )


def capitals(rng: random.Random, sheet: str, which: int) -> Item:
    rows = orders(rng)
    header = ("Item", "Region")[which % 2]
    values = [str(value).upper() for value in column(rows, header)]
    text = f"On sheet `{sheet}`, write the `{header}` of every row in capital letters to column F."
    after = [[*row, None, ""] for row in rows]
    for row, value in zip(after[1:], values, strict=True):
        row[5] = value
    return Item(text, f"{quoted(sheet)}!F2:F{len(rows)}", CELL, [({sheet: rows}, {sheet: after})])


def full_names(rng: random.Random, sheet: str, which: int) -> Item:
    rows = people(rng)
    joined = [
        f"{first} {last}"
        for first, last in zip(column(rows, "First"), column(rows, "Last"), strict=True)
    ]
    text = (
        f"On sheet `{sheet}`, add a column `Name` in column E:"
        " `First` and `Last` joined by one blank."
    )
    after = with_column(rows, "Name", joined)
    return Item(text, f"{quoted(sheet)}!e1:e{len(rows)}", CELL, [({sheet: rows}, {sheet: after})])


def days(rng: random.Random, sheet: str, which: int) -> Item:
    rows = people(rng)
    spans = [
        (end - start).days
        for start, end in zip(column(rows, "Start"), column(rows, "End"), strict=True)
    ]
    text = (
        f"On sheet `{sheet}`, add a column `Days` in column E:"
        " the number of days from `Start` to `End` of every row."
    )
    after = with_column(rows, "Days", spans)
    return Item(text, f"E1:E{len(rows)}", CELL, [({sheet: rows}, {sheet: after})], sheet)


def chosen_rows(rng: random.Random, sheet: str, which: int) -> Item:
    region = REGIONS[which % 4]
    rows = orders(rng)
    kept = [rows[0], *(row for row in rows[1:] if row[0] == region)]
    text = (
        f"Copy the header and all rows of sheet `{sheet}` whose `Region` is `{region}`"
        " to a new sheet `Chosen`, from A1 on. Leave the other sheet as it is."
    )
    position = f"Chosen!A1:D{len(rows)},{quoted(sheet)}!A1:D{len(rows)}"
    return Item(text, position, SHEET, [({sheet: rows}, {sheet: rows, "Chosen": kept})])


def ordered(rng: random.Random, sheet: str, which: int) -> Item:
    rows = orders(rng)
    # No two prices are the same, so that there is one order only.
    prices = rng.sample(range(300, 9000), len(rows) - 1)
    rows = [
        rows[0],
        *([*row[:3], price / 100] for row, price in zip(rows[1:], prices, strict=True)),
    ]
    falling = which % 2 == 0
    after = [rows[0], *sorted(rows[1:], key=lambda row: row[3], reverse=falling)]
    word = "largest" if falling else "smallest"
    text = f"Sort the rows of sheet `{sheet}` by `Price`, {word} first. The header row stays."
    return Item(text, f"{quoted(sheet)}!A:D", SHEET, [({sheet: rows}, {sheet: after})])


def lookup(rng: random.Random, sheet: str, which: int) -> Item:
    prices = {item: round(rng.uniform(2, 60), 2) for item in GOODS}
    listed: Table = [["Item", "Price"], *([item, price] for item, price in prices.items())]
    rows: Table = [["Order", "Item"]]
    rows += [[100 + n, rng.choice(GOODS)] for n in range(rng.randint(5, 9))]
    after = with_column(rows, "Price", [prices[str(item)] for item in column(rows, "Item")])
    text = (
        f"For every row of sheet `{sheet}`, look up the `Price` of its `Item` on sheet `Prices`"
        " and write it to column C, with the header `Price`."
    )
    before = {sheet: rows, "Prices": listed}
    return Item(
        text,
        f"{quoted(sheet)}!C1:C{len(rows)}",
        CELL,
        [(before, {sheet: after, "Prices": listed})],
    )


def summary(rng: random.Random, sheet: str, which: int) -> Item:
    rows = orders(rng)
    totals = dict.fromkeys(REGIONS, 0)
    for region, quantity in zip(column(rows, "Region"), column(rows, "Quantity"), strict=True):
        totals[region] += quantity
    blank: Table = [["Region", "Quantity"], *([region] for region in REGIONS)]
    filled: Table = [["Region", "Quantity"], *([region, totals[region]] for region in REGIONS)]
    text = (
        f"Sheet `Summary` lists regions in column A. Write the sum of `Quantity` on sheet"
        f" `{sheet}` for each of them to column B; a region without orders gets 0."
    )
    before = {sheet: rows, "Summary": blank}
    return Item(text, "Summary!B2:B5", SHEET, [(before, {sheet: rows, "Summary": filled})])


def filled_in(rng: random.Random, sheet: str, which: int) -> Item:
    rows = orders(rng)
    for row in rows[1:]:
        row[2] = None if rng.random() < 0.3 else row[2]
    after = [rows[0], *([*row[:2], row[2] or 0, row[3]] for row in rows[1:])]
    text = f"On sheet `{sheet}`, put 0 into every blank cell of the column `Quantity`."
    return Item(text, f"{quoted(sheet)}!C2:C{len(rows)}", CELL, [({sheet: rows}, {sheet: after})])


KINDS = (
    statistic,
    count,
    product,
    capitals,
    full_names,
    days,
    chosen_rows,
    ordered,
    lookup,
    summary,
    filled_in,
)


def items() -> Iterator[Item]:
    """All tasks, kind after kind."""
    rng = random.Random(SEED)
    for number in range(sum(SPLITS.values())):
        round_, kind = divmod(number, len(KINDS))
        sheet = SHEETS[(number * 3 + round_) % len(SHEETS)]
        yield KINDS[kind](rng, sheet, round_ * 5 + kind)


def save(book: Book, path: Path) -> None:
    """Write a workbook."""
    workbook = Workbook()
    workbook.remove(workbook.active)
    workbook.properties.created = DAY
    for name, rows in book.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
        for number in range(1, sheet.max_column + 1):
            sheet.column_dimensions[get_column_letter(number)].width = 12
    path.parent.mkdir(parents=True, exist_ok=True)
    saved = BytesIO()
    workbook.save(saved)
    with zipfile.ZipFile(saved) as made, zipfile.ZipFile(path, "w") as kept:
        for name in made.namelist():
            # The library writes down when it saved, in one part and on each.
            content = MODIFIED.sub(rb"\g<1>2024-01-01T00:00:00Z\g<2>", made.read(name))
            entry = zipfile.ZipInfo(name, DAY.timetuple()[:6])
            kept.writestr(entry, content, zipfile.ZIP_DEFLATED)


def main(folder: Path) -> None:
    """Write the sample into a folder."""
    made = items()
    number = 0
    for split, size in SPLITS.items():
        records = []
        for _ in range(size):
            number += 1
            task_id, item = f"s{number:02d}", next(made)
            for case, (before, after) in enumerate(item.cases, 1):
                place = folder / "spreadsheet" / task_id
                save(before, place / f"{case}_{task_id}_input.xlsx")
                save(after, place / f"{case}_{task_id}_answer.xlsx")
            records.append({
                "id": task_id,
                "instruction": item.instruction,
                "instruction_type": item.kind,
                "answer_position": item.position,
                **({"answer_sheet": item.sheet} if item.sheet else {}),
                "spreadsheet_path": f"spreadsheet/{task_id}",
            })
        path = folder / split / "items.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(records, indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
