"""Scoring of MMRB: the answer is found in one of several forms, and compared as option or text.

The published code takes an open answer for right where it contains the reference or is contained
in it: 1 is right for 12, "no" for "north", and nothing at all for anything. Here texts must be the
same; `published` brings the other back, but for empty answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from skillopt_cli.benchmarks.kit.answers import binary_score, last_box, tagged
from skillopt_cli.benchmarks.kit.choices import LETTERS, chosen, expected
from skillopt_cli.core.score import Score

Matching = Literal["same", "published"]

_BRACKETED = re.compile(r"\banswer\s*\[([^\[\]]*)\]", re.IGNORECASE)
_PHRASE = re.compile(
    r"(?:\b(?:final\s+|correct\s+)?answer\s+is\b\s*:?|\banswer\s*:)[ \t]*([^\n]+)", re.IGNORECASE
)
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PUNCTUATION = re.compile(
    r"(?<!\d)[^\w\s+.<>≤≥±#-]|[^\w\s+<>≤≥±#-](?!\d)|(?<=\w)-(?!\d)|(?<!\S)-(?!\S)|(?<!\w)#|_"
)
"""Not a sign of mathematics, nor a mark between two digits, nor the end of C++, which is not C."""
_ANY_PUNCTUATION = re.compile(r"[^\w\s]|_")


def answered(reply: str) -> str:
    r"""The answer in a reply, from the first of these that is there.

    The last `<answer>…</answer>`; the last `Answer[…]`; the last `\boxed{…}`; what follows the last
    "the answer is", "final answer is" or "answer:" on its line; the whole reply.
    """
    marked = marked_answer(reply)
    if marked is not None:
        return marked
    phrases = _PHRASE.findall(reply)
    return (phrases[-1] if phrases else reply).strip()


def marked_answer(reply: str) -> str | None:
    """The answer in the first form of mark that a reply has; None without any."""
    brackets = _BRACKETED.findall(reply)
    marks = (tagged(reply), brackets[-1] if brackets else None, last_box(reply))
    return next((text.strip() for text in marks if text is not None), None)


def score_answer(data: Mapping[str, Any], answer: str, matching: Matching) -> Score:
    """Right or wrong, hard and soft alike.

    Args:
        data: `choices`, `right`, `answer` and `lettered`, as in `Item`.
        matching: how open answers are compared.
    """
    wanted = expected(data)
    if data["lettered"]:
        options = data["choices"] or list(LETTERS)
        place = data["right"] if data["choices"] else LETTERS.index(data["answer"])
        picked = chosen(answer, options)
        right = picked == place
        why = ", which names none of the options" if answer and picked is None else ""
    else:
        right, why = _matches(answer, data["answer"], matching), ""
    return binary_score(right, wanted, answer, why)


def _matches(answer: str, reference: str, matching: Matching) -> bool:
    if not answer.strip():
        return False
    if matching == "same":
        return plain(answer) == plain(reference)
    texts = [" ".join(_ANY_PUNCTUATION.sub("", t.lower()).split()) for t in (answer, reference)]
    return all(texts) and (texts[0] in texts[1] or texts[1] in texts[0])


def plain(text: str) -> str:
    """A text as it is compared: without case, punctuation and grouping commas.

    What makes a number another one stays: its sign, its point. A text of nothing but punctuation is
    kept as it is.
    """
    bare = " ".join(text.casefold().split())
    return " ".join(_PUNCTUATION.sub("", _GROUPED.sub("", bare)).split()) or bare
