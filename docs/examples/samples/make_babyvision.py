"""Draws the bundled sample of BabyVision: `python make_babyvision.py FOLDER`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from drawing import BLACK, COLOURS, GOLD, GREY, WHITE, Drawn, Sheet, main

SEED = 7
PER_SPLIT = 2
SPLITS = ("train", "val", "test")
SHAPES = ("circle", "square", "triangle", "diamond")
LETTERS = "ABCDEF"

Record = dict[str, Any]


def make() -> Mapping[str, Sequence[Drawn]]:
    """Two puzzles of each kind for each split."""
    rng = Random(SEED)
    splits: dict[str, list[Drawn]] = {split: [] for split in SPLITS}
    number = 0
    for draw in (count, odd_one, follow, continued, blocks, longest):
        for split in SPLITS:
            for _ in range(PER_SPLIT):
                number += 1
                record, sheet = draw(rng, number)
                splits[split].append(Drawn({"taskId": number, **record}, sheet))
    return splits


def count(rng: Random, number: int) -> tuple[Record, Sheet]:
    """Shapes in a jumble, some of which are asked for."""
    sheet = Sheet()
    shape, colour = rng.choice(SHAPES), rng.choice(list(COLOURS))
    places = [(40 + 48 * x, 36 + 42 * y) for x in range(6) for y in range(5)]
    rng.shuffle(places)
    wanted = rng.randint(3, 9)
    for index, (x, y) in enumerate(places[: wanted + 13]):
        at = (x + rng.randint(-6, 6), y + rng.randint(-5, 5))
        if index < wanted:
            sheet.shape(shape, at, 14, COLOURS[colour])
            continue
        others = [(s, c) for s in SHAPES for c in COLOURS if (s, c) != (shape, colour)]
        other, tint = rng.choice(others)
        sheet.shape(other, at, 14, COLOURS[tint])
    question = f"How many {colour} {shape}s are in the picture?"
    return _blank("Counting", "Count shapes", question, [str(wanted)]), sheet


def odd_one(rng: Random, number: int) -> tuple[Record, Sheet]:
    """A grid of equal arrows, one of which points elsewhere."""
    sheet = Sheet()
    rows, columns = 4, 5
    row, column = rng.randrange(rows), rng.randrange(columns)
    usual = rng.randrange(8)
    other = (usual + rng.choice((1, 2, 6, 7))) % 8
    for r in range(rows):
        for c in range(columns):
            turn = other if (r, c) == (row, column) else usual
            _arrow(sheet, (48 + 56 * c, 36 + 56 * r), turn * math.pi / 4)
    question = (
        "One arrow points in another direction than the others. In which row, counted from the top,"
        " and in which column, counted from the left, is it? Give the row first."
    )
    answer = [str(row + 1), str(column + 1)]
    return _blank("Fine-grained discrimination", "Find the different", question, answer), sheet


def follow(rng: Random, number: int) -> tuple[Record, Sheet]:
    """Four crossing lines from numbers to letters."""
    sheet = Sheet()
    ends = [0, 1, 2, 3]
    rng.shuffle(ends)
    heights = [36 + 56 * place for place in range(4)]
    bends = [rng.uniform(-30, 30) for _ in ends]
    for start, end in enumerate(ends):
        points = []
        for step in range(41):
            t = step / 40
            ease = t * t * (3 - 2 * t)
            y = heights[start] + (heights[end] - heights[start]) * ease
            points.append((40 + 240 * t, y + bends[start] * math.sin(2 * math.pi * t)))
        sheet.lines(points)
        sheet.text((22, heights[start]), str(start + 1))
        sheet.text((298, heights[start]), LETTERS[start])
    asked = rng.randrange(4)
    question = f"Follow the line that starts at number {asked + 1}. At which letter does it end?"
    # As whole numbers from 0, of which one is 0: see the first puzzle of this kind.
    return _choice("Visual tracking", "Lines", question, list(LETTERS[:4]), ends[asked]), sheet


def continued(rng: Random, number: int) -> tuple[Record, Sheet]:
    """A row of shapes in a period of three, the last one missing."""
    sheet = Sheet((320, 120))
    cycle = [(shape, rng.choice(list(COLOURS))) for shape in rng.sample(SHAPES, 3)]
    for place in range(7):
        shape, colour = cycle[place % 3]
        sheet.shape(shape, (30 + 37 * place, 60), 14, COLOURS[colour])
    sheet.text((30 + 37 * 7, 60), "?", 28)
    shape, colour = cycle[7 % 3]
    wrong = {f"{rng.choice([c for c in COLOURS if c != colour])} {shape}"}
    wrong |= {f"{c} {s}" for s, c in cycle if (s, c) != (shape, colour)}
    options = [f"{colour} {shape}", *sorted(wrong)]
    rng.shuffle(options)
    right = options.index(f"{colour} {shape}")
    question = "The shapes follow a rule. Which one belongs in the place of the question mark?"
    record = _choice("Visual pattern recognition", "Continue the row", question, options, right)
    # The same answer in each of the forms that published files use.
    forms = [LETTERS[right], options[right], {"label": LETTERS[right], "text": options[right]}]
    return {**record, "choiceAns": forms[number % 3]}, sheet


def blocks(rng: Random, number: int) -> tuple[Record, Sheet]:
    """Towers of cubes, each as high as a number below it says nothing of."""
    sheet = Sheet()
    heights = [[rng.randint(1, 3) for _ in range(3)] for _ in range(2)]
    # The row behind is the higher one, so that every tower's top can be seen.
    heights[0] = [max(behind, before + 1) for behind, before in zip(*heights, strict=True)]
    for row in range(2):
        for column in range(3):
            for level in range(heights[row][column]):
                _cube(sheet, (70 + 52 * column - 24 * row, 178 + 24 * row - 34 * level))
    question = (
        "Equal cubes stand in towers without gaps: three towers in front and three behind them."
        " How many cubes are there in all, the hidden ones included?"
    )
    return _blank(
        "Spatial perception", "Count blocks", question, [str(sum(map(sum, heights)))]
    ), sheet


def longest(rng: Random, number: int) -> tuple[Record, Sheet]:
    """Winding ropes side by side, told apart by their letters."""
    sheet = Sheet()
    loops = rng.sample(range(2, 8), 5)
    for place, turns in enumerate(loops):
        x = 40 + 60 * place
        swing = 18
        points = [(x, 24)]
        for turn in range(turns):
            y = 24 + 170 * (turn + 0.5) / turns
            points.append((x + (swing if turn % 2 else -swing), y))
        sheet.lines([*points, (x, 194)], list(COLOURS.values())[place % len(COLOURS)], 3)
        sheet.text((x, 218), LETTERS[place])
    right = loops.index(max(loops))
    question = "All five ropes hang between the same heights. Which one is the longest?"
    record = _choice("Fine-grained discrimination", "Compare", question, list(LETTERS[:5]), right)
    return {**record, "choiceAns": LETTERS[right]}, sheet


def _arrow(sheet: Sheet, at: tuple[float, float], angle: float) -> None:
    x, y = at
    dx, dy = math.cos(angle), math.sin(angle)
    tip = (x + 18 * dx, y + 18 * dy)
    sheet.lines([(x - 18 * dx, y - 18 * dy), tip], BLACK, 3)
    wings = [(angle + turn, 11) for turn in (2.55, -2.55)]
    points = [(tip[0] + r * math.cos(a), tip[1] + r * math.sin(a)) for a, r in wings]
    sheet.draw.polygon([tip, *points], fill=BLACK)


def _cube(sheet: Sheet, at: tuple[float, float]) -> None:
    """A cube seen from the front, the right and above; its lower left front corner is given."""
    x, y = at
    side, back = 34, 15
    faces = [
        ([(x, y), (x + side, y), (x + side, y - side), (x, y - side)], GOLD),
        ([(x, y - side), (x + back, y - side - back), (x + side + back, y - side - back),
          (x + side, y - side)], WHITE),
        ([(x + side, y), (x + side + back, y - back), (x + side + back, y - side - back),
          (x + side, y - side)], GREY),
    ]  # fmt: skip
    for corners, fill in faces:
        sheet.draw.polygon(corners, fill=fill, outline=BLACK)


def _blank(kind: str, subtype: str, question: str, answers: list[str]) -> Record:
    blank: str | list[str] = answers[0] if len(answers) == 1 else answers
    record = {"type": kind, "subtype": subtype, "question": question}
    return {**record, "ansType": "blank", "blankAns": blank}


def _choice(kind: str, subtype: str, question: str, options: list[str], right: int) -> Record:
    record = {"type": kind, "subtype": subtype, "question": question}
    return {**record, "ansType": "choice", "options": options, "choiceAns": right}


if __name__ == "__main__":
    main(make)
