"""The known name that a wrong one is meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

_NEAR = 0.7
"""Likeness of two names, 0 to 1, from which on one may be the other misspelt."""
_NEAR_END = 0.5
"""The same of what follows a section both lie in, which alone would make them alike."""


def suggestion(
    wrong: str, known: Iterable[str], otherwise: str = "`skillopt config show` lists every key"
) -> str:
    """A hint with the known name that a wrong one is meant to be; `otherwise` if none is near.

    In this order: a name with the same last part, which was looked for in the wrong section; one
    that the last part abbreviates; one that is spelt alike.
    """
    names = list(known)
    ways = (_elsewhere, _abbreviated, _alike, _alike_at_the_end)
    meant = next((name for way in ways if (name := way(wrong, names))), "")
    return f"did you mean `{meant}`?" if meant else otherwise


def abbreviates(short: str, name: str) -> bool:
    """Whether `short` is short for a name: `bs` or `batch` for `batch_size`.

    It consists of the initials of all the words, two or more, or each of its own words begins one
    of the name's, in their order.
    """
    return _is_initials(short, name) or _begins(short, name)


def _elsewhere(wrong: str, names: Sequence[str]) -> str:
    return _nearest(wrong, [name for name in names if _end(name) == _end(wrong)])


def _abbreviated(wrong: str, names: Sequence[str]) -> str:
    """The name that the last part of a wrong one abbreviates.

    Initials are looked for in every section, words in the one that is named, or in all where none
    is: a word alone occurs in too many names.
    """
    section = wrong.removesuffix(_end(wrong))
    within = [name for name in names if name.removesuffix(_end(name)) == section or not section]
    initials = [
        [name for name in some if _is_initials(_end(wrong), _end(name))] for some in (within, names)
    ]
    words = [name for name in within if _begins(_end(wrong), _end(name))]
    return next((_nearest(wrong, some) for some in (*initials, words) if some), "")


def _alike(wrong: str, names: Sequence[str]) -> str:
    section = wrong.removesuffix(_end(wrong))
    for name in difflib.get_close_matches(wrong, names, n=3, cutoff=_NEAR):
        end = _end(wrong) if name.startswith(section) else wrong
        if difflib.get_close_matches(end, [name.removeprefix(section)], n=1, cutoff=_NEAR_END):
            return name
    return ""


def _alike_at_the_end(wrong: str, names: Sequence[str]) -> str:
    ends = {_end(name): name for name in reversed(names)}
    close = difflib.get_close_matches(_end(wrong), ends, n=1, cutoff=_NEAR)
    return ends[close[0]] if close else ""


def _nearest(wrong: str, names: Sequence[str]) -> str:
    """The name spelt most like a wrong one, among those in the fewest sections."""
    fewest = min((name.count(".") for name in names), default=0)
    outer = [name for name in names if name.count(".") == fewest]
    return next(iter(difflib.get_close_matches(wrong, outer, n=1, cutoff=0.0)), "")


def _end(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _is_initials(short: str, name: str) -> bool:
    words = _words(name)
    return len(words) > 1 and short.lower() == "".join(word[0] for word in words)


def _begins(short: str, name: str) -> bool:
    # An iterator, so that each search goes on behind the word found before it.
    left, wanted = iter(_words(name)), _words(short)
    return bool(wanted) and all(any(word.startswith(w) for word in left) for w in wanted)


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", name.lower())
