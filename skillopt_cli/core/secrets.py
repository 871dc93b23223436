"""Secrets: values that no text may keep, in every form that programs and services write them in."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

from skillopt_cli.core.errors import SkillOptError

T = TypeVar("T")
Hide = Callable[[str], str]
"""Returns a text without any secret in it."""

HIDDEN = "***"
SHORTEST = 8
"""Characters of the shortest value that is hidden: a shorter one, such as `none`, would spoil words
that have nothing to do with it."""
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk)-(?=[A-Za-z_-]*\d)[\w-]{16,}|\beyJ[\w-]{8,}\.eyJ[\w-]+(?:\.[\w-]*)?", re.ASCII
)
"""Keys and signed tokens that no variable is known to hold."""
_NUMBERS = frozenset(
    f"{number}{optional}" for number in ("int", "float", "bool") for optional in ("", " | None")
)
"""Types of fields without text, as they are written; most fields of what is searched."""
_BITS = (8, 6)
"""Of a byte, and of a character of base64."""


class Secrets:
    """Values to hide, each with the name of what holds it; more may become known later.

    Args:
        values: the name of each value; values shorter than `SHORTEST` are left out.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._names: dict[str, str] = {}
        self._forms: tuple[str, ...] = ()
        for value, name in (values or {}).items():
            self.learn(value, name)

    def learn(self, value: str, name: str) -> None:
        """Hide a value from now on; surrounding white space is no part of it."""
        value = value.strip()
        if len(value) < SHORTEST or value in self._names:
            return
        for form in _forms(value):
            self._names.setdefault(form, name)
        # The longest first, so that none is left of which a part is another.
        self._forms = tuple(sorted(self._names, key=lambda form: (-len(form), form)))

    def hide(self, text: str) -> str:
        """Return `text` with `HIDDEN` for each form of a value, and for what looks like a key."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, HIDDEN)
        # Most texts hold no such thing, which a plain search tells sooner than the pattern.
        return _KEY_LIKE.sub(HIDDEN, text) if "k-" in text or "eyJ" in text else text

    def names_in(self, text: str) -> frozenset[str]:
        """Return the names of the values in a text."""
        return frozenset(name for form, name in self._names.items() if form in text)


@contextmanager
def errors_hidden(hide: Hide) -> Iterator[None]:
    """Take secrets out of the errors of a block that users may see."""
    try:
        yield
    except SkillOptError as error:
        error.message, error.hint = hide(error.message), hide(error.hint)
        raise


def hidden(value: T, hide: Hide) -> T:
    """Return a value with `hide` applied to every text in it; the same object where none changes.

    Dataclasses, mappings, lists and tuples are searched.
    """
    found: Any = value
    if isinstance(found, str):
        found = hide(found)
    elif is_dataclass(found) and not isinstance(found, type):
        inner = {name: getattr(found, name) for name in _field_names(type(found))}
        changed = {n: new for n, old in inner.items() if (new := hidden(old, hide)) is not old}
        found = replace(found, **changed) if changed else found
    elif isinstance(found, Mapping):
        shown = {hidden(name, hide): hidden(old, hide) for name, old in found.items()}
        found = found if shown == found else shown
    elif isinstance(found, list | tuple):
        parts = [hidden(old, hide) for old in found]
        same = all(new is old for new, old in zip(parts, found, strict=True))
        found = found if same else parts if isinstance(found, list) else tuple(parts)
    result: T = found
    return result


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass that may hold text."""
    return tuple(field.name for field in fields(kind) if str(field.type) not in _NUMBERS)


def _forms(value: str) -> set[str]:
    """A value as it is, and in base64 wherever it begins in what was encoded."""
    return {form for text in (value, *_in_base64(value)) for form in _written(text)}


def _written(text: str) -> Iterator[str]:
    """A text as plain text, addresses, HTML and JSON hold it, JSON within JSON included."""
    content = text.encode(errors="surrogateescape")
    yield text
    for address in (quote(content, ""), quote(content), quote_plus(content)):
        yield address
        yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), address)
    yield html.escape(text)
    for only_ascii in (True, False):
        inside = json.dumps(text, ensure_ascii=only_ascii)[1:-1]
        for written in (inside, inside.replace("/", "\\/")):
            yield written
            yield json.dumps(written, ensure_ascii=only_ascii)[1:-1]


def _in_base64(value: str) -> Iterator[str]:
    """The characters that a value alone decides, after any number of bytes before it."""
    content, (byte, character) = value.encode(errors="surrogateescape"), _BITS
    for before in range(3):
        code = b64encode(bytes(before) + content).decode()
        first = -(-byte * before // character)
        form = code[first : byte * (before + len(content)) // character]
        yield form
        yield form.replace("+", "-").replace("/", "_")
