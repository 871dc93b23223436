"""Options of a multiple-choice task: lettered A, B, C, ..., and chosen by letter or by text."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from skillopt_cli.core.words import count

LETTERS = string.ascii_uppercase
_EDGES = string.whitespace + ".,;:!?\"'*_`()[]{}"
_ALONE = re.compile(r"\W*(?:(?:the|answer|option|choice|is)\W+)*([a-z])\W*", re.IGNORECASE)
_LEADING = re.compile(
    r"[\s(\[*_]*(?i:(?:the|answer|option|choice|is)\W+)*([A-Za-z])\s*[)\].:]+[\s*_]*(\S.*)",
    re.DOTALL,
)
_DASHED = re.compile(
    r"[\s(\[*_]*(?i:(?:the|answer|option|choice|is)\W+)*([A-Z])[*_]*\s*[-\u2013\u2014]\s*(\S.*)",
    re.DOTALL,
)
"""A dash may be a minus: it only counts before the option's own text."""
_SUBJECT = re.compile(
    r"\W*(?i:(?:the|answer|option|choice)\s+)*([A-Z])\W+"
    r"(?:because|since|is\s+(?:the\s+)?(?:correct|right|true|best|answer))\b.*",
    re.DOTALL,
)
_TRAILING = re.compile(r"\b(?:answer|option|choice)(?: is)?[\s:*(\[]+([A-Z])\W*$")
_WRAPPED = re.compile(r"\W*\\(?:boxed|text|textbf|mathrm|mathbf|mathsf)\{(.*)\}\W*", re.DOTALL)
_LONG = 1000
_MATHS = re.compile(r"[$\\^=<>\d]|[(\[].*,.*[)\]]", re.DOTALL)
"""Signs of mathematics, where brackets and capitals mean something: (0,1) is not [0,1]."""


def option(choices: Sequence[str], place: int) -> str:
    """An option behind its letter."""
    return f"{LETTERS[place]}. {choices[place]}"


def lettered(choices: Sequence[str]) -> str:
    """The options, one a line."""
    return "\n".join(option(choices, place) for place in range(len(choices)))


def expected(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The reference of a question with options, or without, as a person would be told it."""
    return (option(data["choices"], data["right"]) if data["choices"] else data["answer"],)


def choices_fault(choices: Sequence[str]) -> str:
    """Why these options cannot be told apart, "" when they can."""
    if not 2 <= len(choices) <= len(LETTERS):
        return f"`choices` holds {count(len(choices), 'option')}, not 2 to {len(LETTERS)}"
    texts = [_plain(choice) for choice in choices]
    for i, text in enumerate(texts):
        if not text:
            return f"option {LETTERS[i]} is empty"
        for j in range(i):
            if text == texts[j] and not _differ_in_maths(choices[i], choices[j]):
                return f"options {LETTERS[j]} and {LETTERS[i]} are the same"
        letter = text.upper()
        if letter in LETTERS[: len(texts)] and letter != LETTERS[i]:
            return f"option {LETTERS[i]} reads `{choices[i]}`, the letter of another option"
    return ""


def chosen(answer: str, choices: Sequence[str]) -> int | None:
    r"""Which option an answer names, None when that cannot be told.

    An option's text counts before a letter; a letter that is followed by the text of another option
    names nothing. LaTeX that only sets the answer apart, such as `\boxed{B}`, is looked through.
    """
    while len(answer) < _LONG and (wrapped := _WRAPPED.fullmatch(answer)):
        if _read(answer, choices) is not None:
            break
        answer = wrapped[1]
    named = _read(answer, choices)
    if named is not None:
        return named
    n = len(choices)
    if match := _ALONE.fullmatch(answer):
        return _position(match[1], n)
    if match := _LEADING.fullmatch(answer):
        position, text = _position(match[1], n), _read(match[2], choices)
        return None if text is not None and text != position else position
    if match := _DASHED.fullmatch(answer):
        position = _position(match[1], n)
        return position if position == _read(match[2], choices) else None
    match = _SUBJECT.fullmatch(answer) or _TRAILING.search(answer)
    return _position(match[1], n) if match else None


def _read(text: str, choices: Sequence[str]) -> int | None:
    """The option whose text this is: letter by letter, else apart from case and punctuation."""
    for form in (_spaced, _plain):
        wanted = form(text)
        found = [i for i, choice in enumerate(choices) if form(choice) == wanted]
        if len(found) == 1:
            return found[0]
    return None


def _differ_in_maths(one: str, other: str) -> bool:
    maths = _MATHS.search(one) or _MATHS.search(other)
    return maths is not None and _spaced(one) != _spaced(other)


def _position(letter: str, n: int) -> int | None:
    position = LETTERS.index(letter.upper())
    return position if position < n else None


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    return _spaced(text.casefold()).strip(_EDGES)
