"""Detectors: each returns whether one failed case shows one pattern. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from skillopt_cli.optimizers.rules.case import Case
from skillopt_cli.optimizers.rules.text import (
    SENTENCE_WORDS,
    Shape,
    find,
    in_digits,
    number,
    shape,
    words,
)

ARTICLES = frozenset({"a", "an", "the"})
OPENERS = ARTICLES | {
    "about",
    "around",
    "at",
    "by",
    "from",
    "in",
    "into",
    "is",
    "it",
    "its",
    "of",
    "on",
    "they",
    "to",
    "was",
    "were",
    "with",
}
_LONGER = 4


def empty(case: Case) -> bool:
    """Nothing was given."""
    return not words(case.given)


def untagged(case: Case) -> bool:
    """Tags were asked for, and the reply has none."""
    return case.told_of_tags and not case.tagged


def sentence(case: Case) -> bool:
    """A sentence, or most of one, where a few words were wanted."""
    given, wanted = words(case.given), _longest(case)
    return wanted < SENTENCE_WORDS and len(given) >= wanted + _LONGER


def fragment(case: Case) -> bool:
    """A few words where a sentence was wanted."""
    given = len(words(case.given))
    shortest = min(len(words(text)) for text in case.wanted)
    return given > 0 and shortest >= SENTENCE_WORDS and given + _LONGER <= shortest


def opening(case: Case) -> bool:
    """The reference after words that only lead up to it: "In 1989"."""
    given, wanted = words(case.given), words(case.reference)
    at = find(wanted, given)
    lead = given[: max(at, 0)]
    ends = at + len(wanted) == len(given)
    return bool(lead) and ends and OPENERS.issuperset(lead) and not ARTICLES.issuperset(lead)


def place_added(case: Case) -> bool:
    """The reference, then a comma and a further name: "Athens, Greece"."""
    head, comma, tail = case.given.partition(",")
    named = shape(case.reference) == "name" and shape(tail) == "name" and not in_digits(tail)
    return bool(comma) and named and words(head) == words(case.reference)


def unit_added(case: Case) -> bool:
    """The number that was wanted, then what it counts: "42 metres"."""
    given = words(case.given)
    if number(case.reference) is None or not 2 <= len(given) < SENTENCE_WORDS:
        return False
    return number(given[0]) == number(case.reference) and not any(map(in_digits, given[1:]))


def date_for_year(case: Case) -> bool:
    """A date that holds the year that was wanted: "15 January 2001"."""
    given, wanted = words(case.given), words(case.reference)
    if shape(case.reference) != "year" or not 2 <= len(given) < SENTENCE_WORDS:
        return False
    return wanted[0] in given and not opening(case)


def part_of_name(case: Case) -> bool:
    """A part of the name that was wanted: "Mozart"."""
    given, wanted = words(case.given), words(case.reference)
    inside = find(given, wanted) >= 0 and len(given) < len(wanted) < SENTENCE_WORDS
    return inside and shape(case.reference) == "name"


def digits_for_words(case: Case) -> bool:
    """The right number in digits where words were wanted."""
    return _other_notation(case) and in_digits(case.given)


def words_for_digits(case: Case) -> bool:
    """The right number in words where digits were wanted."""
    return _other_notation(case) and not in_digits(case.given)


def casing(case: Case) -> bool:
    """Capital letters make the only difference."""
    given, wanted = case.given.strip(), case.reference.strip()
    return given != wanted and given.casefold() == wanted.casefold()


def punctuation(case: Case) -> bool:
    """Punctuation at the ends makes the only difference."""
    given, wanted = case.given.strip(), case.reference.strip()
    return given != wanted and given.strip(" .,;:!?\"'()") == wanted


def article(case: Case) -> bool:
    """An article in front makes the only difference."""
    given, wanted = words(case.given), words(case.reference)
    return len(given) > 1 and given[0] in ARTICLES and given[1:] == wanted


def too_long(case: Case) -> bool:
    """A few words more than wanted, for none of the reasons above."""
    given, wanted = words(case.given), words(case.reference)
    extra = find(wanted, given) >= 0 and 0 < len(given) - len(wanted) < _LONGER
    named = (opening, place_added, unit_added, date_for_year, article)
    return extra and not any(detector(case) for detector in named)


def other_year(case: Case) -> bool:
    """Another year of the same text."""
    return _other(case, "year")


def other_number(case: Case) -> bool:
    """Another number of the same text."""
    return _other(case, "number")


def other_name(case: Case) -> bool:
    """Another name of the same text."""
    return _other(case, "name")


def other_words(case: Case) -> bool:
    """Other words of the same text."""
    return _other(case, "phrase", "name")


def other_type(case: Case) -> bool:
    """An answer of another type: a name for a year."""
    kinds = {"year", "number", "name"}
    given, wanted = shape(_bare(case)), shape(case.reference)
    return not case.aligned and wanted in kinds and given in kinds - {wanted}


def outside(case: Case) -> bool:
    """Words that the text does not hold, where the reference occurs in it."""
    short = 0 < len(words(case.given)) < SENTENCE_WORDS
    told = case.stands_in_task(case.reference)
    return short and told and not case.aligned and not case.stands_in_task(_bare(case))


def _other(case: Case, wanted: Shape, *also: Shape) -> bool:
    """Whether the answer is of the wanted shape, or of one like it, but from elsewhere."""
    bare = _bare(case)
    alike = shape(case.reference) == wanted and shape(bare) in (wanted, *also)
    told = case.stands_in_task(bare) and case.stands_in_task(case.reference)
    return alike and told and not case.aligned


def _other_notation(case: Case) -> bool:
    value = number(case.given)
    same = value is not None and all(number(text) == value for text in case.wanted)
    notations = {in_digits(text) for text in case.wanted}
    return same and notations == {not in_digits(case.given)}


def _bare(case: Case) -> str:
    """The answer without the words that lead up to it, and without what follows a comma."""
    found = case.given.split(", ")[0].split()
    while found and found[0].lower() in OPENERS:
        found = found[1:]
    return " ".join(found)


def _longest(case: Case) -> int:
    return max(len(words(text)) for text in case.wanted)


Detector = Callable[[Case], bool]
DETECTORS: Mapping[str, Detector] = {
    detector.__name__: detector
    for detector in (
        empty,
        untagged,
        sentence,
        fragment,
        opening,
        place_added,
        unit_added,
        date_for_year,
        part_of_name,
        digits_for_words,
        words_for_digits,
        casing,
        punctuation,
        article,
        too_long,
        other_year,
        other_number,
        other_name,
        other_words,
        other_type,
        outside,
    )
}
"""By pattern name, in the order rules are listed when equally supported."""


def patterns(case: Case) -> frozenset[str]:
    """Every pattern a failed case shows."""
    return frozenset(name for name, detector in DETECTORS.items() if detector(case))
