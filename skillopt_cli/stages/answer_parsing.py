"""Reading an optimizer's answer: tolerant of text around it, strict about its form.

JSON with a small fault is repaired if nothing but commas, colons and backslashes changes, and each
repair is reported. Anything else is asked for again, with position and cause.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from skillopt_cli.core.control_characters import with_backslashes
from skillopt_cli.core.reply_text import read_text
from skillopt_cli.stages.answer_schemas import Contract

C = TypeVar("C", bound=Contract)
OnRepair = Callable[[str], None]

_OBJECT = "it holds no JSON object"
_KEYED = re.compile(r"""\{\s*(?:"[^"]*(?:"\s*(?::|\Z)|\Z)|'[^']*'\s*:)""")
"""The beginning of an object, unlike that of a set in braces."""
_UNQUOTED = re.compile(r"\{\s*\w+\s*:")
_FENCED = re.compile(r"```\w*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_TORN_FENCE = re.compile(r"^[ \t]*```\w+[^\n]*$(?!(?s:.*)^[ \t]*```)", re.MULTILINE)
"""The beginning of a block that has no end."""
_ESCAPED = re.compile(r"\\+(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPE = re.compile(r"""\\(["'\\/bfnrt]|u[0-9a-fA-F]{4})?""")
"""A backslash, and what JSON lets it escape; Python knows more, such as `\\a` and `\\1`."""
_NOT_KEPT = re.compile(r"[^!-~]+|[,:]")


class UnusableAnswer(Exception):
    """The answer holds no single object that satisfies the contract; the message gives why."""


@dataclass(frozen=True, slots=True)
class _Objects:
    """The outermost JSON objects of a text, in order; each with whether a list holds it.

    Attributes:
        end: where the last one ends; 0 for none.
        torn: where one begins that cannot be read, which ends the search; None for nowhere.
        fault: position and cause of the first fault.
    """

    found: list[tuple[object, bool]]
    end: int
    torn: int | None = None
    fault: str = ""


def read_answer(text: str, contract: type[C], repaired: OnRepair = lambda repair: None) -> C:
    """The one object in `text` that satisfies `contract`.

    Thoughts are left out. Every outermost JSON object is a candidate; several that satisfy the
    contract are fine only if they are equal.

    Args:
        repaired: receives each repair.

    Raises:
        UnusableAnswer: none does, several that differ, one in a list, or one beside an object that
            cannot be read.
    """
    text = _unwrapped(read_text(text).text, repaired)
    objects = _objects(text)
    valid, fault = _valid(objects.found, contract, repaired)
    if objects.torn is not None:
        value = None if valid else _repaired(text[objects.torn :])
        if value is None:
            raise UnusableAnswer(f"{_OBJECT} that can be read: {objects.fault}")
        repaired(objects.fault)
        valid, fault = _valid([(value, _listed(text, objects.torn))], contract, repaired)
    elif objects.found and _TORN_FENCE.search(text, objects.end):
        raise UnusableAnswer("a block begins behind its object and has no end")
    if not valid:
        raise UnusableAnswer(fault or f"{_OBJECT}: {objects.fault}".removesuffix(": "))
    if len(valid) > 1:
        raise UnusableAnswer(f"it holds {len(valid)} different answers")
    answer, listed = valid[0]
    if listed:
        raise UnusableAnswer("its object is in a list, and only the object is asked for")
    return answer


def _unwrapped(text: str, repaired: OnRepair) -> str:
    """The text; of an object that is written as a JSON string, the object."""
    fenced = _FENCED.fullmatch(text.strip())
    whole = (fenced[1] if fenced else text).strip()
    with suppress(ValueError, RecursionError):
        inner = json.loads(whole, strict=False) if whole.startswith('"') else None
        if isinstance(inner, str) and "{" in inner:
            repaired("the object is written as a string")
            return inner
    return text


def _objects(text: str) -> _Objects:
    """The outermost JSON objects of a text. Braces inside an object belong to its texts."""
    # Line breaks in a string are no reason to ask again.
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_unique)
    found: list[tuple[object, bool]] = []
    fault, at, end = "", 0, 0
    while (start := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            at = start + 1
            if _KEYED.match(text, start):
                return _Objects(found, end, start, _cause(error))
            if _UNQUOTED.match(text, start):
                fault = fault or _cause(error)
        else:
            found.append((value, _listed(text, start)))
            end = at
    return _Objects(found, end, None, fault)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, item in pairs:
        if name in value and value[name] != item:
            raise UnusableAnswer(f"it holds two different values of `{name[:40]}` in one object")
        value[name] = item
    return value


def _listed(text: str, start: int) -> bool:
    return text[:start].rstrip().endswith("[")


def _cause(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    return str(error) if isinstance(error, ValueError) else "it is nested too deeply"


def _valid(
    found: list[tuple[object, bool]], contract: type[C], repaired: OnRepair
) -> tuple[list[tuple[C, bool]], str]:
    """The different answers among objects, and the fault of the last that is none."""
    valid: list[tuple[C, bool]] = []
    fault = ""
    for value, listed in found:
        clean = _with_backslashes(value)
        try:
            answer = contract.model_validate(clean)
        except ValidationError as error:
            fault = _first_fault(error)
            continue
        if clean != value:
            repaired("control characters, as of backslashes that were not doubled")
        if all(answer != other for other, _ in valid):
            valid.append((answer, listed))
    return valid, fault


def _with_backslashes(value: Any) -> Any:
    """A decoded value whose texts hold no control character."""
    match value:
        case str():
            return with_backslashes(value)
        case list():
            return [_with_backslashes(item) for item in value]
        case dict():
            return {key: _with_backslashes(item) for key, item in value.items()}
    return value


def _repaired(text: str) -> dict[str, Any] | None:
    """The object at the beginning of a text in near-JSON, which a fence may end; None for none."""
    fence = text.rfind("\n```")
    for part in (text[: max(fence, 0)], text):
        whole = part[: part.rfind("}") + 1]
        for read in (_python_literal, _near_json):
            # Both readers raise many kinds of errors on texts of other kinds.
            with suppress(Exception):
                value = read(whole)
                if isinstance(value, dict):
                    return value
    return None


def _python_literal(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a backslash that is none of an escape
        doubled = _ESCAPE.sub(lambda found: found[0] if found[1] else "\\\\", text)
        tree = ast.parse(doubled.strip(), mode="eval")
        value = ast.literal_eval(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            names = [str(ast.literal_eval(name)) for name in node.keys if name]
            _unique(list(zip(names, map(ast.dump, node.values), strict=True)))
    return json.loads(json.dumps(value))


def _near_json(text: str) -> Any:
    # Few answers need it.
    import json_repair

    value = json_repair.loads(text, skip_json_loads=True)
    return value if _kept(text) == _kept(json.dumps(value)) else None


def _kept(text: str) -> str:
    """The characters that a repair must keep, in order."""
    return _NOT_KEPT.sub("", _ESCAPED.sub("", text))


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the object"
    return f"{place}: {first['msg']}"
