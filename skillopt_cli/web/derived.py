"""Values that pages compute from a run, each kept until what it was computed from changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Derived:
    """The values of one run, the latest one by each name."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, Any]] = {}

    def get(self, name: str, source: object, compute: Callable[[], T]) -> T:
        """The value of this name, computed if it is not of an equal `source`."""
        known = self._known.get(name)
        if known is None or known[0] != source:
            known = self._known[name] = source, compute()
        found: T = known[1]
        return found
