"""Text forms of counts and names, for every package."""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}\Z")
_RESERVED = frozenset([
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{p}{n}" for p in ("com", "lpt") for n in range(1, 10)),
])


def count(n: int, noun: str, plural: str = "") -> str:
    """`1 edit`, `2 edits`, `1,200 calls`; `plural` for a noun that does not just take an s."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {plural or noun + 's'}"


def safe_name(task_id: str) -> str:
    """A file name that is safe on every system and unique per id.

    Plain lower-case ids are kept. Any other gets a readable stem and a hash of the whole id, so two
    ids that differ only in case, or in what had to be cleaned away, never share a file. No plain id
    holds a `~`, and no device is named with one.
    """
    if _PLAIN.match(task_id) and task_id not in _RESERVED:
        return task_id
    stem = re.sub(r"[^a-z0-9]+", "-", task_id.lower()).strip("-")[:40] or "task"
    return f"{stem}~{hashlib.sha256(task_id.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
