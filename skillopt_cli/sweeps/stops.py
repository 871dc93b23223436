"""Ctrl-C and `kill`, noted as they come and heeded between two steps of a sweep."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Stops:
    """How often a sweep was asked to stop. An exception could come between any two lines of it.

    Attributes:
        asked: so many times since it is `noted`.
    """

    asked: int = 0
    _before: dict[signal.Signals, Any] = field(default_factory=dict)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note signals, other than those that this process was begun to ignore."""
        known = {number: signal.getsignal(number) for number in SIGNALS}
        self._before = {n: how for n, how in known.items() if how is not signal.SIG_IGN}
        self._note()
        try:
            yield
        finally:
            self._as_before()

    @contextmanager
    def passed_on(self) -> Iterator[None]:
        """Leave signals to work that heeds them in its own way."""
        self._as_before()
        try:
            yield
        finally:
            self._note()

    def _note(self) -> None:
        for number in self._before:
            signal.signal(number, self._hear)

    def _as_before(self) -> None:
        for number, how in self._before.items():
            signal.signal(number, how)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1
