"""Whole numbers that stand for options: counted from 0 or from 1, as the data set itself shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.errors import DataError

Base = Literal["auto", "0", "1"]


@dataclass(slots=True)
class Numbering:
    """What the numbers of a data set tell, taken together.

    The published code reads each number by itself: from 0 where that gives an option, else from 1.
    Two items may then be read in two ways; here one base holds for all.

    Attributes:
        wanted: the base, where it is not to be found out.
        numbers: how many there are.
        zeros: how many of them are 0, which only a count from 0 has.
        lasts: how many equal the number of options, which only a count from 1 has.
    """

    wanted: Base = "auto"
    numbers: int = 0
    zeros: int = 0
    lasts: int = 0

    def take(self, number: int, options: int) -> bool:
        """Take a number in; False when it cannot stand for any of so many options."""
        low, high = {"auto": (0, options), "0": (0, options - 1), "1": (1, options)}[self.wanted]
        if not low <= number <= high:
            return False
        self.numbers += 1
        self.zeros += number == 0
        self.lasts += number == options
        return True

    @property
    def base(self) -> int:
        """What the first option is called.

        Raises:
            DataError: some numbers only fit a count from 0, others only one from 1.
        """
        if self.wanted != "auto":
            return int(self.wanted)
        if self.zeros and self.lasts:
            raise DataError(
                f"`choiceAns` counts from 0 in {self.zeros} records and from 1 in {self.lasts}",
                "mend the data, or say with env.choice_base=0 or 1 which ones to keep",
            )
        return 1 if self.lasts else 0

    @property
    def told(self) -> str:
        """How the numbers are read, for the user; empty when there are none."""
        if not self.numbers:
            return ""
        words = f"whole numbers in choiceAns count from {self.base}"
        if self.wanted == "auto" and not (self.zeros or self.lasts):
            words += " (nothing in the data tells; see env.choice_base)"
        return words
