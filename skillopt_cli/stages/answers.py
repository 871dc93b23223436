"""Reading an optimizer's answer: tolerant of what stands around it, strict about what it is."""

from __future__ import annotations

import json
import re
from typing import TypeVar

from pydantic import ValidationError

from skillopt_cli.stages.contracts import Contract

C = TypeVar("C", bound=Contract)

_TOKEN = re.compile(r"\{|<(/?)(think|thinking|reasoning)>", re.IGNORECASE)
_LONGEST_TOKEN = len(r"\u0000")  # what is cut off within a token is reported at the token's start


class UnusableAnswer(Exception):
    """The answer holds no single object that satisfies the contract; the message says why."""


def read_answer(text: str, contract: type[C]) -> C:
    """The one object in `text` that satisfies `contract`.

    What stands in reasoning blocks is left out. Every outermost JSON object is a candidate; several
    that satisfy the contract are fine only if they say the same.

    Raises:
        UnusableAnswer: none does, or several that differ.
    """
    valid: list[C] = []
    fault = "it holds no JSON object"
    for candidate in _objects(text):
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


def _objects(text: str) -> list[object]:
    """Every outermost JSON object outside reasoning blocks, in order.

    Braces and tags inside an object belong to its texts. A closing tag without an opening one ends
    reasoning that began before the answer did; an object that is cut off ends the search, since
    what it holds is a part of something unknown.
    """
    decoder = json.JSONDecoder(strict=False)  # line breaks in a string are no reason to ask again
    found: list[object] = []
    at = 0
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token.group(1):
            found.clear()
        elif token.group(2):
            closing = re.compile(f"</{token.group(2)}>", re.IGNORECASE).search(text, at)
            at = closing.end() if closing else len(text)
        elif token.group() == "{":
            try:
                value, at = decoder.raw_decode(text, token.start())
            except (ValueError, RecursionError) as error:
                if _cut_off(text, error):
                    break
            else:
                found.append(value)
    return found


def _cut_off(text: str, error: Exception) -> bool:
    """Whether an object could not be read because the text ends within it."""
    if not isinstance(error, json.JSONDecodeError):
        return True
    at_the_end = error.pos + _LONGEST_TOKEN >= len(text.rstrip())
    return at_the_end or error.msg.startswith("Unterminated string")


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the object"
    return f"{place}: {first['msg']}"
