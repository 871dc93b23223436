"""Numbers in answers: "1,234", "12 %", "3.0e2", "-5", "$4.50", "3/4", compared exactly.

Digits are grouped by commas or no-break spaces; the decimal sign is a point. "3,14" and "1.234.567"
are not read at all rather than read wrongly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

_NUMBER = re.compile(
    r"""
    (?<![\w.,/])                                 # not inside a word or another number
    (?P<sign>[-+\u2212])?
    (?:[$€£¥]\s?)?
    (?P<digits>\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)
    (?P<exponent>[eE][-+\u2212]?\d{1,3})?
    (?:/(?P<below>\d+))?
    (?!\d|[.,/\u00a0\u202f]\d|[eE][-+\u2212]?\d)  # nor the head of one written in another way
    (?P<percent>\s?(?:%|percent\b))?
    """,
    re.VERBOSE,
)
_MOST_DIGITS = 400
"""Beyond any number a task asks for; exact arithmetic on more would take seconds."""
_GROUPING = str.maketrans({",": None, "\u00a0": None, "\u202f": None})


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as written: 12 % has the value 12."""

    value: Fraction
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far an answer may be off: an amount, or a share of the reference; the edge counts in."""

    amount: Fraction = Fraction(0)
    relative: bool = False

    def allows(self, answer: Fraction, reference: Fraction) -> bool:
        """Whether `answer` is near enough."""
        reach = self.amount * abs(reference) if self.relative else self.amount
        return abs(answer - reference) <= reach


def parse_tolerance(value: str | float) -> Tolerance:
    """A tolerance from "0.5" or "1%".

    Raises:
        ValueError: it is neither, or negative.
    """
    quantity = parse_number(str(value))
    if quantity is None or quantity.value < 0:
        raise ValueError(f"tolerance `{value}` is not an amount such as 0.5 or a share such as 1%")
    amount = quantity.value / 100 if quantity.percent else quantity.value
    return Tolerance(amount, quantity.percent)


def last_number(text: str) -> Quantity | None:
    """The last number of a text, None when there is none."""
    found = reversed(list(_NUMBER.finditer(text)))
    return next((quantity for match in found if (quantity := _quantity(match))), None)


def parse_number(text: str) -> Quantity | None:
    """The number a text consists of, apart from a unit; None when it holds other digits too."""
    found = list(_NUMBER.finditer(text))
    if len(found) != 1:
        return None
    rest = text[: found[0].start()] + text[found[0].end() :]
    return None if any(char.isdigit() for char in rest) else _quantity(found[0])


def same_number(answer: Quantity, reference: Quantity, tolerance: Tolerance) -> bool:
    """Whether two quantities agree within the tolerance.

    When only one of them has a percent sign, 12 and 0.12 both agree with 12 %: a question may ask
    for the number of percent or for the share.
    """
    readings = [answer.value]
    if answer.percent != reference.percent:
        readings.append(answer.value / 100 if answer.percent else answer.value * 100)
    return any(tolerance.allows(value, reference.value) for value in readings)


def _quantity(match: re.Match[str]) -> Quantity | None:
    if len(match[0]) > _MOST_DIGITS:
        return None
    digits = match["digits"].translate(_GROUPING)
    exponent = (match["exponent"] or "").replace("\u2212", "-")
    value = Fraction(Decimal(digits + exponent))
    if match["below"]:
        below = int(Decimal(match["below"]))
        if below == 0:
            return None
        value /= below
    if match["sign"] and match["sign"] != "+":
        value = -value
    return Quantity(value, bool(match["percent"]))
