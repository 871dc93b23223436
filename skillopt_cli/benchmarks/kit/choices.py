"""Options of a multiple-choice task: lettered A, B, C, ..., and chosen by letter or by text."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from skillopt_cli.benchmarks.kit.answers import binary_score
from skillopt_cli.benchmarks.kit.typography import plain_marks
from skillopt_cli.core.formatting import count
from skillopt_cli.core.score import Score

LETTERS = string.ascii_uppercase
_HALF_WIDTH = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
_EDGES = string.whitespace + ".,;:!?\"'*_`()[]{}"
_ALONE = re.compile(
    r"\W*(?:(?:the|final|correct|right|answer|option|choice|is)\W+)*([a-z])\W*", re.IGNORECASE
)
_LEADING = re.compile(
    r"[\s(\[*_]*(?i:(?:the|final|correct|answer|option|choice|is)\W+)*([A-Za-z])\s*[*_]*[)\].:]+[\s*_]*(\S.*)",
    re.DOTALL,
)
_DASHED = re.compile(
    r"[\s(\[*_]*(?i:(?:the|final|correct|answer|option|choice|is)\W+)*"
    r"([A-Z])[*_]*\s*[-\u2013\u2014(]\s*(\S.*)",
    re.DOTALL,
)
"""A dash may be a minus, a bracket one of a term: it only counts before the option's own text."""
_SUBJECT = re.compile(
    r"\W*(?i:(?:the|answer|option|choice|is)\W+)*([A-Z])\W+"
    r"(?:(?:because|since)\b.*|is\s+(?:the\s+)?(?:correct|right|true|best|answer)\b(.*))",
    re.DOTALL,
)
_TRAILING = re.compile(r"\b(?:answer|option|choice)(?: is)?[\s:*(\[]+([A-Z])\W*$")
_DOUBTED = re.compile(
    r"(?i:\b(?:not?|never|nor|neither|either|or|and|but|except|excluding|instead|unless|however|wait"
    r"|actually|maybe|perhaps|cannot|wrong|incorrect|false|opposite|out|another|eliminated?)\b|n't\b)"
    r"|\b[B-HJ-Z]\b|^[A-Z]\W*$"
)
"""Words around a letter that leave open, or deny, that it is the answer."""
_REASON = re.compile(r"(?:because|since)\b", re.IGNORECASE)
_WRAPPED = re.compile(r"\W*\\(?:boxed|text|textbf|mathrm|mathbf|mathsf)\{(.*)\}\W*", re.DOTALL)
_MARK = re.compile(r"(?:^|(?<=[\s|,;]))\(?([A-Za-z])(?:\)\s*|[.:]\s+)")
"""A letter before an option, in a text of several options."""
_LONG = 1000
_MATHS = re.compile(r"[$\\^=<>\d]|[(\[].*,.*[)\]]", re.DOTALL)
"""Signs of mathematics, where brackets and capitals mean something: (0,1) is not [0,1]."""


def split_options(text: str) -> list[str]:
    """The options of one text: `A) one B) two`, or one a line, or `one | two`, or `one; two`.

    Returns:
        At least two options, without their letters; none where they cannot be distinguished.
    """
    marks = list(_MARK.finditer(text))
    letters = "".join(mark[1] for mark in marks).upper()
    if len(marks) > 1 and not marks[0].start() and letters == LETTERS[: len(marks)]:
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        parts = [
            text[mark.end() : end].strip(f"{string.whitespace}|,;")
            for mark, end in zip(marks, ends, strict=True)
        ]
        return parts if all(parts) else []
    for mark in ("\n", "|", ";"):
        parts = [part.strip() for part in text.split(mark) if part.strip()]
        if len(parts) > 1:
            return parts
    return []


def option(choices: Sequence[str], place: int) -> str:
    """An option behind its letter."""
    return f"{LETTERS[place]}. {choices[place]}"


def lettered(choices: Sequence[str]) -> str:
    """The options, one a line."""
    return "\n".join(option(choices, place) for place in range(len(choices)))


def expected(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The references in a task's data, as a person reads them.

    These are its `answers`, or the option of `choices` at `right` behind its letter, or its
    `answer`.
    """
    if "answers" in data:
        return tuple(data["answers"])
    return (option(data["choices"], data["right"]) if data.get("choices") else data["answer"],)


def choices_fault(choices: Sequence[str]) -> str:
    """Why two of these options are the same, "" when all differ."""
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
    r"""Which option an answer names; None when it names none, or when that is unclear.

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
    n, answer = len(choices), answer.translate(_HALF_WIDTH)
    if match := _ALONE.fullmatch(answer):
        return _position(match[1], n)
    if match := _LEADING.fullmatch(answer):
        position, text = _position(match[1], n), _read(match[2], choices)
        unclear = text is None and not _REASON.match(match[2]) and _DOUBTED.search(match[2])
        return None if unclear or text not in (None, position) else position
    if match := _DASHED.fullmatch(answer):
        position = _position(match[1], n)
        return position if position == _read(match[2], choices) else None
    if match := _SUBJECT.fullmatch(answer):
        return None if _DOUBTED.search(match[2] or "") else _position(match[1], n)
    match = _TRAILING.search(answer)
    if match is None:
        return None
    clause = re.split(r"[.,;:!?\n]", answer[: match.start()])[-1]
    return None if _DOUBTED.search(clause) else _position(match[1], n)


def choice_score(answer: str, choices: Sequence[str], right: Collection[int]) -> Score:
    """1 for an answer that names one of the right options, by place; 0 for any other."""
    picked = chosen(answer, choices)
    why = ", which names none of the options" if answer and picked is None else ""
    wanted = [option(choices, place) for place in sorted(right)]
    return binary_score(picked in right, wanted, answer, why)


def _read(text: str, choices: Sequence[str]) -> int | None:
    """The option whose text this is: letter by letter, else apart from case, marks and variants."""
    for form in (_spaced, _plain, lambda text: _plain(plain_marks(text))):
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
