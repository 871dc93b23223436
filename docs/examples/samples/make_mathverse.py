"""Draws the bundled sample of MathVerse: `python make_mathverse.py FOLDER`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from drawing import BLACK, BLUE, GREY, RED, Drawn, Sheet, main

SEED = 11
PER_SPLIT = 2
SPLITS = ("train", "val", "test")
PLANE, SOLID, FUNCTIONS = "Plane Geometry", "Solid Geometry", "Functions"

Record = dict[str, Any]


def make() -> Mapping[str, Sequence[Drawn]]:
    """Two problems of each kind for each split; no problem stands twice."""
    rng = Random(SEED)
    splits: dict[str, list[Drawn]] = {split: [] for split in SPLITS}
    number = 0
    for draw in (third_angle, hypotenuse, disc, slope, transversal, box):
        known: set[str] = set()
        for split in SPLITS:
            for _ in range(PER_SPLIT):
                number += 1
                record, sheet = draw(rng)
                while record["answer"] in known:
                    record, sheet = draw(rng)
                known.add(record["answer"])
                splits[split].append(Drawn({**_head(number), **_mixed(record, number)}, sheet))
    return splits


def third_angle(rng: Random) -> tuple[Record, Sheet]:
    """A triangle with two of its angles."""
    left, right = rng.randint(35, 75), rng.randint(35, 75)
    width = 220
    a, b = math.tan(math.radians(left)), math.tan(math.radians(right))
    x = width * b / (a + b)
    scale = min(1.0, 170 / (x * a))
    corners = [(50, 210), (50 + width * scale, 210), (50 + x * scale, 210 - x * a * scale)]
    sheet = Sheet()
    sheet.lines([*corners, corners[0]])
    sheet.text((corners[0][0] + 36 * scale + 8, 198), f"{left}°", 15, BLUE)
    sheet.text((corners[1][0] - 36 * scale - 8, 198), f"{right}°", 15, BLUE)
    sheet.text((corners[2][0], corners[2][1] + 34), "x", 18, RED)
    _named(sheet, "ABC", corners)
    question = "As shown in the figure, find the size of the angle x of triangle ABC in degrees."
    answer = f"{180 - left - right}^{{\\circ}}"
    return _free(PLANE, question, answer), sheet


def hypotenuse(rng: Random) -> tuple[Record, Sheet]:
    """A right triangle with its legs."""
    a, b = rng.randint(2, 9), rng.randint(2, 9)
    while math.isqrt(a * a + b * b) ** 2 == a * a + b * b:
        b = rng.randint(2, 9)
    unit = 165 / max(a, b)
    corners = [(60, 205), (60 + b * unit, 205), (60, 205 - a * unit)]
    sheet = Sheet((320, 250))
    sheet.lines([*corners, corners[0]])
    sheet.lines([(60, 193), (72, 193), (72, 205)], GREY, 1)
    sheet.text((60 + b * unit / 2, 220), str(b), 18, BLUE)
    sheet.text((44, 205 - a * unit / 2), str(a), 18, BLUE)
    _named(sheet, "CBA", corners)
    question = "As shown in the figure, angle C is a right angle. Find the exact length of AB."
    return _free(PLANE, question, _root(a * a + b * b)), sheet


def disc(rng: Random) -> tuple[Record, Sheet]:
    """A circle with its radius."""
    r = rng.randint(3, 12)
    sheet = Sheet()
    sheet.draw.ellipse((70, 20, 250, 200), outline=BLACK, width=2)
    sheet.lines([(160, 110), (250, 110)], BLUE)
    sheet.draw.ellipse((157, 107, 163, 113), fill=BLACK)
    sheet.text((205, 96), str(r), 18, BLUE)
    sheet.text((150, 98), "O", 16)
    question = "As shown in the figure, find the area of the circle with the centre O."
    values = [r * r, 2 * r, r, 4 * r * r]
    return _choice(PLANE, question, [f"{n}\\pi" for n in values]), sheet


def slope(rng: Random) -> tuple[Record, Sheet]:
    """A straight line through two marked points of a grid."""
    run, rise = rng.randint(2, 6), rng.choice([-4, -3, -2, -1, 1, 2, 3, 4])
    start = (rng.randint(-3, 3 - run) if run < 4 else -3, -rise // 2)
    sheet = Sheet((320, 260))
    for n in range(-5, 6):
        sheet.lines([_at(n, -5), _at(n, 5)], GREY, 1)
        sheet.lines([_at(-5, n), _at(5, n)], GREY, 1)
    sheet.lines([_at(-5, 0), _at(5, 0)])
    sheet.lines([_at(0, -5), _at(0, 5)])
    sheet.text((_at(5, 0)[0] + 12, _at(5, 0)[1]), "x", 16)
    sheet.text((_at(0, 5)[0], _at(0, 5)[1] - 9), "y", 16)
    sheet.text((_at(1, 0)[0], _at(1, 0)[1] + 10), "1", 13)
    sheet.text((_at(0, 1)[0] - 8, _at(0, 1)[1]), "1", 13)
    end = (start[0] + run, start[1] + rise)
    sheet.lines([_at(*start), _at(*end)], BLUE, 3)
    for point in (start, end):
        x, y = _at(*point)
        sheet.draw.ellipse((x - 4, y - 4, x + 4, y + 4), fill=RED)
    question = "As shown in the figure, find the slope of the line through the two marked points."
    return _free(FUNCTIONS, question, _fraction(Fraction(rise, run))), sheet


def transversal(rng: Random) -> tuple[Record, Sheet]:
    """Two parallel lines, cut by a third."""
    angle = rng.randint(48, 78)
    sheet = Sheet()
    lean = 110 / math.tan(math.radians(angle))
    low, high = (160 - lean / 2, 170), (160 + lean / 2, 60)
    for y, name in ((60, "m"), (170, "n")):
        sheet.lines([(30, y), (290, y)])
        sheet.text((304, y), name, 16)
    beyond = (lean / 110 * 40, 40)
    sheet.lines([(low[0] - beyond[0], low[1] + 40), (high[0] + beyond[0], high[1] - 40)])
    sheet.text((high[0] + 38, 46), f"{angle}°", 15, BLUE)
    sheet.text((low[0] - 22, 156), "1", 18, RED)
    question = "As shown in the figure, m and n are parallel. What is the size of angle 1?"
    values = [180 - angle, angle, 90 - angle, 360 - 2 * angle]
    return _choice(PLANE, question, [f"{n}°" for n in values]), sheet


def box(rng: Random) -> tuple[Record, Sheet]:
    """A box with its three edges."""
    a, b, c = (rng.randint(2, 7) for _ in range(3))
    x, y, width, height, back = 70, 200, 24 * a, 20 * c, 9 * b
    sheet = Sheet((330, 260))
    front = [(x, y), (x + width, y), (x + width, y - height), (x, y - height)]
    behind = [(px + back, py - back) for px, py in front]
    sheet.lines([*front, front[0]])
    sheet.lines([behind[1], behind[2], behind[3]])
    for place in (1, 2, 3):
        sheet.lines([front[place], behind[place]])
    hidden = [(behind[0], behind[1]), (behind[0], behind[3]), (behind[0], front[0])]
    for pair in hidden:
        sheet.lines(pair, GREY, 1)
    sheet.text((x + width / 2, y + 16), str(a), 18, BLUE)
    sheet.text((x + width + back / 2 + 14, y - back / 2 + 8), str(b), 18, BLUE)
    sheet.text((x - 16, y - height / 2), str(c), 18, BLUE)
    question = "As shown in the figure, find the surface area of the box."
    return _free(SOLID, question, str(2 * (a * b + b * c + c * a))), sheet


def _at(x: float, y: float) -> tuple[float, float]:
    """A point of the grid in the picture."""
    return (160 + 22 * x, 138 - 22 * y)


def _named(sheet: Sheet, names: str, corners: Sequence[tuple[float, float]]) -> None:
    middle = [sum(p[i] for p in corners) / len(corners) for i in (0, 1)]
    for name, (x, y) in zip(names, corners, strict=True):
        far = math.hypot(x - middle[0], y - middle[1])
        sheet.text((x + 14 * (x - middle[0]) / far, y + 14 * (y - middle[1]) / far), name, 16)


def _root(n: int) -> str:
    factor = max(f for f in range(1, n) if n % (f * f) == 0)
    inside = n // (factor * factor)
    return f"\\sqrt{{{inside}}}" if factor == 1 else f"{factor}\\sqrt{{{inside}}}"


def _fraction(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def _head(number: int) -> Record:
    return {
        "sample_index": str(number),
        "problem_index": str(number),
        "problem_version": "Text Lite",
    }


def _free(subject: str, question: str, answer: str) -> Record:
    about = {"source": "drawn for this sample", "subject": subject}
    return {
        "question": question,
        "question_type": "free-form",
        "answer": answer,
        "metadata": about,
    }


def _choice(subject: str, question: str, options: list[str]) -> Record:
    """A question with options, the first of which is right; `_mixed` puts them in order."""
    record = _free(subject, question, options[0])
    return {**record, "question_type": "multi-choice", "options": options}


def _mixed(record: Record, number: int) -> Record:
    """The record with its options in the question, the right one at a place of its own."""
    if "options" not in record:
        return record
    right, *wrong = record["options"]
    place = number % 4
    options = [*wrong[:place], right, *wrong[place:]]
    block = "\n".join(f"{letter}:{text}" for letter, text in zip("ABCD", options, strict=True))
    question = f"{record['question']}\nChoices:\n{block}"
    mixed = {**record, "question": question, "answer": "ABCD"[place]}
    del mixed["options"]
    return mixed


if __name__ == "__main__":
    main(make)
