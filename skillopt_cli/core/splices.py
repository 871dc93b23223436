"""How an edit changes a text: where its anchor stands, and what the text then reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Span = tuple[int, int]
Miss = Literal["unmatched", "ambiguous", "protected"]


def locate(text: str, target: str, guarded: Sequence[Span] = ()) -> Span | tuple[Miss, str]:
    """Where `target` stands outside the guarded spans if it does so once, else why not."""
    free: list[Span] = []
    hidden = False
    at = text.find(target)
    while at >= 0:
        end = at + len(target)
        if any(at < stop and end > start for start, stop in guarded):
            hidden = True
        else:
            free.append((at, end))
        at = text.find(target, at + 1)
    if len(free) == 1:
        return free[0]
    if free:
        return "ambiguous", f"the target occurs {len(free)} times"
    if hidden:
        return "protected", "the target lies in a protected region"
    return "unmatched", ""


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
