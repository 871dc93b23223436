"""Writes the bundled sample of OfficeQA: `python make_officeqa.py FOLDER`.

Bulletins of a treasury that never was, and questions about their tables.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

SEED = 1961
SIZES = {"train": 24, "val": 20, "test": 24}
FIRST_HALF = ("January", "February", "March", "April", "May", "June")
SECOND_HALF = ("July", "August", "September", "October", "November", "December")
HALVES = tuple((year, names) for year in (1961, 1962, 1963) for names in (FIRST_HALF, SECOND_HALF))
PARSED = "bulletin_1961_06"
"""The bulletin whose pages lie there in parsed form, too."""
ADDRESS = "https://treasury.example/bulletins"

Item = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of a bulletin: a row for each month, a column for each thing."""

    title: str
    unit: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[float, ...]]
    decimals: int = 0

    def cell(self, month: str, column: str) -> float:
        return self.rows[month][self.columns.index(column)]

    def shown(self, value: float) -> str:
        return f"{value:,.{self.decimals}f}"

    def markdown(self) -> str:
        lines = [f"| Month | {' | '.join(self.columns)} |", "|---" * (len(self.columns) + 1) + "|"]
        for month, values in self.rows.items():
            lines.append(f"| {month} | {' | '.join(self.shown(v) for v in values)} |")
        return "\n".join(lines)

    def html(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("Month", *self.columns))
        rows = "".join(
            f"<tr><td>{m}</td>{''.join(f'<td>{self.shown(v)}</td>' for v in vs)}</tr>"
            for m, vs in self.rows.items()
        )
        return f"<table><tr>{head}</tr>{rows}</table>"


@dataclass(frozen=True)
class Bulletin:
    """Four tables over half a year."""

    stem: str
    months: tuple[str, ...]
    receipts: Table
    spending: Table
    debt: Table
    rates: Table

    @property
    def file(self) -> str:
        return f"{self.stem}.txt"

    @property
    def tables(self) -> tuple[Table, ...]:
        return (self.receipts, self.spending, self.debt, self.rates)

    def text(self) -> str:
        span = f"{self.months[0]} to {self.months[-1]}"
        parts = [
            f"BULLETIN OF THE TREASURY OF NORDMARK\n\nFigures for {span}",
            "Amounts are in millions of crowns unless a table says otherwise. Figures of the last"
            " month are preliminary in the daily statement and final here.",
        ]
        for number, table in enumerate(self.tables, 1):
            parts.append(f"Table {number}. {table.title} ({table.unit})\n\n{table.markdown()}")
            parts.append(
                f"Source of table {number}: accounts of the Treasury, office {number + 3}."
            )
        return "\n\n".join(parts) + "\n"

    def parsed(self) -> dict[str, Any]:
        elements = []
        for number, table in enumerate(self.tables, 1):
            title = f"Table {number}. {table.title} ({table.unit})"
            for kind, content in (("title", title), ("table", table.html())):
                box = [{"coord": [0, 0, 1, 1], "page_id": number}]
                elements.append({"type": kind, "content": content, "bbox": box})
        return {"document": {"elements": elements}}


def bulletins(rng: Random) -> list[Bulletin]:
    """Series that wander on from one bulletin to the next."""
    sources = ("Income taxes", "Customs duties", "Excises", "Stamp duties")
    departments = ("Works", "Defence", "Schools", "Health", "Railways")
    papers = ("Bonds", "Notes", "Bills", "Savings certificates")
    level = {name: rng.uniform(90, 900) for name in (*sources, *departments)}
    level |= {name: rng.uniform(2000, 9000) for name in papers}
    rate = {name: rng.uniform(2.5, 4.5) for name in papers}

    def step(name: str) -> float:
        level[name] *= rng.uniform(0.9, 1.12)
        return round(level[name])

    def rate_step(name: str) -> float:
        rate[name] += rng.choice((-0.12, -0.05, 0.03, 0.08, 0.15))
        return round(rate[name], 2)

    made = []
    for year, names in HALVES:
        months = tuple(f"{name} {year}" for name in names)
        last = "06" if names == FIRST_HALF else "12"
        taken = {m: tuple(step(name) for name in sources) for m in months}
        receipts = {m: (*values, sum(values)) for m, values in taken.items()}
        made.append(
            Bulletin(
                f"bulletin_{year}_{last}",
                months,
                Table(
                    "Receipts by source",
                    "millions of crowns",
                    (*sources, "Total receipts"),
                    receipts,
                ),
                Table(
                    "Expenditures by department",
                    "millions of crowns",
                    departments,
                    {m: tuple(step(name) for name in departments) for m in months},
                ),
                Table(
                    "Public debt outstanding at the end of the month",
                    "millions of crowns",
                    papers,
                    {m: tuple(step(name) for name in papers) for m in months},
                ),
                Table(
                    "Average interest rate on the public debt",
                    "percent a year",
                    papers,
                    {m: tuple(rate_step(name) for name in papers) for m in months},
                    decimals=2,
                ),
            )
        )
    return made


def lookup(rng: Random, all_of_them: Sequence[Bulletin]) -> Item:
    bulletin = rng.choice(all_of_them)
    month, column = rng.choice(bulletin.months), rng.choice(bulletin.receipts.columns[:-1])
    question = f"What were the receipts from {column.lower()} in {month}, in millions of crowns?"
    return item(question, bulletin.receipts.shown(bulletin.receipts.cell(month, column)), bulletin)


def spending(rng: Random, all_of_them: Sequence[Bulletin]) -> Item:
    """Without a hint where to look."""
    bulletin = rng.choice(all_of_them)
    month, column = rng.choice(bulletin.months), rng.choice(bulletin.spending.columns)
    question = (
        f"How much did the department of {column} spend in {month}? Give the expenditures in"
        " millions of crowns."
    )
    return item(question, bulletin.spending.shown(bulletin.spending.cell(month, column)))


def rate(rng: Random, all_of_them: Sequence[Bulletin]) -> Item:
    bulletin = rng.choice(all_of_them)
    month, column = rng.choice(bulletin.months), rng.choice(bulletin.rates.columns)
    question = (
        f"What was the average interest rate on {column.lower()} in {month}? Give percent with two"
        " decimals, without the sign."
    )
    return item(question, bulletin.rates.shown(bulletin.rates.cell(month, column)), bulletin)


def change(rng: Random, all_of_them: Sequence[Bulletin]) -> Item:
    bulletin = rng.choice(all_of_them)
    first, last = sorted(rng.sample(range(6), 2))
    column = rng.choice(bulletin.debt.columns)
    before, after = (bulletin.debt.cell(bulletin.months[at], column) for at in (first, last))
    question = (
        f"By how many millions of crowns did the public debt in {column.lower()} change from the"
        f" end of {bulletin.months[first]} to the end of {bulletin.months[last]}? Use a minus sign"
        " for a fall."
    )
    return item(question, f"{after - before:,.0f}", bulletin)


def quarter(rng: Random, all_of_them: Sequence[Bulletin]) -> Item:
    bulletin = rng.choice(all_of_them)
    start, column = rng.choice((0, 3)), rng.choice(bulletin.spending.columns)
    months = bulletin.months[start : start + 3]
    total = sum(bulletin.spending.cell(month, column) for month in months)
    question = (
        f"What did the department of {column} spend from {months[0]} through {months[2]} in total,"
        " in millions of crowns?"
    )
    return item(question, f"{total:,.0f}", bulletin)


def share(rng: Random, all_of_them: Sequence[Bulletin]) -> Item:
    bulletin = rng.choice([b for b in all_of_them if b.stem == PARSED] * 3 + list(all_of_them))
    month, column = rng.choice(bulletin.months), rng.choice(bulletin.receipts.columns[:-1])
    part = bulletin.receipts.cell(month, column) / bulletin.receipts.cell(month, "Total receipts")
    question = (
        f"What percentage of total receipts in {month} came from {column.lower()}? Round to one"
        " decimal and write the sign, such as 4.0%."
    )
    made = item(question, f"{100 * part:.1f}%", bulletin)
    if bulletin.stem == PARSED:
        made["source_docs"] = [f"{ADDRESS}/{bulletin.stem}?page=1"]
    return made


def peak(rng: Random, all_of_them: Sequence[Bulletin]) -> Item:
    bulletin = rng.choice(all_of_them)
    column = rng.choice(bulletin.debt.columns)
    values = {month: bulletin.debt.cell(month, column) for month in bulletin.months}
    question = (
        f"In which month from {bulletin.months[0]} to {bulletin.months[-1]} was the public debt in"
        f" {column.lower()} at its highest? Give month and year."
    )
    return item(question, max(values, key=lambda month: values[month]), bulletin)


def year_on_year(rng: Random, all_of_them: Sequence[Bulletin]) -> Item:
    at = rng.randrange(len(all_of_them) - 2)
    early, late = all_of_them[at], all_of_them[at + 2]
    month, column = rng.randrange(6), rng.choice(early.receipts.columns)
    before, after = (b.receipts.cell(b.months[month], column) for b in (early, late))
    question = (
        f"Compare {early.months[month]} with {late.months[month]}: by how many millions of crowns"
        f" did {column.lower()} rise, or fall with a minus sign?"
    )
    return item(question, f"{after - before:,.0f}", early, late)


KINDS: Mapping[str, Callable[[Random, Sequence[Bulletin]], Item]] = {
    "lookup": lookup,
    "rate": rate,
    "spending": spending,
    "change": change,
    "quarter": quarter,
    "share": share,
    "peak": peak,
    "year on year": year_on_year,
}


def item(question: str, answer: str, *sources: Bulletin) -> Item:
    return {
        "question": question,
        "ground_truth": answer,
        "source_files": [bulletin.file for bulletin in sources],
        "source_docs": [],
    }


def make(folder: Path) -> None:
    """Write train|val|test/items.json, and docs/ beside them."""
    rng = Random(SEED)
    issued = bulletins(rng)
    for bulletin in issued:
        write(folder / "docs" / "transformed" / bulletin.file, bulletin.text())
    (parsed,) = (bulletin for bulletin in issued if bulletin.stem == PARSED)
    write(folder / "docs" / "jsons" / f"{PARSED}.json", json.dumps(parsed.parsed()) + "\n")
    known: set[str] = set()
    for split, size in SIZES.items():
        items = []
        while len(items) < size:
            kind = list(KINDS)[len(items) % len(KINDS)]
            made = KINDS[kind](rng, issued)
            if made["question"] not in known:
                known.add(made["question"])
                items.append({"uid": f"{split}-{len(items) + 1:02d}", "category": kind, **made})
        lines = ",\n".join(json.dumps(one) for one in items)
        write(folder / split / "items.json", f"[\n{lines}\n]\n")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
