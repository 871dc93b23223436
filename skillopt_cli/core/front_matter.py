"""Front matter: the YAML mapping between two `---` lines at the very top of a skill.

A part between such lines that is no mapping of keys is text like any other. Metadata below blank
lines, comments or a heading is text too, but an agent's program is given it in one block at the
top.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from skillopt_cli.core.formatting import count

NAME, DESCRIPTION = "name", "description"
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
"""Limits of the open format of skills, in characters; a program drops a skill beyond them."""

_BLOCK = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_ABOVE = re.compile(r"(?:[\s\ufeff\u200b\u2060]|<!--.*?-->|#[^\n]*(?:\n|\Z))*", re.DOTALL)
_INDENT = re.compile(r"(?:[^\S\r\n]|[\ufeff\u200b\u2060])*\Z")
_RULE = re.compile(r"---[ \t]*\r?\n")
_KEY = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*([\"']?)[a-z][\w-]*\1[ \t]*:(?:\s|\Z)")
_WORD = re.compile(r"[a-z][\w-]*")
"""A key of metadata; prose has capitals and numbers before its colons."""
_USABLE_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")


@dataclass(frozen=True, slots=True)
class Metadata:
    """A block of metadata: `text[start:end]`, rules included, and its values."""

    start: int
    end: int
    values: Mapping[object, object]


def front_matter(text: str) -> Metadata | None:
    """Return the front matter of a skill; None without one. One without keys counts."""
    found = _BLOCK.match(text)
    if found is None or (values := _mapping(found[1])) is None or not _is_metadata(values):
        return None
    return Metadata(0, found.end(), values)


def leading_metadata(text: str) -> tuple[Metadata, ...]:
    """Return the front matter, and the blocks below it or in its place that were meant as such.

    These have a name or a description, and only blank lines, comments and headings above them.
    """
    first = front_matter(text)
    return (*([first] if first else ()), *_displaced(text, first.end if first else 0))


def agent_metadata(text: str) -> tuple[dict[object, object], str]:
    """Return all leading metadata as one mapping, in which the first block wins, and the rest."""
    values: dict[object, object] = {}
    for block in reversed(leading_metadata(text)):
        values = {**block.values, **values, **block.values}
        text = text[: block.start] + text[block.end :]
    return values, text


def fault_of_metadata(text: str) -> str:
    """Return why a text's front matter cannot be read as such; "" if it can, or is none."""
    rule = _RULE.match(text)
    if rule is None or not _KEY.match(text, rule.end()) or front_matter(text) is not None:
        return ""
    found = _BLOCK.match(text)
    if found is None:
        return "has no end"
    return f"is no YAML mapping{_yaml_fault(found[1])}"


def metadata_notice(text: str) -> str:
    """Return what is unusual about the metadata of a skill; "" for nothing."""
    blocks = leading_metadata(text)
    if any(block.start for block in blocks):
        line = text.count("\n", 0, next(block.start for block in blocks if block.start)) + 1
        return (
            f"the metadata in line {line} counts as instructions, since it does not stand at the"
            " very top; move it there"
        )
    if not blocks and _BLOCK.match(text):
        return (
            "the part between the first two `---` lines counts as instructions, since it is no"
            " YAML mapping of keys such as `name`"
        )
    return ""


def limits_exceeded(text: str) -> Iterator[str]:
    """Yield what of a skill's name and description programs refuse, each with its limit."""
    values, _ = agent_metadata(text)
    name, description = values.get(NAME), values.get(DESCRIPTION)
    if name is not None and not usable_name(name):
        shown = f"`{name[:LONGEST_NAME]}`" if isinstance(name, str) else "no text"
        size = f" of {count(len(name), 'character')}" if isinstance(name, str) else ""
        yield (
            f"its name{size} is {shown}; it may have {LONGEST_NAME} lower-case letters, digits and"
            " single hyphens"
        )
    if description is not None and not isinstance(description, str):
        yield "its description is no text"
    elif description is not None and len(description) > LONGEST_DESCRIPTION:
        yield (
            f"its description has {count(len(description), 'character')}; it may have"
            f" {LONGEST_DESCRIPTION:,}"
        )


def usable_name(name: object) -> bool:
    """Return whether every program takes this name."""
    return (
        isinstance(name, str) and len(name) <= LONGEST_NAME and _USABLE_NAME.match(name) is not None
    )


def _displaced(text: str, at: int) -> Iterator[Metadata]:
    while True:
        above = _ABOVE.match(text, at)
        start = above.end() if above else at
        found = _BLOCK.match(text, start)
        if found is None or not _INDENT.match(text[text.rfind("\n", 0, start) + 1 : start]):
            return
        values = _mapping(found[1])
        if values is None or not {NAME, DESCRIPTION} & values.keys():
            return
        yield Metadata(start, found.end(), values)
        at = found.end()


def _is_metadata(values: Mapping[object, object]) -> bool:
    keys = [str(key) for key in values]
    return not keys or any(
        _WORD.fullmatch(key) or key.lower() in (NAME, DESCRIPTION) for key in keys
    )


@lru_cache(maxsize=256)
def _mapping(inner: str) -> Mapping[object, object] | None:
    """The YAML mapping in a text, empty for a blank text; None for anything else."""
    import yaml

    if not inner.strip():
        return MappingProxyType({})
    try:
        value = yaml.safe_load(inner)
    # PyYAML lets errors of all kinds through, such as those of a date that does not exist.
    except Exception:
        return None
    return MappingProxyType(value) if isinstance(value, dict) else None


def _yaml_fault(inner: str) -> str:
    """The fault of a text that is no YAML mapping, with the line of the file."""
    import yaml

    try:
        yaml.safe_load(inner)
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
        return f": {error.problem}{line}"
    # As above.
    except Exception as error:
        return f": {' '.join(str(error).split())[:200]}"
    return ""
