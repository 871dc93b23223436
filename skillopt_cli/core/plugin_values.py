"""Values that plug-ins hand over, checked where they arrive.

What is harmless is converted: any real number to a float, nothing to an empty text, a number in the
place of a text to its digits. Anything else raises an error with its type.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any

LONGEST_TEXT = 100_000
"""Characters of a feedback; a longer one is cut in the middle."""
_CUT = "\n[... {:,} characters left out ...]\n"


def number(value: Any, what: str) -> float:
    """Return a real number, such as a Decimal, a Fraction or a NumPy scalar, as a float.

    Raises:
        TypeError: it is none, or is written as a text.
    """
    if type(value) is float:
        return value
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} {_shown(value)} is no number") from None


def whole(value: Any, what: str) -> int:
    """Return a whole number of any numeric type as an int.

    Raises:
        TypeError: it is none.
    """
    if type(value) is int:
        return value
    found = number(value, what)
    if not found.is_integer():
        raise TypeError(f"{what} {_shown(value)} is no whole number")
    return int(found)


def text(value: Any, what: str) -> str:
    """Return a text as it is, None as an empty one, a number as its digits.

    Raises:
        TypeError: it is something else.
    """
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, str | Number):
        return str(value)
    raise TypeError(f"{what} {_shown(value)} is no text")


def bounded_text(value: Any, what: str) -> str:
    """Return a text as `text` does, with its middle left out if it is longer than any is read."""
    whole = text(value, what)
    if len(whole) <= LONGEST_TEXT:
        return whole
    half = LONGEST_TEXT // 2
    return whole[:half] + _CUT.format(len(whole) - 2 * half) + whole[-half:]


def texts(value: Any, what: str) -> tuple[str, ...]:
    """Return texts as a tuple: None as none, one text as that one.

    Raises:
        TypeError: it is something else.
    """
    if value is None:
        return ()
    if isinstance(value, str | Number):
        return (text(value, what),)
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{what} {_shown(value)} is no list of texts")
    return tuple(text(member, what) for member in value)


def json_values(value: Any, what: str) -> dict[str, Any]:
    """Return a mapping as a journal will return it.

    Raises:
        TypeError: it is no mapping, or JSON cannot hold a value of it.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} {_shown(value)} is no mapping")
    try:
        found: dict[str, Any] = json.loads(json.dumps(dict(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{what} holds what JSON cannot: {error}") from None
    return found


def instance(value: Any, kind: type, what: str) -> Any:
    """Return a value of a class.

    Raises:
        TypeError: it is none of it.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{what} {_shown(value)} is no {kind.__name__}")
    return value


def _shown(value: Any) -> str:
    """A value in an error: its type, and of a short one its content."""
    try:
        content = " ".join(repr(value).split())
    # A plug-in's class may fail at that as well.
    except Exception:
        content = ""
    shown = f"`{content}` " if 0 < len(content) <= 60 else ""
    return f"{shown}of type {type(value).__name__}"
