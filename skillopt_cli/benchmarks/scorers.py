"""Named scorers for task folders.

| name | an answer is right when |
|---|---|
| exact | it equals a reference, white space apart |
| f1 | it equals a reference as SQuAD compares; `soft` is the word F1 |
| contains | a reference stands in it as whole words, in any case |
| numeric | its last number equals a reference within `tolerance` |
| regex | the pattern of the record, else of the option, is found in it |
| choice | it names the right option, by letter or text |
| judge | it equals a reference, or a judge says that it means the same |
| json | its fields equal those of a reference; `soft` is the share of fields that do |
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from skillopt_cli.benchmarks import numeric, squad
from skillopt_cli.benchmarks.answers import contrast, extract_answer, tagged_or_all
from skillopt_cli.benchmarks.choice import LETTERS, choices_fault, chosen
from skillopt_cli.benchmarks.json_fields import json_score, object_fault
from skillopt_cli.benchmarks.judging import left_to_judge
from skillopt_cli.core.score import Score

ScorerName = Literal["exact", "f1", "contains", "numeric", "regex", "choice", "json", "judge"]


@dataclass(frozen=True, slots=True)
class Scorer:
    """A way to score replies to a folder's tasks.

    Both functions take a task's data: `answers` (texts; may be empty for regex only), and where
    they apply `choices` (texts) and `pattern` (a regular expression).

    Attributes:
        answer_format: how a target is told to mark its answer, unless the user says otherwise.
        fault: why a task cannot be scored, "" when it can.
        score: the score of a whole reply.
    """

    name: ScorerName
    answer_format: str
    fault: Callable[[Mapping[str, Any]], str]
    score: Callable[[Mapping[str, Any], str], Score]

    def check(self, data: Mapping[str, Any]) -> str:
        """Why a task cannot be scored: its `fault`, or a reference that would itself be wrong."""
        fault = self.fault(data)
        if fault:
            return fault
        for answer in data["answers"]:
            if self.score(data, f"<answer>{answer}</answer>").hard < 1.0:
                return f"the reference `{answer}` does not get full marks from scorer {self.name}"
        return ""


def make_scorer(name: ScorerName, tolerance: str | float = 0) -> Scorer:
    """The scorer of this name.

    Raises:
        ValueError: the tolerance is malformed.
    """
    allowed = numeric.parse_tolerance(tolerance)
    return {
        "exact": Scorer("exact", _SHORT, _needs_answer, _exact),
        "f1": Scorer("f1", _SHORT, _needs_words, _f1),
        "contains": Scorer("contains", _SHORT, _needs_answer, _contains),
        "numeric": Scorer("numeric", _NUMBER, _needs_numbers, partial(_numeric, allowed)),
        "regex": Scorer("regex", _SHORT, _needs_pattern, _regex),
        "choice": Scorer("choice", _LETTER, _needs_choices, _choice),
        "judge": Scorer("judge", _SHORT, _needs_answer, _judge),
        "json": Scorer("json", _OBJECT, lambda data: object_fault(data["answers"]), json_score),
    }[name]


def pattern_fault(pattern: str) -> str:
    """Why a pattern cannot tell right from wrong answers, "" when it might."""
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
        if not squad.normalise(answer):
            return f"the reference `{answer}` has no word that scorer f1 compares"
    return _needs_answer(data)


def _needs_numbers(data: Mapping[str, Any]) -> str:
    for answer in data["answers"]:
        if numeric.parse_number(answer) is None:
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
    right = _spaced(answer) in {_spaced(reference) for reference in data["answers"]}
    return _binary(right, data["answers"], answer)


def _f1(data: Mapping[str, Any], reply: str) -> Score:
    answer = extract_answer(reply)
    return squad.squad_score(answer, data["answers"])


def _contains(data: Mapping[str, Any], reply: str) -> Score:
    answer = tagged_or_all(reply)
    text = _spaced(answer).casefold()
    right = any(_stands_in(_spaced(ref).casefold(), text) for ref in data["answers"])
    return _binary(right, data["answers"], answer)


def _stands_in(part: str, text: str) -> bool:
    """Whether `part` occurs with no letter or digit running on at its ends."""
    before = r"(?<!\w)" if part[0].isalnum() else ""
    after = r"(?!\w)" if part[-1].isalnum() else ""
    return re.search(before + re.escape(part) + after, text) is not None


def _numeric(tolerance: numeric.Tolerance, data: Mapping[str, Any], reply: str) -> Score:
    answer = extract_answer(reply)
    given = numeric.last_number(answer)
    references = (numeric.parse_number(reference) for reference in data["answers"])
    right = given is not None and any(
        ref is not None and numeric.same_number(given, ref, tolerance) for ref in references
    )
    score = _binary(right, data["answers"], answer)
    if given is not None or not answer:
        return score
    return Score(0.0, 0.0, f"{score.feedback}, which holds no number like 1,234.5", score.expected)


def _regex(data: Mapping[str, Any], reply: str) -> Score:
    answer = tagged_or_all(reply)
    if re.search(data["pattern"], answer):
        return Score(1.0, 1.0, "", data["answers"])
    # The pattern is the grader's own: a skill that quotes it would pass without solving anything.
    feedback = f"{contrast((), answer)}, which does not have the wanted form"
    return Score(0.0, 0.0, feedback, data["answers"])


def clear_case(answers: tuple[str, ...], answer: str) -> Score | None:
    """The score of an answer that needs no judge: an empty one, or one that is a reference."""
    same = _spaced(answer).casefold() in {_spaced(ref).casefold() for ref in answers}
    return None if answer.strip() and not same else _binary(same, answers, answer)


def _judge(data: Mapping[str, Any], reply: str) -> Score:
    answers = data["answers"]
    return clear_case(answers, extract_answer(reply)) or left_to_judge(answers)


def _choice(data: Mapping[str, Any], reply: str) -> Score:
    choices, answer = data["choices"], extract_answer(reply)
    right = {chosen(reference, choices) for reference in data["answers"]}
    expected = tuple(
        f"{LETTERS[i]}. {choices[i]}" for i in sorted(i for i in right if i is not None)
    )
    picked = chosen(answer, choices)
    score = _binary(picked is not None and picked in right, expected, answer)
    if picked is not None or not answer:
        return score
    return Score(0.0, 0.0, f"{score.feedback}, which names none of the options", expected)


def _binary(right: bool, expected: tuple[str, ...], answer: str) -> Score:
    feedback = "" if right else contrast(expected, answer)
    return Score(float(right), float(right), feedback, expected)


def _spaced(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
