"""A log that is still being written, read bit by bit."""

from __future__ import annotations

import os
from pathlib import Path

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import Stamped
from skillopt_cli.core.regular import open_regular
from skillopt_cli.store.files import EVENTS, read_fact, read_line

MOST = 1 << 14
"""Bytes read at a time."""


class Tail:
    """What was added to the log of a run folder since it was last asked.

    Args:
        folder: the run folder, with or without a log as yet.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / EVENTS
        self._at = 0
        self._lines = 0
        self._file: tuple[int, int] | None = None

    @property
    def replaced(self) -> bool:
        """Whether another file lies there than was read so far, or a part of it is gone."""
        if self._file is None:
            return False
        try:
            now = self._path.stat()
        except OSError:
            return True
        return (now.st_dev, now.st_ino) != self._file or now.st_size < self._at

    @property
    def share(self) -> float:
        """How much of the log is read; 1.0 for all, and where there is none."""
        try:
            size = self._path.stat().st_size
        except OSError:
            return 1.0
        return self._at / size if size else 1.0

    def read(self) -> list[Stamped]:
        """The next facts, at most about `MOST` bytes of them; none when all is read.

        Raises:
            DataError: the log or a line of it cannot be read.
        """
        facts: list[Stamped] = []
        try:
            with open_regular(self._path) as log:
                about = os.fstat(log.fileno())
                self._file = about.st_dev, about.st_ino
                log.seek(self._at)
                end = self._at + MOST
                while self._at < end:
                    line = read_line(self._path, self._lines + 1, log)
                    if not line:
                        break
                    facts.append(read_fact(self._path, f"line {self._lines + 1}", line))
                    self._at += len(line)
                    self._lines += 1
        except FileNotFoundError:
            pass
        except OSError as error:
            raise DataError(
                f"{self._path} cannot be read: {error.strerror or error}",
                "mend its permissions, or restore it from a copy",
            ) from error
        return facts
