"""Draws the bundled sample of DocVQA: `python make_docvqa.py FOLDER`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from drawing import BLACK, BLUE, GREY, RED, Drawn, Sheet, main
from PIL import ImageFont

SEED = 3
PER_SPLIT = 2
SPLITS = ("train", "val", "test")
SIZE = (420, 330)
PEOPLE = (
    *("Ada Brandt", "Boris Keller", "Carla Niemi", "Derek Osei", "Elin Marsh", "Farid Toma"),
    *("Greta Lund", "Hugo Perez", "Ines Vogel", "Jonas Wirth", "Karin Abt", "Luis Ortega"),
    *("Mira Stahl", "Noah Quist"),
)
PLACES = ("Aldbury", "Brackwater", "Corvey", "Dunmoor", "Eastlake", "Fenton", "Garrow", "Holmby")
STREETS = ("Mill Lane", "Harbour Road", "Station Street", "Oak Avenue", "Church Hill")
MONTHS = ("January", "March", "April", "June", "August", "October", "November")
GOODS = ("paper", "ink", "twine", "chalk", "lamp oil", "nails", "glue", "wire", "canvas", "soap")
FIRMS = ("Aldbury Print Works", "North Quay Stores", "Fenton & Sons", "Garrow Mills", "Oak Press")

Record = dict[str, Any]
Page = tuple[str, Sequence[str], Sheet]
"""A question, its answers and the page."""


def make() -> Mapping[str, Sequence[Drawn]]:
    """Two pages of each kind for each split; no page stands twice."""
    rng = Random(SEED)
    splits: dict[str, list[Drawn]] = {split: [] for split in SPLITS}
    number = 0
    for topic, kind in KINDS:
        for split in SPLITS:
            for _ in range(PER_SPLIT):
                number += 1
                question, answers, sheet = kind(rng, number)
                record = {
                    "questionId": str(5000 + number),
                    "docId": 700 + number,
                    "question": question,
                    "answers": list(answers),
                    "topic": topic,
                }
                splits[split].append(Drawn(record, sheet))
    return splits


def form(rng: Random, number: int) -> Page:
    """A filled-in form; one of its fields is asked for."""
    applicant, clerk = rng.sample(PEOPLE, 2)
    fields = {
        "Name of applicant": applicant,
        "Date of birth": _date(rng),
        "Place of residence": rng.choice(PLACES),
        "Telephone": f"{rng.randint(20, 99)}-{rng.randint(1000, 9999)}",
        "Registration no.": f"{rng.choice('ABKR')}{rng.randint(100, 999)}/{rng.randint(10, 99)}",
        "Date received": _date(rng),
        "Received by": clerk,
    }
    sheet = Sheet(SIZE)
    _write(sheet, (20, 14), f"Form {number + 20} B - Application for a permit", 19)
    for row, (label, value) in enumerate(fields.items()):
        top = 50 + 38 * row
        sheet.draw.rectangle((18, top, 402, top + 38), outline=GREY)
        _write(sheet, (26, top + 10), label, 14, GREY)
        _write(sheet, (200, top + 8), value, 17, BLUE)
    asked = rng.choice(list(fields))
    return f"What is entered under '{asked}'?", [fields[asked]], sheet


def table(rng: Random, _: int) -> Page:
    """A table of stocks by town; one cell is asked for."""
    towns, goods = rng.sample(PLACES, 4), rng.sample(GOODS, 3)
    stock = [[f"{rng.randint(1000, 9999):,}" for _ in goods] for _ in towns]
    sheet = Sheet(SIZE)
    year = rng.randint(1951, 1979)
    _write(sheet, (20, 16), f"Table {rng.randint(2, 9)}. Stocks at the end of {year}, in kg", 17)
    for column, name in enumerate(("Town", *goods)):
        _write(sheet, (24 + 100 * column, 60), name, 16)
    sheet.lines([(18, 86), (402, 86)])
    for row, town in enumerate(towns):
        for column, text in enumerate((town, *stock[row])):
            _write(sheet, (24 + 100 * column, 98 + 40 * row), text, 17)
        sheet.lines([(18, 130 + 40 * row), (402, 130 + 40 * row)], GREY, 1)
    row, column = rng.randrange(4), rng.randrange(3)
    question = f"What was the stock of {goods[column]} in {towns[row]}, in kg?"
    return question, [stock[row][column]], sheet


def letter(rng: Random, _: int) -> Page:
    """A letter; its writer, its reader, its date or its business is asked for."""
    writer, reader = rng.sample(PEOPLE, 2)
    sent, meeting, place = _date(rng), _date(rng), rng.choice(PLACES)
    goods = rng.choice(GOODS)
    sheet = Sheet(SIZE)
    street = f"{rng.randint(2, 98)} {rng.choice(STREETS)}"
    _write(sheet, (250, 14), rng.choice(FIRMS), 15, BLUE)
    _write(sheet, (250, 34), street, 14, BLUE)
    _write(sheet, (24, 62), sent, 15)
    lines = (
        f"Dear {reader},",
        "",
        f"thank you for your order of {goods}. We would like",
        f"to speak about it in {place} on {meeting},",
        "if that suits you. Please let us know by return.",
        "",
        "Yours sincerely,",
    )
    for n, line in enumerate(lines):
        _write(sheet, (24, 98 + 24 * n), line, 15)
    _write(sheet, (40, 276), writer, 20, BLUE)
    question, answer = rng.choice([
        ("Who signed the letter?", writer),
        ("To whom is the letter addressed?", reader),
        ("What is the date of the letter?", sent),
        ("When shall the meeting take place?", meeting),
        ("Where shall the meeting take place?", place),
        ("What is the street address in the letterhead?", street),
    ])
    return question, [answer], sheet


def receipt(rng: Random, _: int) -> Page:
    """A receipt; an amount on it is asked for."""
    goods = rng.sample(GOODS, 4)
    prices = [rng.randint(115, 2990) for _ in goods]
    paid = (sum(prices) // 1000 + 1) * 1000
    rows = [*zip(goods, prices, strict=True), ("TOTAL", sum(prices))]
    rows += [("cash", paid), ("change", paid - sum(prices))]
    sheet = Sheet((300, 330))
    _write(sheet, (24, 12), rng.choice(FIRMS), 18)
    _write(sheet, (24, 38), f"Receipt no. {rng.randint(10000, 99999)}", 14, GREY)
    for n, (name, cents) in enumerate(rows):
        top = 70 + 33 * n + (10 if n >= len(goods) else 0)
        _write(sheet, (24, top), name, 17)
        _write(sheet, (200, top), f"${cents / 100:.2f}", 17)
    sheet.lines([(18, 205), (282, 205)])
    name, cents = rng.choice(rows)
    asked = {"TOTAL": "the total", "cash": "the amount paid in cash", "change": "the change"}
    question = f"What is {asked.get(name, f'the price of {name}')} on the receipt?"
    return question, [f"${cents / 100:.2f}", f"{cents / 100:.2f}"], sheet


def chart(rng: Random, _: int) -> Page:
    """A chart of bars with their values; the highest, the lowest or one value is asked for."""
    towns = rng.sample(PLACES, 4)
    values = rng.sample(range(12, 98), 4)
    sheet = Sheet(SIZE)
    _write(sheet, (24, 14), f"Fig. {rng.randint(1, 12)}: Letters carried per day, in thousands", 16)
    for n, (town, value) in enumerate(zip(towns, values, strict=True)):
        left = 40 + 92 * n
        sheet.draw.rectangle((left, 280 - 2 * value, left + 50, 280), fill=(BLUE, GREY)[n % 2])
        sheet.text((left + 25, 268 - 2 * value), str(value), 16)
        sheet.text((left + 25, 298), town, 15)
    sheet.lines([(24, 280), (400, 280)])
    n = rng.randrange(4)
    question, answer = rng.choice([
        ("Which town has the highest bar?", towns[values.index(max(values))]),
        ("Which town has the lowest bar?", towns[values.index(min(values))]),
        (f"What value does the chart show for {towns[n]}?", str(values[n])),
    ])
    return question, [answer], sheet


def notice(rng: Random, number: int) -> Page:
    """A notice with a heading, a stamp, a footer and a page number."""
    year = rng.randint(1951, 1979)
    stamped, place = _date(rng), rng.choice(PLACES)
    copy = f"{rng.choice('CDEF')}-{rng.randint(100, 999)}"
    heading = f"{rng.choice(('Library', 'Ferry', 'Market', 'Museum'))} hours in {year}"
    page = str(rng.randint(2, 60))
    sheet = Sheet(SIZE)
    sheet.text((210, 34), heading, 24)
    for n, day in enumerate(("Monday to Friday", "Saturday", "Sunday")):
        opens, closes = rng.randint(7, 10), rng.randint(15, 19)
        _write(sheet, (60, 80 + 32 * n), day, 17)
        _write(sheet, (250, 80 + 32 * n), f"{opens}.00 - {closes}.30", 17)
    sheet.draw.rectangle((210, 190, 390, 250), outline=RED, width=3)
    sheet.text((300, 208), "RECEIVED", 16, RED)
    sheet.text((300, 232), stamped, 15, RED)
    _write(sheet, (24, 300), f"Copy {copy}, {place}", 14)
    sheet.text((390, 308), page, 15)
    question, answer = rng.choice([
        ("What is the heading of the page?", heading),
        ("What date is on the stamp?", stamped),
        ("What is the page number in the corner at the bottom?", page),
        ("Which copy is this, according to the footer?", copy),
    ])
    return question, [answer], sheet


KINDS: Sequence[tuple[str, Callable[[Random, int], Page]]] = (
    ("form", form),
    ("table/list", table),
    ("free_text", letter),
    ("table/list", receipt),
    ("figure/diagram", chart),
    ("layout", notice),
)


def _date(rng: Random) -> str:
    return f"{rng.randint(1, 28)} {rng.choice(MONTHS)} {rng.randint(1951, 1979)}"


def _write(sheet: Sheet, at: tuple[int, int], words: str, size: int, fill: int = BLACK) -> None:
    """Words to the right of a place."""
    sheet.draw.text(at, words, fill=fill, font=ImageFont.load_default(size))


if __name__ == "__main__":
    main(make)
