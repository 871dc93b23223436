"""Text operations of edits: finds an anchor, and returns the text with the edit in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

Span = tuple[int, int]
Miss = Literal["unmatched", "ambiguous", "protected"]


def locate(text: str, target: str, guarded: Sequence[Span] = ()) -> Span | tuple[Miss, str]:
    """The position of `target` outside the guarded spans if it occurs there once, else why not.

    A line end is a line end, whether it has a carriage return or not.
    """
    free: list[Span] = []
    hidden = False
    for at, end in _places(text, target):
        if any(at < stop and end > start for start, stop in guarded):
            hidden = True
        else:
            free.append((at, end))
    if len(free) == 1:
        return free[0]
    if free:
        return "ambiguous", f"the target occurs {len(free)} times"
    if hidden:
        return "protected", "the target lies in a protected region"
    return "unmatched", ""


def _places(text: str, target: str) -> Iterator[Span]:
    """Every occurrence, those that overlap included; each ends elsewhere."""
    # A model hardly ever writes the carriage returns of a text it has read.
    lines = re.split(r"\r?\n", target)
    anchor = re.compile(r"\r?\n".join(map(re.escape, lines)))
    last, found = -1, anchor.search(text)
    while found:
        # One that begins with a line end is found with its carriage return, and then without.
        if found.end() != last:
            yield found.span()
        last, found = found.end(), anchor.search(text, found.start() + 1)


def spliced(op: str, text: str, content: str, span: Span) -> str:
    """The text after an `insert_after`, `replace` or `delete` at a span."""
    start, end = span
    if op == "insert_after":
        cut = text.find("\n", end - 1)
        head = text if cut < 0 else text[: cut + 1]
        return joined(head, content, text[len(head) :])
    return text[:start] + (content if op == "replace" else "") + text[end:]


def joined(head: str, content: str, tail: str) -> str:
    """`content` between `head` and `tail` on lines of its own."""
    before = "" if not head or head.endswith("\n") else "\n"
    after = "" if content.endswith("\n") else "\n"
    return head + before + content + after + tail
