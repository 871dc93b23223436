"""Reads the event log of a run folder, `events.jsonl`: whole, from its end, or as it grows."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import Stamped
from skillopt_cli.safe_files import open_regular
from skillopt_cli.store import codec
from skillopt_cli.store.layout import EVENTS
from skillopt_cli.store.log_lines import LONGEST_LINE, read_line, too_long

MOST = 1 << 14
"""Bytes of facts that one `LogTail.read` returns, about."""
_BLOCK = 1 << 24


class LogTail:
    """Reads what was appended to a log since the last read.

    Args:
        folder: the run folder; its log may not exist yet.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / EVENTS
        self._at = 0
        self._lines = 0
        self._file: tuple[int, int] | None = None

    @property
    def replaced(self) -> bool:
        """Whether the log was replaced by another file, or truncated."""
        if self._file is None:
            return False
        try:
            now = self._path.stat()
        except OSError:
            return True
        return (now.st_dev, now.st_ino) != self._file or now.st_size < self._at

    @property
    def share(self) -> float:
        """Share of the log that is read: 1.0 for all, and where there is none."""
        try:
            size = self._path.stat().st_size
        except OSError:
            return 1.0
        return self._at / size if size else 1.0

    def skip(self, size: int, lines: int) -> None:
        """Pass over the first part of the log, which is known."""
        self._at, self._lines = size, lines

    def read(self) -> list[Stamped]:
        """The next facts, about `MOST` bytes of them at most; none when all are read.

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
                "fix its permissions, or restore it from a copy",
            ) from error
        return facts


class KindTail:
    """Reads the facts of some kinds, without decoding any other line of the log.

    Args:
        folder: the run folder.
    """

    def __init__(self, folder: Path, kinds: Collection[str]) -> None:
        self._path = folder / EVENTS
        self._kinds = frozenset(kinds)
        words = b"|".join(re.escape(kind.encode()) for kind in kinds)
        self._kind = re.compile(b'"kind":"(?:' + words + b')"')
        self._at = 0

    def skip(self, size: int) -> None:
        """Pass over the first part of the log, which is known."""
        self._at = size

    def read(self) -> list[Stamped]:
        """Those that were appended since the last read.

        Raises:
            OSError: the log cannot be read.
            DataError: one of these lines cannot be read.
        """
        lines: dict[int, bytes] = {}
        with open_regular(self._path) as log:
            end = log.seek(self._at)
            for begins, block in _blocks(self._path, log):
                for found in self._kind.finditer(block):
                    start = block.rfind(b"\n", 0, found.start()) + 1
                    lines[begins + start] = block[start : block.index(b"\n", found.end())]
                end = begins + len(block)
        facts = [read_fact(self._path, f"byte {at}", line) for at, line in lines.items()]
        self._at = end
        return [fact for fact in facts if fact.event.kind in self._kinds]


def _blocks(path: Path, log: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Stretches of complete lines from here on, each with the place of its first byte."""
    begins, rest = log.tell(), b""
    while read := log.read(_BLOCK):
        complete, line_end, rest = (rest + read).rpartition(b"\n")
        if line_end:
            yield begins, complete + line_end
            begins += len(complete) + 1
        elif len(rest) > LONGEST_LINE:
            raise too_long(path, f"the line at byte {begins}")


def read_fact(path: Path, where: str, line: bytes) -> Stamped:
    """Decode a line of a log; raises DataError, naming file and place, for any other content."""
    try:
        return codec.load_fact(line)
    except DataError as error:
        raise DataError(f"{where} of {path}: {error.message}", error.hint) from error
    except ValueError as error:
        if kind := codec.unknown_kind(error):
            raise DataError(
                f"{where} of {path} is of the kind `{kind}`, which this version does not know",
                codec.UPGRADE,
            ) from error
        raise DataError(
            f"{where} of {path} is not a fact",
            "remove that line, or restore the file from a copy",
        ) from error
