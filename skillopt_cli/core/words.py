"""Counted things in words, for messages of every floor."""

from __future__ import annotations


def count(n: int, noun: str, plural: str = "") -> str:
    """`1 edit`, `2 edits`, `1,200 calls`; `plural` for a noun that does not just take an s."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {plural or noun + 's'}"
