"""Numbers in English words, such as "twenty-one thousand", where an answer is nothing else."""

from __future__ import annotations

import re

_ONES = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_THOUSANDS = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORD = "|".join([*_ONES, "hundred", *_THOUSANDS])
_ANSWER = re.compile(
    rf"(\W*(?:(?:(?:the\ )?(?:final\ )?(?:answer|result|number|total)(?:\ is|:)?)\ )?"
    rf"(?:(?:minus|negative|about|approximately)\ )?)"
    rf"((?:{'|'.join(_ONES)}|a(?=\ (?:hundred|thousand|million)))"
    rf"(?:(?:[\ -]|\ and\ |-and-)(?:{_WORD})\b)*)\b"
    rf"((?:[\ -](?!(?:{_WORD}|and|or|to|but|not|plus|times)\b)[^\W\d]+){{0,3}}\W*)",
    re.IGNORECASE,
)
"""What comes before, the words of the number, and its unit."""


def with_digits(answer: str) -> str:
    """The answer with its number in digits, unchanged where it is not one number in words."""
    found = _ANSWER.fullmatch(answer)
    value = _value(found[2]) if found else None
    return answer if found is None or value is None else f"{found[1]}{value}{found[3]}"


def _value(words: str) -> int | None:
    """The number that words say; None where they say none, as in "two one"."""
    value = part = 0
    free, last = 100, 10**15
    for word in re.split(r"[\s-]+", words.lower()):
        if word in _ONES or word == "a":
            number = _ONES.get(word, 1)
            if number >= free:
                return None
            part += number
            free = 10 if number >= 20 else 0
        elif word == "hundred":
            # Up to "ninety-nine hundred"; whole tens are said as thousands.
            if not 0 < part < 100 or part % 10 == 0:
                return None
            part, free = part * 100, 100
        elif word in _THOUSANDS:
            if not 0 < part < 1000 or _THOUSANDS[word] >= last:
                return None
            last = _THOUSANDS[word]
            value, part, free = value + part * last, 0, 100
    return value + part
