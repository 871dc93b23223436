"""Options of a multiple-choice task: lettered A, B, C, ..., and chosen by letter or by text."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from skillopt_cli.core.words import count

LETTERS = string.ascii_uppercase
_EDGES = string.whitespace + ".,;:!?\"'*_`()[]{}"
_ALONE = re.compile(r"\W*(?:(?:the|answer|option|choice|is)\W+)*([a-z])\W*", re.IGNORECASE)
_LEADING = re.compile(r"[\s(\[*_]*([A-Za-z])\s*[)\].:]+[\s*_]*(\S.*)", re.DOTALL)
_TRAILING = re.compile(r"\b(?:answer|option|choice)(?: is)?[\s:*(\[]+([A-Z])\W*$")


def lettered(choices: Sequence[str]) -> str:
    """The options, one a line."""
    return "\n".join(f"{LETTERS[i]}. {choice}" for i, choice in enumerate(choices))


def choices_fault(choices: Sequence[str]) -> str:
    """Why these options cannot be told apart, "" when they can."""
    if not 2 <= len(choices) <= len(LETTERS):
        return f"`choices` holds {count(len(choices), 'option')}, not 2 to {len(LETTERS)}"
    texts = [_plain(choice) for choice in choices]
    for i, text in enumerate(texts):
        if not text:
            return f"option {LETTERS[i]} is empty"
        if text in texts[:i]:
            return f"options {LETTERS[texts.index(text)]} and {LETTERS[i]} are the same"
        letter = text.upper()
        if letter in LETTERS[: len(texts)] and letter != LETTERS[i]:
            return f"option {LETTERS[i]} reads `{choices[i]}`, the letter of another option"
    return ""


def chosen(answer: str, choices: Sequence[str]) -> int | None:
    """Which option an answer names, None when that cannot be told.

    An option's text counts before a letter; a letter that is followed by the text of another option
    names nothing.
    """
    texts = [_plain(choice) for choice in choices]
    text = _plain(answer)
    if text in texts:
        return texts.index(text)
    if match := _ALONE.fullmatch(answer):
        return _position(match[1], texts)
    if match := _LEADING.fullmatch(answer):
        position = _position(match[1], texts)
        rest = _plain(match[2])
        return None if rest in texts and texts.index(rest) != position else position
    if match := _TRAILING.search(answer):
        return _position(match[1], texts)
    return None


def _position(letter: str, texts: Sequence[str]) -> int | None:
    position = LETTERS.index(letter.upper())
    return position if position < len(texts) else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(_EDGES)
