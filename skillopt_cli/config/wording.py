"""What is wrong with a value, in our words instead of the validating library's.

A value is shown only where it cannot be a key: numbers, true and false, and plain words.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails, PydanticCustomError

from skillopt_cli.config.synonyms import ours

CLASH = "clash"
"""Type of a fault that lies in several settings of a section together."""

_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("above", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("below", "lt"),
}
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
    "bool": "true or false",
    "string": "a text",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping",
}
# Keys hold digits; a word of letters is a misspelling.
_WORD = re.compile(r"[A-Za-z_ -]{1,24}\Z")
_QUOTED = re.compile(r"'([^']*)'")


def clash(message: str, names: Sequence[str], hint: str) -> PydanticCustomError:
    """The error of settings that do not fit together, to be raised in a section's validator.

    Args:
        message: names each setting in backticks, without its section.
        names: those settings.
        hint: what to do.
    """
    # The library would read braces of a template as fields.
    return PydanticCustomError(CLASH, "{said}", {"said": message, "names": names, "hint": hint})


def clash_words(fault: ErrorDetails, origin: Callable[[str], str]) -> tuple[str, str]:
    """A clash as message and hint; `origin` says of a dotted key where its value comes from."""
    context = fault["ctx"]
    section = ".".join(str(part) for part in fault["loc"])
    message = str(context["said"])
    for name in context["names"]:
        key = f"{section}.{name}" if section else name
        message = message.replace(f"`{name}`", f"`{key}`{origin(key)}", 1)
    return message, str(context["hint"])


def fault_words(fault: ErrorDetails) -> str:
    """What to put behind the name of the setting: ` must be at least 1, not 0`."""
    kind = fault["type"]
    context: Mapping[str, Any] = fault.get("ctx", {})
    if kind in _BOUNDS:
        word, name = _BOUNDS[kind]
        return f" must be {word} {context[name]:g}{_instead(fault)}"
    if kind == "literal_error":
        allowed = _QUOTED.sub(r"`\1`", str(context["expected"]))
        return f" must be {allowed}{_instead(fault)}"
    if wanted := _KINDS.get(kind.split("_", maxsplit=1)[0]):
        return f" must be {wanted}{_instead(fault)}"
    message = fault["msg"].removeprefix("Value error, ")
    return f" {message}" if message.startswith("must ") else f": {message[:1].lower()}{message[1:]}"


def nearest(fault: ErrorDetails) -> str:
    """A hint with the allowed word that is meant or comes nearest, empty without one."""
    given = fault.get("input")
    if not isinstance(given, str | int):
        return ""
    meant = ours(str(fault["loc"][-1]), json.dumps(given) if isinstance(given, bool) else given)
    if meant is None and fault["type"] == "literal_error":
        words = _QUOTED.findall(str(fault["ctx"]["expected"]))
        meant = next(iter(difflib.get_close_matches(str(given).lower(), words, n=1)), None)
    return f"did you mean `{meant}`?" if meant else ""


def _instead(fault: ErrorDetails) -> str:
    given = fault.get("input")
    if isinstance(given, bool | int | float):
        return f", not {json.dumps(given)}"
    if isinstance(given, str) and _WORD.match(given):
        return f", not `{given}`"
    return ""
