"""Surface features of an answer: words, numbers, shape. Pure; English number words only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

Shape = Literal["year", "number", "name", "phrase", "sentence"]

SENTENCE_WORDS = 6
"""From this many words on, an answer counts as a sentence."""

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten",
    "eleven",
    "twelve",
    *(f"{stem}teen" for stem in ("thir", "four", "fif", "six", "seven", "eigh", "nine")),
)
_SMALL = (*_UNITS, *_TEENS)
_TENS = tuple(
    f"{stem}ty" for stem in ("twen", "thir", "for", "fif", "six", "seven", "eigh", "nine")
)
_SPELLED = (
    {word: value for value, word in enumerate(_SMALL)}
    | {word: 20 + 10 * index for index, word in enumerate(_TENS)}
    | {"hundred": 100, "thousand": 1000, "dozen": 12}
)
_LINKS = frozenset({
    "a",
    "and",
    "at",
    "de",
    "der",
    "du",
    "for",
    "in",
    "la",
    "le",
    "of",
    "on",
    "the",
    "to",
    "van",
    "von",
})


def words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case; a number with its separators is one word."""
    return tuple(word.lower() for word in _WORD.findall(text))


def find(part: Sequence[str], whole: Sequence[str]) -> int:
    """Where `part` begins in `whole` as an unbroken run, or -1. An empty part is never found."""
    if not part:
        return -1
    starts = range(len(whole) - len(part) + 1)
    return next((i for i in starts if tuple(whole[i : i + len(part)]) == tuple(part)), -1)


def number(text: str) -> float | None:
    """The value of a text that is a number and nothing else, in digits or as one word or two."""
    found = words(text)
    if len(found) == 1 and found[0][0].isdigit():
        digits = found[0].replace(",", "")
        return float(digits) if digits.count(".") <= 1 else None
    parts = [part for word in found for part in re.split(r"[-\u2019']", word)]
    if not parts or len(parts) > 2 or any(part not in _SPELLED for part in parts):
        return None
    values = [_SPELLED[part] for part in parts]
    if len(values) == 1:
        return float(values[0])
    tens, ones = values
    if ones >= 100:
        return float(tens * ones)
    return float(tens + ones) if tens >= 20 and tens < 100 and 0 < ones < 10 else None


def in_digits(text: str) -> bool:
    """Whether a digit occurs in the text."""
    return any(char.isdigit() for char in text)


def spelled(value: int) -> str:
    """A small number as a word, a large one in digits."""
    return _SMALL[value] if 0 <= value < len(_SMALL) else str(value)


def plural(count: int, noun: str, shown: str = "") -> str:
    """A count with its noun; `shown` replaces the digits."""
    return f"{shown or count} {noun}{'' if count == 1 else 's'}"


def shape(text: str) -> Shape:
    """What kind of answer a text looks like."""
    found = words(text)
    if len(found) == 1 and _YEAR.fullmatch(found[0]):
        return "year"
    if number(text) is not None:
        return "number"
    if len(found) >= SENTENCE_WORDS:
        return "sentence"
    telling = [w for w in _WORD.findall(text) if w.lower() not in _LINKS]
    capitals = [w[0].isupper() for w in telling if not w[0].isdigit()]
    return "name" if capitals and all(capitals) else "phrase"
