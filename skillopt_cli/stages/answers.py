"""Reading an optimizer's answer: tolerant of what stands around it, strict about what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeVar

from pydantic import ValidationError

from skillopt_cli.stages.contracts import Contract

C = TypeVar("C", bound=Contract)

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)


class UnusableAnswer(Exception):
    """The answer holds no single object that satisfies the contract; the message says why."""


def read_answer(text: str, contract: type[C]) -> C:
    """The one object in `text` that satisfies `contract`.

    Reasoning blocks are dropped first. Every outermost JSON object is a candidate; several that
    satisfy the contract are fine only if they say the same.

    Raises:
        UnusableAnswer: none does, or several that differ.
    """
    valid: list[C] = []
    fault = "it holds no JSON object"
    for candidate in _objects(_REASONING.sub("", text)):
        try:
            answer = contract.model_validate(candidate)
        except ValidationError as error:
            fault = _first_fault(error)
            continue
        if answer not in valid:
            valid.append(answer)
    if len(valid) == 1:
        return valid[0]
    raise UnusableAnswer(f"it holds {len(valid)} different answers" if valid else fault)


def _objects(text: str) -> Iterator[object]:
    """Every outermost JSON object in `text`, in order."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the object"
    return f"{place}: {first['msg']}"
