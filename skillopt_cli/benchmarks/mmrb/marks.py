"""Where pictures belong in a question: the marks of the release as those of a message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Self

_NUMBERED = re.compile(r"\{\s*image\s*#\s*(\d+)\s*\}", re.IGNORECASE)
_PLAIN = re.compile(r"<image>", re.IGNORECASE)
_PLACED = re.compile(r"\[image (\d+)\]")


@dataclass(frozen=True, slots=True)
class Marks:
    """Texts with marks `[image n]`.

    Attributes:
        numbers: the marked pictures, from 1, in reading order.
    """

    texts: tuple[str, ...]
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Read texts with `{image#n}`, or with `<image>` for one picture after the other."""
        if any(map(_NUMBERED.search, texts)):
            placed = [_NUMBERED.sub(lambda m: f"[image {int(m[1])}]", text) for text in texts]
        else:
            number = count(1)
            placed = [_PLAIN.sub(lambda _: f"[image {next(number)}]", text) for text in texts]
        numbers = (int(n) for text in placed for n in _PLACED.findall(text))
        return cls(tuple(placed), tuple(dict.fromkeys(numbers)))

    @property
    def highest(self) -> int:
        """The highest number marked, 0 for none."""
        return max(self.numbers, default=0)


def unmarked(texts: Sequence[str], images: int) -> tuple[int, ...]:
    """Which of so many pictures, from 1, have no mark in the texts."""
    marked = {int(n) for text in texts for n in _PLACED.findall(text)}
    return tuple(n for n in range(1, images + 1) if n not in marked)
