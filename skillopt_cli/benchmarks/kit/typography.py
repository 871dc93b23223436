"""Typographic variants of one text: hyphens, quotes, invisible characters, composed letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Characters, for a class of a pattern, of scripts that set no spaces between words, as Thai."""
_MARKS = str.maketrans(
    dict.fromkeys(map(chr, (0x2010, 0x2011, 0x2012, 0x2013, 0x2212, 0xFE63, 0xFF0D)), "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\uff07", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\uff02", '"')
    | {"\u2026": "...", "\u00b5": "\u03bc"}
    | dict.fromkeys(map(chr, (0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)), " ")
    | dict.fromkeys("\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\ufe0e\ufe0f\ufeff")
    | dict.fromkeys(map(chr, (*range(0x202A, 0x202F), *range(0x2060, 0x2065))))
    | dict.fromkeys(map(chr, range(0x2066, 0x206A)))
)
_JOINER = re.compile("(?<![\u2600-\u27bf\U0001f000-\U0001faff])\u200d|\u200d(?=[\\x00-\u1fff]|\\Z)")
"""A joiner that joins no pictures: a family is not three persons."""
_EDGES = " .,;:!?\"'*_`()[]{}"
_ALIKE = 3
"""Differing characters up to which two texts of one length count as nearly the same."""


def plain_marks(text: str) -> str:
    """The text in composed form (NFC), with plain hyphens and quotes, without invisible characters.

    Dashes of the length of a hyphen, a digit or an en count as hyphens, and so does the minus sign.
    """
    return unicodedata.normalize("NFC", _JOINER.sub("", text.translate(_MARKS)))


def plain_line(text: str) -> str:
    """The text with plain marks, and single spaces for any white space."""
    return " ".join(plain_marks(text).split())


def folded(text: str) -> str:
    """A label as a person would compare it: without case and the marks around it."""
    return plain_line(text).casefold().strip(_EDGES)


def odd_character(answer: str, references: Sequence[str]) -> str:
    """Names the first character by which an answer only just misses a reference.

    Returns:
        "" where the texts differ in more, or in characters that look different.
    """
    given = plain_line(answer)
    for reference in map(plain_line, references):
        pairs = [(a, b) for a, b in zip(given, reference, strict=False) if a != b]
        alike = len(given) == len(reference) and len(pairs) <= _ALIKE
        folded = [unicodedata.normalize("NFKC", text) for text in (given, reference)]
        if (
            pairs
            and (alike or folded[0] == folded[1])
            and not (pairs[0][0] + pairs[0][1]).isascii()
        ):
            return f"; the answer has {_named(pairs[0][0])} where {_named(pairs[0][1])} is expected"
    return ""


def _named(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')}"
