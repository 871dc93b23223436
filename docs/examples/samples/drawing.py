"""Small line drawings in eight colours, and the files of a sample made of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

SIZE = (320, 240)
WHITE, BLACK, RED, BLUE, GREEN, GOLD, GREY, PURPLE = range(8)
COLOURS = {"red": RED, "blue": BLUE, "green": GREEN, "gold": GOLD, "grey": GREY, "purple": PURPLE}
_PALETTE = (
    *(255, 255, 255, 0, 0, 0, 214, 39, 40, 31, 92, 200),
    *(44, 140, 60, 240, 180, 0, 150, 150, 150, 130, 60, 170),
)


class Sheet:
    """A picture to draw on; its colours are those above."""

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        self.image = Image.new("P", size, WHITE)
        self.image.putpalette(_PALETTE)
        self.draw = ImageDraw.Draw(self.image)

    def text(self, at: tuple[float, float], words: str, size: int = 18, fill: int = BLACK) -> None:
        """Words around a place."""
        font = ImageFont.load_default(size)
        left, top, right, bottom = self.draw.textbbox((0, 0), words, font=font)
        place = (at[0] - (left + right) / 2, at[1] - (top + bottom) / 2)
        self.draw.text(place, words, fill=fill, font=font)

    def lines(
        self, points: Sequence[tuple[float, float]], fill: int = BLACK, width: int = 2
    ) -> None:
        """Straight lines from point to point."""
        self.draw.line(list(points), fill=fill, width=width)

    def shape(self, name: str, at: tuple[float, float], radius: float, fill: int) -> None:
        """A filled circle, square, triangle or diamond around a place."""
        x, y = at
        r = radius
        if name == "circle":
            self.draw.ellipse((x - r, y - r, x + r, y + r), fill=fill)
            return
        corners = {
            "square": [(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            "triangle": [(x, y - r), (x + r, y + r), (x - r, y + r)],
            "diamond": [(x, y - r), (x + r, y), (x, y + r), (x - r, y)],
        }
        self.draw.polygon(corners[name], fill=fill)


@dataclass(frozen=True)
class Drawn:
    """A record of a sample without its picture's name, and the picture."""

    record: Mapping[str, Any]
    sheet: Sheet


def write(splits: Mapping[str, Sequence[Drawn]], folder: Path) -> None:
    """SPLIT/items.json and SPLIT/images/NUMBER.png for each split."""
    for split, items in splits.items():
        images = folder / split / "images"
        images.mkdir(parents=True, exist_ok=True)
        records = []
        for number, item in enumerate(items, 1):
            item.sheet.image.save(images / f"{number}.png", optimize=True, bits=4)
            records.append({**item.record, "image": f"images/{number}.png"})
        text = json.dumps(records, indent=1, ensure_ascii=False) + "\n"
        (folder / split / "items.json").write_text(text, encoding="utf-8")


def main(make: Callable[[], Mapping[str, Sequence[Drawn]]]) -> None:
    """Write a sample into the folder named on the command line."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {Path(sys.argv[0]).name} FOLDER")
    write(make(), Path(sys.argv[1]))
