"""Scores of answers that are JSON objects, field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skillopt_cli.benchmarks.kit.answers import contrast, tagged_or_all
from skillopt_cli.benchmarks.kit.typography import plain_marks
from skillopt_cli.core.score import Score

_FENCED = re.compile(r"(?:```|~~~)(?:json)?\s*(.*?)\s*(?:```|~~~)", re.IGNORECASE | re.DOTALL)
_SHOWN = 80
_MOST = 8

Fields = dict[tuple[str, ...], Any]
"""The values of an object by their path; a list is one value, and so is an empty object."""


def read_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, or that its code fence holds and nothing else; or None."""
    text = text.strip().removeprefix("\ufeff")
    fenced = _FENCED.fullmatch(text)
    if fenced is None and "{" not in _FENCED.sub("", text, count=1):
        fenced = _FENCED.search(text)
    try:
        value = json.loads(
            fenced[1] if fenced else text, parse_constant=_refuse, object_pairs_hook=unique_names
        )
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs, for the decoder of JSON.

    Raises:
        ValueError: a name occurs twice, so that what it means is unclear.
    """
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name occurs twice")
    return value


def object_text(value: Mapping[str, Any]) -> str:
    """An object as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def object_fault(answers: Sequence[str]) -> str:
    """Why references cannot be compared field by field, "" when they can."""
    for answer in answers:
        if not read_object(answer):
            return f"the reference `{answer[:_SHOWN]}` is no JSON object with a field"
    return "" if answers else "a reference answer is missing"


def json_score(data: Mapping[str, Any], reply: str) -> Score:
    """Hard: all fields equal those of a reference. Soft: the share of fields that do.

    Fields that the reference lacks count as wrong ones. Texts must be equal but for white space at
    their ends and typographic variants, numbers by value; true is not 1, and "1" is not 1. The
    order of fields is no matter.
    """
    answers: tuple[str, ...] = data["answers"]
    answer = tagged_or_all(reply)
    given = read_object(answer)
    if given is None:
        faults = f"{contrast(answers, answer)}, which is no JSON object"
        return Score(0.0, 0.0, faults, answers)
    try:
        scores = [
            _compared(dict(_walk(read_object(ref) or {})), dict(_walk(given))) for ref in answers
        ]
    except RecursionError:
        return Score(0.0, 0.0, "the object is nested too deeply to be compared", answers)
    soft, feedback = max(scores, key=lambda score: score[0])
    return Score(float(not feedback), soft, feedback, answers)


def _compared(wanted: Fields, given: Fields) -> tuple[float, str]:
    """The share of fields that are right, and what is wrong with the others."""
    everything = wanted | given
    wrong = [path for path in everything if not _same(wanted, given, path)]
    faults = [_fault(wanted, given, path) for path in wrong[:_MOST]]
    more = [f"and {len(wrong) - _MOST} fields more"] if len(wrong) > _MOST else []
    return 1 - len(wrong) / len(everything), "; ".join([*faults, *more])


def _same(wanted: Fields, given: Fields, path: tuple[str, ...]) -> bool:
    if path not in wanted or path not in given:
        return False
    return bool(_canonical(wanted[path]) == _canonical(given[path]))


def _canonical(value: Any) -> Any:
    """A value that equals another one's exactly when both mean the same."""
    match value:
        case bool() | None:
            return repr(value)
        case str():
            return ("text", plain_marks(value).strip())
        case list():
            return [_canonical(item) for item in value]
        case dict():
            return {plain_marks(key): _canonical(item) for key, item in value.items()}
        case _:
            return value


def _fault(wanted: Fields, given: Fields, path: tuple[str, ...]) -> str:
    name = ".".join(path)
    if path not in wanted:
        return f"`{name}` is not asked for"
    if path not in given:
        return f"`{name}` is missing, expected {_shown(wanted[path])}"
    return f"`{name}`: expected {_shown(wanted[path])}, got {_shown(given[path])}"


def _shown(value: Any) -> str:
    # JSON can hold half a surrogate pair, which no file can.
    text = json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _walk(
    value: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from _walk(item, (*above, plain_marks(key)))
        else:
            yield (*above, plain_marks(key)), item


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
