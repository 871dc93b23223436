"""OfficeQA's score: equality of normalised texts, as published, or of numbers with their units.

The published comparison has oddities, kept under `published` so that results compare: "12.5%" is
not "12.5", "12.5." is not "12.5", and "$1.5 billion" is "1.5 million".
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from skillopt_cli.benchmarks.kit.answers import contrast, extract_answer
from skillopt_cli.benchmarks.kit.numbers import Tolerance, parse_number
from skillopt_cli.core.score import Score

Scoring = Literal["published", "numeric"]
Tag = Literal["last", "first"]

NO_TAG = "the reply holds no answer between <answer> and </answer>"
_TAGGED = re.compile(r"<answer>((?:(?!</?answer>).)*)(</answer>|\Z)", re.IGNORECASE | re.DOTALL)
_MARKS = re.compile(r"[^\w\s.%-]")
_UNIT_WORDS = re.compile(r"\b(?:millions?|billions?|dollars?|nominal)\b")
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALE = re.compile(r"\b(thousand|million|billion|trillion)s?\b", re.IGNORECASE)
_BESIDE = re.compile(r"\b(?:dollars?|nominal|usd|percent|percentage|points?|us)\b", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def final_answer(reply: str, which: Tag = "last") -> str | None:
    """The answer in tags; one that is not closed goes to the end of its line.

    Without any, it is the last line with content where the last tags count, and None where the
    first ones do.
    """
    found = list(_TAGGED.finditer(reply))
    if not found:
        return extract_answer(reply) if which == "last" else None
    match = found[0] if which == "first" else found[-1]
    inside = match[1].strip()
    return inside if match[2] or not inside else inside.splitlines()[0].strip()


def normalise(text: str) -> str:
    """Lower case, without commas, most punctuation and words of units; single spaces."""
    bare = _MARKS.sub("", text.lower().strip().replace(",", ""))
    return " ".join(_UNIT_WORDS.sub(" ", bare).split())


def word_f1(answer: str, reference: str) -> float:
    """F1 over the words of two normalised texts, in [0, 1]; 0 when either has none."""
    said, wanted = answer.split(), reference.split()
    common = (Counter(said) & Counter(wanted)).total()
    return 2 * common / (len(said) + len(wanted)) if common else 0.0


@dataclass(frozen=True, slots=True)
class UnitAmount:
    """A number as written, and what its unit multiplies it by; None without a unit."""

    value: Fraction
    scale: int | None = None


def read_amount(text: str) -> UnitAmount | None:
    """The amount a text consists of; None when it holds anything beside a number and its unit."""
    scales = _SCALE.findall(text)
    bare = _SCALE.sub(" ", text)
    quantity = parse_number(bare)
    if quantity is None or len(scales) > 1 or _LETTERS.search(_BESIDE.sub(" ", bare)):
        return None
    return UnitAmount(quantity.value, _SCALES[scales[0].lower()] if scales else None)


@dataclass(frozen=True, slots=True)
class AnswerScorer:
    """Scores the answer of a reply against a reference."""

    scoring: Scoring = "published"
    tolerance: Tolerance = field(default_factory=Tolerance)
    tag: Tag = "last"

    def score(self, reply: str, reference: str) -> Score:
        """Equality (hard) and word F1 (soft)."""
        answer = final_answer(reply, self.tag)
        if answer is None:
            return Score(0.0, 0.0, f"expected {_quoted(reference)}; {NO_TAG}", (reference,))
        if not answer:
            return Score(0.0, 0.0, contrast((reference,), answer), (reference,))
        if self._right(answer, reference):
            return Score(1.0, 1.0, "", (reference,))
        soft = word_f1(normalise(answer), normalise(reference))
        feedback = contrast((reference,), answer) + self._near(answer, reference)
        return Score(0.0, soft, feedback, (reference,))

    def _right(self, answer: str, reference: str) -> bool:
        if self.scoring == "numeric":
            said, wanted = read_amount(answer), read_amount(reference)
            if said is not None and wanted is not None:
                return self._same(said, wanted)
        form = _without_stops if self.scoring == "numeric" else normalise
        wanted_text = form(reference)
        # A reference of nothing but a unit would be met by any other.
        return form(answer) == wanted_text if wanted_text else answer == reference

    def _same(self, said: UnitAmount, wanted: UnitAmount) -> bool:
        """A unit that only one of the two names may be that of the question, or be spelt out."""
        whole = said.value * (said.scale or 1), wanted.value * (wanted.scale or 1)
        if self.tolerance.allows(*whole):
            return True
        both = said.scale is not None and wanted.scale is not None
        return not both and self.tolerance.allows(said.value, wanted.value)

    def _near(self, answer: str, reference: str) -> str:
        said, wanted = read_amount(answer), read_amount(reference)
        if self.scoring == "published" and said and wanted and self._same(said, wanted):
            return "; the number is right, its form is not"
        return ""


def _without_stops(text: str) -> str:
    return " ".join(word.strip(".") for word in normalise(text).split())


def _quoted(text: str) -> str:
    return f'"{text}"'
