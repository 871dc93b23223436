"""Batches: work cut into consecutive groups, and how many calls merging them takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def cut(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Consecutive groups of `size`; the last one may be shorter. None for no items."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def merging_calls(patches: int, size: int) -> int:
    """Calls that merge patches in groups of `size`, level by level, until one is left.

    A group of one is left as it is, without a call.
    """
    calls = 0
    while patches > 1:
        groups = cut(range(patches), size)
        calls += sum(len(group) > 1 for group in groups)
        patches = len(groups)
    return calls
