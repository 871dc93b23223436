"""Texts as lines, and lines as words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import SkillDocument

NO_NEWLINE = "\\ No newline at end of file"
Opcode = tuple[str, int, int, int, int]
Word = tuple[str, str, str]
"""A stretch of a line: `equal`, `replace`, `insert` or `delete`; its old text, its new one."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_ALIKE = 0.5
_MOST_PAIRS = 10_000


def lines_of(text: str) -> list[str]:
    """Lines, with the last one marked when no line end follows it, so that this differs too.

    Lines end at line feeds only.
    """
    parts = text.split("\n")
    last = parts.pop()
    return [*parts, f"{last}\n{NO_NEWLINE}"] if last else parts


def matched(a: Sequence[str], b: Sequence[str]) -> difflib.SequenceMatcher[str]:
    """The comparison of two sequences every part of `diff-skills` uses, so that they agree."""
    return difflib.SequenceMatcher(None, a, b, autojunk=False)


def regions_of(text: str) -> dict[str, tuple[int, int]] | None:
    """Protected regions by name, as line numbers from 0 and one behind the last.

    None when the markers of the text do not pair up, so that it is not known.
    """
    try:
        regions = SkillDocument(text).regions
    except DataError:
        return None
    return {
        r.name: (text.count("\n", 0, r.start), text.count("\n", 0, max(r.start, r.end - 1)) + 1)
        for r in regions
    }


def pairs(removed: Sequence[str], added: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """Removed and added lines in reading order, those that say nearly the same side by side."""
    best, at = _ALIKE, None
    if len(removed) * len(added) <= _MOST_PAIRS:
        for j, new in enumerate(added):
            matcher = difflib.SequenceMatcher(None, "", new, autojunk=False)
            for i, old in enumerate(removed):
                matcher.set_seq1(old)
                if matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
                    best, at = ratio, (i, j)
    if at is None:
        yield from ((line, None) for line in removed)
        yield from ((None, line) for line in added)
        return
    i, j = at
    yield from pairs(removed[:i], added[:j])
    yield removed[i], added[j]
    yield from pairs(removed[i + 1 :], added[j + 1 :])


def words(old: str, new: str) -> list[Word]:
    """Two lines as one sequence of stretches that are equal or differ, word by word."""
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    return [
        (kind, "".join(a[i:k]), "".join(b[j:m])) for kind, i, k, j, m in matched(a, b).get_opcodes()
    ]
