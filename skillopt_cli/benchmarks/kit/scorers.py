"""Named scorers for task folders.

| name | an answer is right when |
|---|---|
| exact | it equals a reference, white space apart |
| f1 | it equals a reference as SQuAD compares; `soft` is the word F1 |
| contains | it contains a reference as whole words, in any case |
| numeric | its last number equals a reference within `tolerance` |
| regex | the pattern of the record, else of the option, is found in it |
| choice | it names the right option, by letter or text |
| judge | it equals a reference, or a judge finds that it means the same |
| json | its fields equal those of a reference; `soft` is the share of fields that do |
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from skillopt_cli.benchmarks.kit import numbers, squad
from skillopt_cli.benchmarks.kit.answers import (
    binary_score,
    contrast,
    extract_answer,
    tagged_or_all,
)
from skillopt_cli.benchmarks.kit.choices import choice_score, choices_fault, chosen
from skillopt_cli.benchmarks.kit.json_fields import json_score, object_fault
from skillopt_cli.benchmarks.kit.judges import left_to_judge
from skillopt_cli.benchmarks.kit.typography import SPACELESS, plain_line, plain_marks
from skillopt_cli.core.reply_text import read_text
from skillopt_cli.core.score import Score

ScorerName = Literal["exact", "f1", "contains", "numeric", "regex", "choice", "json", "judge"]


@dataclass(frozen=True, slots=True)
class Scorer:
    """A way to score replies to a folder's tasks.

    Both functions take a task's data: `answers` (texts; may be empty for regex only), and where
    they apply `choices` (texts) and `pattern` (a regular expression).

    Attributes:
        answer_format: how a target marks its answer, unless the user sets another form.
        fault: why a task cannot be scored, "" when it can.
        score: the score of a whole reply.
        normalised: the form in which an answer is compared: texts that are equal in it score alike.
    """

    name: ScorerName
    answer_format: str
    fault: Callable[[Mapping[str, Any]], str]
    score: Callable[[Mapping[str, Any], str], Score]
    normalised: Callable[[str], str] = plain_line

    def check(self, data: Mapping[str, Any]) -> str:
        """Why a task cannot be scored: its `fault`, or a reference that would itself be wrong.

        A reference is read as replies are, so that one with a control character is found.
        """
        fault = self.fault(data)
        if fault:
            return fault
        for answer in data["answers"]:
            if self.score(data, read_text(f"<answer>{answer}</answer>").text).hard < 1.0:
                return f"the reference `{answer}` does not get full marks from scorer {self.name}"
        return ""


def make_scorer(name: ScorerName, tolerance: str | float = 0) -> Scorer:
    """The scorer of this name.

    Raises:
        ValueError: the tolerance is malformed.
    """
    allowed = numbers.parse_tolerance(tolerance)
    return {
        "exact": Scorer("exact", _SHORT, _needs_answer, _exact),
        "f1": Scorer("f1", _SHORT, _needs_words, _f1, _normal_words),
        "contains": Scorer("contains", _SHORT, _needs_answer, _contains, _caseless),
        "numeric": Scorer("numeric", _NUMBER, _needs_numbers, partial(_numeric, allowed)),
        "regex": Scorer("regex", _SHORT, _needs_pattern, _regex),
        "choice": Scorer("choice", _LETTER, _needs_choices, _choice),
        "judge": Scorer("judge", _SHORT, _needs_answer, _judge, _caseless),
        "json": Scorer("json", _OBJECT, lambda data: object_fault(data["answers"]), json_score),
    }[name]


def pattern_fault(pattern: str) -> str:
    """Why a pattern cannot separate right from wrong answers, "" when it might."""
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is not a regular expression ({error})"
    return "is found in an empty answer" if compiled.search("") else ""


_SHORT = "End with the final answer alone between tags: <answer>final answer</answer>"
_NUMBER = "End with the number alone between tags: <answer>number</answer>"
_LETTER = "End with the letter of your choice between tags: <answer>letter</answer>"

_OBJECT = "End with the JSON object alone between tags: <answer>{...}</answer>"


def _needs_answer(data: Mapping[str, Any]) -> str:
    return "" if data["answers"] else "a reference answer is missing"


def _needs_words(data: Mapping[str, Any]) -> str:
    for answer in data["answers"]:
        if not _normal_words(answer):
            return f"the reference `{answer}` has no word that scorer f1 compares"
    return _needs_answer(data)


def _needs_numbers(data: Mapping[str, Any]) -> str:
    for answer in data["answers"]:
        if numbers.parse_number(answer) is None:
            return f"the reference `{answer}` is not one number in the form 1,234.5"
    return _needs_answer(data)


def _needs_pattern(data: Mapping[str, Any]) -> str:
    if "pattern" not in data:
        return "`pattern` is missing, in the record and in env.pattern"
    fault = pattern_fault(data["pattern"])
    return f"`pattern` {fault}" if fault else ""


def _needs_choices(data: Mapping[str, Any]) -> str:
    fault = choices_fault(data["choices"]) if "choices" in data else "`choices` is missing"
    if fault:
        return fault
    for answer in data["answers"]:
        if chosen(answer, data["choices"]) is None:
            return f"the reference `{answer}` is neither a letter nor the text of an option"
    return _needs_answer(data)


def _exact(data: Mapping[str, Any], reply: str) -> Score:
    answer = extract_answer(reply)
    right = plain_line(answer) in {plain_line(reference) for reference in data["answers"]}
    return binary_score(right, data["answers"], answer)


def _f1(data: Mapping[str, Any], reply: str) -> Score:
    answer, answers = extract_answer(reply), data["answers"]
    score = squad.squad_score(_words(answer), tuple(map(_words, answers)))
    if score.hard:
        return replace(score, expected=answers)
    some = f"; some words agree (F1 {score.soft:.2f})" if score.soft else ""
    return replace(score, feedback=contrast(answers, answer) + some, expected=answers)


def _words(text: str) -> str:
    """The text such that SQuAD's comparison keeps numbers apart, and characters as words.

    1.5 is not 15, -5 and <5 not 5, x^2 not x2, C++ not C, A- not A, and what is written without
    spaces is split by character.
    """
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", plain_marks(text))
    text = re.sub(r"(?<=\d)[^\w\s](?=\d)|(?<!\w)[-.]+(?=\d)|(?<=\d[eE])-(?=\d)", _spelt, text)
    text = re.sub(r"(?<=\w)(?:[+#]+(?!\w)|\^(?=-?\w))|[<>≤≥]=?(?=\s*\d)", _spelt, text)
    text = re.sub(r"(?<=\b[A-Za-z])-(?!\w)|(?<=\b[A-Z][A-Z])-(?!\w)", _spelt, text)
    text = re.sub(r"[^\w\s]", lambda m: " " if _is_wide_mark(m[0]) else m[0], text)
    return re.sub(f"[{SPACELESS}]", r" \g<0> ", text)


def _normal_words(text: str) -> str:
    return squad.normalise(_words(text))


def _caseless(text: str) -> str:
    return plain_line(text).casefold()


def _spelt(match: re.Match[str]) -> str:
    return "".join(f"u{ord(character):x}u" for character in match[0])


def _is_wide_mark(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character).startswith("P")


def _contains(data: Mapping[str, Any], reply: str) -> Score:
    answer = tagged_or_all(reply)
    text = _caseless(answer)
    right = any(_stands_in(_caseless(ref), text) for ref in data["answers"])
    return binary_score(right, data["answers"], answer)


_LETTER = rf"[^\W{SPACELESS}]"
_GRADE = 2
"""Letters of a grade or a blood group, of which A- is another one than A."""
_NUMBER_GOES_ON = (
    r"(?![.,'/:^-]\d| ?\*\*?\d| ?[\u00d7x*\u00b7] ?10| \d{3}(?!\d)| \d+/\d| ?[¼-¾⅐-⅞]"
    rf"|[-\s]?(?:{numbers.SCALE_WORDS}|bn|mn|mln|tn|mio|mrd|k)\b| ?[百千万萬亿億兆]|\ufe0f?\u20e3)"
)
_GOES_ON = rf"(?!{_LETTER}|[+#]+(?!\w)|[\u0300-\u036f\u200d\U0001f3fb-\U0001f3ff])"
_NUMBER_GOES_BEFORE = (
    r"(?<!\d[.,'/:*\u00d7^])(?<![-.√])(?<!\bminus )(?<!\bnegative )(?<![=:≈(] - )(?<!\bis - )"
)


def _stands_in(part: str, text: str) -> bool:
    """Whether `part` occurs, with no word or number going on at its ends."""
    before = rf"(?<!{_LETTER})" if re.match(rf"{_LETTER}|[-.]\w", part) else r"(?<!\u200d)"
    if part[0].isdigit():
        before += _NUMBER_GOES_BEFORE
    elif part[0] in "$€£¥₹":
        before += "(?<!-)"
    if re.match(r"\d{3}(?!\d)|\d+/\d", part):
        before += r"(?<!\d )"
    after = "" if re.match(f"[{SPACELESS}]", part[-1]) else _GOES_ON
    if part[-1].isdigit():
        after += _NUMBER_GOES_ON
    elif part[-1].isalpha():
        after += r"(?!'(?!s\b)\w)"
        after += r"(?!\.\w)" if "." in part else r"(?!-(?!\w))" if len(part) <= _GRADE else ""
    return re.search(before + re.escape(part) + after, text) is not None


def _numeric(tolerance: numbers.Tolerance, data: Mapping[str, Any], reply: str) -> Score:
    answer = extract_answer(reply)
    given = numbers.last_number(answer)
    references = (numbers.parse_number(reference) for reference in data["answers"])
    right = given is not None and any(
        ref is not None and _same_number(answer, ref, tolerance) for ref in references
    )
    why = ", which holds no number like 1,234.5" if answer and given is None else ""
    if given is not None and (read := numbers.formatted(given.value)) not in answer:
        why = f", which reads as {read}"
    return binary_score(right, data["answers"], answer, why)


def _same_number(answer: str, reference: numbers.Quantity, tolerance: numbers.Tolerance) -> bool:
    given = numbers.answer_to(answer, reference)
    return given is not None and numbers.same_number(given, reference, tolerance)


def _regex(data: Mapping[str, Any], reply: str) -> Score:
    answer = tagged_or_all(reply)
    if re.search(data["pattern"], answer):
        return Score(1.0, 1.0, "", data["answers"])
    # The pattern is the grader's own: a skill that quotes it would pass without solving anything.
    feedback = f"{contrast((), answer)}, which does not have the wanted form"
    return Score(0.0, 0.0, feedback, data["answers"])


def clear_case(answers: tuple[str, ...], answer: str) -> Score | None:
    """The score of an answer that needs no judge: an empty one, or one that is a reference."""
    same = _caseless(answer) in set(map(_caseless, answers))
    return None if answer.strip() and not same else binary_score(same, answers, answer)


def _judge(data: Mapping[str, Any], reply: str) -> Score:
    answers = data["answers"]
    return clear_case(answers, extract_answer(reply)) or left_to_judge(answers)


def _choice(data: Mapping[str, Any], reply: str) -> Score:
    choices = data["choices"]
    right = {chosen(reference, choices) for reference in data["answers"]}
    return choice_score(
        extract_answer(reply), choices, {place for place in right if place is not None}
    )
