"""Draws the bundled sample of MMRB: `python make_mmrb.py FOLDER`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

from drawing import BLACK, BLUE, COLOURS, GOLD, GREEN, GREY, RED, Sheet

SEED = 5
PER_SPLIT = 2
SPLITS = ("train", "val", "test")
SIZE = (160, 120)
LETTERS = "ABCD"
SHAPES = ("circle", "square", "triangle", "diamond")
NAMES = ("red", "blue", "green", "gold", "grey", "purple")
NUMBER_WORDS = ("first", "second", "third", "fourth")

Record = dict[str, Any]


@dataclass(frozen=True)
class Several:
    """A record of the sample without its pictures' names, and the pictures."""

    record: Record
    sheets: Sequence[Sheet] = field(default_factory=list)


def make() -> Mapping[str, Sequence[Several]]:
    """Two questions of each kind for each split; no question stands twice."""
    rng = Random(SEED)
    splits: dict[str, list[Several]] = {split: [] for split in SPLITS}
    for first, kind in enumerate(KINDS):
        seen: set[bytes] = set()
        for index in range(PER_SPLIT * len(SPLITS)):
            # Where the right option stands: each place equally often in each split.
            place = first + index
            several = kind(rng, place)
            while _content(several) in seen:
                several = kind(rng, place)
            seen.add(_content(several))
            several.record["index"] = index
            splits[SPLITS[index // PER_SPLIT]].append(several)
    return splits


def total(rng: Random, _: int) -> Several:
    """How many shapes of one colour there are in all pictures together."""
    colour = rng.choice(NAMES)
    counts = [rng.randint(1, 5) for _ in range(3)]
    sheets = [_scattered(rng, colour, count) for count in counts]
    question = (
        f"Count the {colour} shapes in {{image#1}}, {{image#2}} and {{image#3}}."
        " How many are there in all three pictures together?"
    )
    return Several(_open("Counting Over Pictures", question, str(sum(counts))), sheets)


def price(rng: Random, _: int) -> Several:
    """The sum of two of three price tags."""
    things = rng.sample(("apple", "bread", "cheese", "honey", "salt", "tea"), 3)
    prices = [rng.randint(105, 495) for _ in things]
    sheets = []
    for thing, cents in zip(things, prices, strict=True):
        sheet = Sheet(SIZE)
        sheet.draw.rounded_rectangle((20, 20, 140, 100), 10, outline=BLACK, width=2)
        sheet.text((80, 42), thing, 20)
        sheet.text((80, 76), f"{cents / 100:.2f}", 24, BLUE)
        sheets.append(sheet)
    first, second = sorted(rng.sample(range(3), 2))
    question = (
        "The pictures {image#1}{image#2}{image#3} are price tags of one shop. What do"
        f" {things[first]} and {things[second]} cost together?"
    )
    answer = f"{(prices[first] + prices[second]) / 100:.2f}"
    return Several(_open("Price Tags", question, answer), sheets)


def odd_one(rng: Random, place: int) -> Several:
    """Which of four pictures shows another number of shapes."""
    usual = rng.randint(3, 5)
    odd = place % 4
    sheets = [_scattered(rng, rng.choice(NAMES), usual + (n == odd), more=False) for n in range(4)]
    question = (
        "Look at {image#1}, {image#2}, {image#3} and {image#4}. Three of them show the same number"
        " of shapes. Which one does not?"
    )
    options = [f"The {word} picture" for word in NUMBER_WORDS]
    return Several(_choice("Odd One Out", question, options, odd), sheets)


def order(rng: Random, place: int) -> Several:
    """In which order a candle burned down."""
    left = sorted(rng.sample(range(15, 85, 10), 3), reverse=True)
    shown = rng.sample(left, 3)
    sheets = [_candle(height) for height in shown]
    right = tuple(shown.index(height) + 1 for height in left)
    others = list(permutations((1, 2, 3)))
    others.remove(right)
    orders = rng.sample(others, 3)
    orders.insert(place % 4, right)
    question = (
        "A candle was photographed three times while it burned: {image#1} {image#2} {image#3}."
        " In which order were the pictures taken?"
    )
    options = [", ".join(f"picture {n}" for n in numbers) for numbers in orders]
    return Several(_choice("Temporal Ordering", question, options, place % 4), sheets)


def turned(rng: Random, place: int) -> Several:
    """Which picture is the first one, turned."""
    corner, start = rng.choice(NAMES), rng.randrange(4)
    right, wrong = place % 4, iter(rng.sample((0, 2, 3), 3))
    mirror = rng.random() < 0.5  # instead of the picture as it was
    sheets = [_flag(corner, start)]
    for n in range(4):
        turn = 1 if n == right else next(wrong)
        if turn == 0 and mirror:
            sheets.append(_flag(corner, start + 1, mirror=True))
        else:
            sheets.append(_flag(corner, start + turn))
    question = (
        "{image#1} is turned by a quarter to the right."
        " Which of the other pictures shows the result?"
    )
    options = [f"{{image#{n + 2}}}" for n in range(4)]
    return Several(_choice("Rotation", question, options, right), sheets)


def change(rng: Random, place: int) -> Several:
    """What is in the second picture and was not in the first."""
    pairs = [(colour, shape) for colour in NAMES for shape in SHAPES]
    chosen = rng.sample(pairs, 8)
    before, new = chosen[:3], chosen[3]
    spots = rng.sample(SPOTS, 4)
    first, second = Sheet(SIZE), Sheet(SIZE)
    for (colour, shape), spot in zip(before, spots, strict=False):
        for sheet in (first, second):
            sheet.shape(shape, spot, 13, COLOURS[colour])
    second.shape(new[1], spots[3], 13, COLOURS[new[0]])
    options = [f"a {colour} {shape}" for colour, shape in chosen[4:7]]
    options.insert(place % 4, f"a {new[0]} {new[1]}")
    question = "What is in the second of the two pictures that was not there in the first?"
    return Several(_choice("Change Captioning", question, options, place % 4), [first, second])


KINDS: Sequence[Callable[[Random, int], Several]] = (total, price, odd_one, order, turned, change)
SPOTS = [(x, y) for x in (25, 62, 98, 135) for y in (24, 60, 96)]


def _scattered(rng: Random, colour: str, count: int, *, more: bool = True) -> Sheet:
    """So many shapes of a colour, among some of others."""
    sheet = Sheet(SIZE)
    spots = rng.sample(SPOTS, count + (rng.randint(1, 4) if more else 0))
    others = [name for name in NAMES if name != colour]
    for n, spot in enumerate(spots):
        fill = colour if n < count else rng.choice(others)
        sheet.shape(rng.choice(SHAPES), spot, rng.randint(8, 13), COLOURS[fill])
    return sheet


def _candle(height: int) -> Sheet:
    sheet = Sheet(SIZE)
    top = 108 - height
    sheet.draw.rectangle((40, 108, 120, 112), fill=GREY)
    sheet.draw.rectangle((68, top, 92, 108), fill=RED)
    sheet.lines([(80, top), (80, top - 6)])
    sheet.draw.ellipse((75, top - 18, 85, top - 4), fill=GOLD)
    return sheet


def _flag(colour: str, quarter: int, *, mirror: bool = False) -> Sheet:
    """A square with one coloured corner and a dot that tells a turn from a mirror image."""
    sheet = Sheet(SIZE)
    corners = [(58, 38), (102, 38), (102, 82), (58, 82)]
    sheet.draw.rectangle((40, 20, 120, 100), outline=BLACK, width=2)
    x, y = corners[quarter % 4]
    sheet.draw.rectangle((x - 14, y - 14, x + 14, y + 14), fill=COLOURS[colour])
    x, y = corners[(quarter + (3 if mirror else 1)) % 4]
    sheet.draw.ellipse((x - 7, y - 7, x + 7, y + 7), fill=GREEN if colour != "green" else BLUE)
    return sheet


def _open(subtask: str, question: str, answer: str) -> Record:
    return {
        "source": "drawn",
        "subtask": subtask,
        "index": 0,
        "question_type": "open",
        "question": question,
        "options": [],
        "answer": answer,
    }


def _choice(subtask: str, question: str, options: Sequence[str], right: int) -> Record:
    labelled = [f"{LETTERS[n]}: {option}" for n, option in enumerate(options)]
    return {
        **_open(subtask, f"{question} {' '.join(labelled)}", LETTERS[right]),
        "question_type": "multi-choice",
        "options": labelled,
    }


def _content(several: Several) -> bytes:
    pictures = b"".join(sheet.image.tobytes() for sheet in several.sheets)
    return json.dumps(several.record).encode() + pictures


def write(splits: Mapping[str, Sequence[Several]], folder: Path) -> None:
    """SPLIT/items.json and SPLIT/images/NUMBER-PICTURE.png for each split."""
    for split, items in splits.items():
        images = folder / split / "images"
        images.mkdir(parents=True, exist_ok=True)
        records = []
        for number, item in enumerate(items, 1):
            names = [f"{number}-{n}.png" for n in range(1, len(item.sheets) + 1)]
            for name, sheet in zip(names, item.sheets, strict=True):
                sheet.image.save(images / name, optimize=True, bits=4)
            records.append({**item.record, "image_paths": [f"images/{name}" for name in names]})
        text = json.dumps(records, indent=1, ensure_ascii=False) + "\n"
        (folder / split / "items.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {Path(sys.argv[0]).name} FOLDER")
    write(make(), Path(sys.argv[1]))
