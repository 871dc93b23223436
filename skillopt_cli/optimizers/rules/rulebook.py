"""The rules the analyst can write: what was seen, and how a person would put it in a skill."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from skillopt_cli.optimizers.rules.text import plural, spelled

SLOT = "{length}"


@dataclass(frozen=True, slots=True)
class Rule:
    """The advice for a target that shows a pattern.

    Attributes:
        topic: rules on one topic for different patterns contradict each other.
        seen: what a failing answer did, for the evidence ("5 of 8 failures ...").
        wordings: the same advice in other words, the preferred one first. `{length}` is replaced by
            the longest answer wanted, such as "three words".
    """

    pattern: str
    topic: str
    seen: str
    wordings: tuple[str, ...]

    def says(self, wording: int, length: int) -> str:
        """The rule in one of its wordings.

        Args:
            length: words of the longest answer wanted, at least 1.
        """
        return self.wordings[wording].replace(SLOT, plural(length, "word", spelled(length)))

    def wording_of(self, sentence: str) -> int | None:
        """Which wording a sentence is, or None when it is not this rule."""
        for index, wording in enumerate(self.wordings):
            pattern = re.escape(wording).replace(re.escape(SLOT), r"\w+ words?")
            if re.fullmatch(pattern, sentence):
                return index
        return None


RULES: tuple[Rule, ...] = (
    Rule(
        "empty",
        "empty",
        "gave nothing",
        ("Always give an answer, even when unsure.", "Never leave the answer empty."),
    ),
    Rule(
        "untagged",
        "tags",
        "left out the <answer> tags",
        (
            "End with the answer between <answer> and </answer>.",
            "Always close with one pair of tags: <answer>the answer</answer>.",
        ),
    ),
    Rule(
        "sentence",
        "length",
        "gave a sentence where a phrase of at most {length} was expected",
        (
            "Give only the answer itself, at most {length}, never a sentence.",
            "Answer with a name, a number or a short phrase of no more than {length}.",
            "Do not repeat the question in the answer and do not explain.",
        ),
    ),
    Rule(
        "fragment",
        "length",
        "gave a few words where a sentence was expected",
        (
            "Answer in a full sentence that takes up the words of the question.",
            "Write the whole statement, not just the name or number asked for.",
        ),
    ),
    Rule(
        "opening",
        "opening",
        'put words such as "in" or "from" before the answer',
        (
            'Start with the answer itself: no "in", "from" or "it is" before it.',
            "Leave out every word that only leads up to the answer.",
        ),
    ),
    Rule(
        "place_added",
        "place",
        "added a further place after the one asked for",
        (
            "For a place give its own name only, without the country or region it lies in.",
            "Stop after the name of the city or country; add nothing after a comma.",
        ),
    ),
    Rule(
        "unit_added",
        "unit",
        "added a unit or a noun after the number",
        (
            "For a number give the number alone, without a unit or the thing counted.",
            "After a number write nothing more: 300, not 300 metres.",
        ),
    ),
    Rule(
        "date_for_year",
        "date",
        "gave a whole date where the year was expected",
        (
            "For a year give the four digits only, without day or month.",
            "When the question asks for a year, leave out the rest of the date.",
        ),
    ),
    Rule(
        "part_of_name",
        "name",
        "gave a part of the name only",
        (
            "Give names in full, as the text does.",
            "For a person give first name and family name.",
        ),
    ),
    Rule(
        "digits_for_words",
        "notation",
        "wrote a number in digits where words were expected",
        ("Write small numbers as words.", "Spell numbers out: four, not 4."),
    ),
    Rule(
        "words_for_digits",
        "notation",
        "wrote a number in words where digits were expected",
        ("Write numbers in digits.", "Use digits for every number: 4, not four."),
    ),
    Rule(
        "casing",
        "casing",
        "differed from the reference in capital letters only",
        (
            "Keep capital letters as the text has them.",
            "Do not change the capital letters of what you copy.",
        ),
    ),
    Rule(
        "punctuation",
        "punctuation",
        "differed from the reference in punctuation only",
        (
            "End the answer without a full stop or quotation marks.",
            "No punctuation around the answer.",
        ),
    ),
    Rule(
        "article",
        "article",
        "put an article in front",
        ("Leave out a, an and the in front of the answer.", "No article before the answer."),
    ),
    Rule(
        "too_long",
        "excess",
        "gave more words than the expected answer has",
        (
            "Give the shortest wording that answers the question.",
            "Leave out every word that the question does not ask for.",
        ),
    ),
    Rule(
        "other_year",
        "years",
        "took another year from the text",
        (
            "When the text names several years, take the one of the very event asked about.",
            "Before answering with a year, find the words of the question in the text and take "
            "the year beside them.",
        ),
    ),
    Rule(
        "other_number",
        "numbers",
        "took another number from the text",
        (
            "When the text holds several numbers, take the one that counts what the question "
            "asks for.",
            "Before answering with a number, find the thing counted in the text and take the "
            "number beside it.",
        ),
    ),
    Rule(
        "other_name",
        "names",
        "took another name from the text",
        (
            "When the text holds several names, take the one that did or is what the question "
            "says.",
            "Check each name in the text against the question before choosing one.",
        ),
    ),
    Rule(
        "other_words",
        "things",
        "took other words from the text",
        (
            "Read the whole text first: what it mentions most or first need not be the answer.",
            "Choose the thing the question describes, not another one of the same kind.",
        ),
    ),
    Rule(
        "other_type",
        "type",
        "gave an answer of another type than was asked for",
        (
            "Answer what is asked: a year for a year, a number for how many, a name for who.",
            "Check that the answer is the kind of thing the question asks for.",
        ),
    ),
    Rule(
        "outside",
        "copy",
        "used words that the text does not hold",
        (
            "Copy the answer from the text, word for word.",
            "Use only words that stand in the text.",
        ),
    ),
)

BY_PATTERN: Mapping[str, Rule] = {rule.pattern: rule for rule in RULES}


def recognise(sentence: str) -> tuple[Rule, int] | None:
    """The rule a sentence states and its wording, or None for text of other origin."""
    for rule in RULES:
        wording = rule.wording_of(sentence)
        if wording is not None:
            return rule, wording
    return None
