"""Texts of a run's attempts, from the `results.jsonl` of their stages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from skillopt_cli.safe_files import MOST_DATA, read_regular

LARGEST = 50_000_000
"""Bytes of a `results.jsonl` that is read."""
LONGEST = 4000
"""Characters kept of a text."""
MOST = 10_000_000
"""Characters of texts that stay in memory, about; the stages read first go first."""

Place = tuple[str, str]
"""An attempt: the folder of its stage in the run folder, and its task."""


@dataclass(frozen=True, slots=True)
class AttemptTexts:
    """A row of the results.

    Attributes:
        scores: hard and soft, as they are written there.
    """

    kind: str = ""
    question: str = ""
    expected: tuple[str, ...] = ()
    answer: str = ""
    scores: tuple[object, object] = (None, None)

    @property
    def size(self) -> int:
        """Characters of it, about."""
        return 100 + len(self.question) + len(self.answer) + sum(map(len, self.expected))


NO_TEXTS = AttemptTexts()


class TaskTexts:
    """The texts of attempts; of a file the rows that were asked for stay in memory. Thread-safe.

    Args:
        run: the run folder.
        whole: where it is given, texts are read in full, from files of so many bytes together;
            else they are cut at `LONGEST`, and no file beyond `LARGEST` is read.

    Attributes:
        refused: the folders whose file was one too many.
    """

    def __init__(self, run: Path, *, whole: int | None = None) -> None:
        self.refused: set[str] = set()
        self._run = run
        self._left = whole
        self._largest = LARGEST if whole is None else MOST_DATA
        self._longest = LONGEST if whole is None else None
        self._known: dict[str, tuple[object, dict[str, AttemptTexts]]] = {}
        self._size = 0
        self._lock = Lock()

    def read(self, places: Iterable[Place]) -> Mapping[Place, AttemptTexts]:
        """The texts of attempts, without those whose stage has no results that can be read."""
        by_folder: dict[str, set[str]] = {}
        for folder, task in places:
            by_folder.setdefault(folder, set()).add(task)
        with self._lock:
            return {
                (folder, task): texts
                for folder, tasks in by_folder.items()
                for task, texts in self._of(folder, tasks).items()
            }

    def _of(self, folder: str, tasks: set[str]) -> Mapping[str, AttemptTexts]:
        try:
            path = (self._run / folder / "results.jsonl").resolve(strict=True)
            # A stranger's folder may hold links that lead out of it.
            if not path.is_relative_to(self._run.resolve()):
                return {}
            about = path.stat()
            state = about.st_ino, about.st_mtime_ns, about.st_size
            known_state, known = self._known.get(folder, (None, {}))
            if known_state != state:
                self._forget(folder)
                known = {}
            if tasks - known.keys() and self._affords(folder, about.st_size):
                # What the file lacks is known to have no texts, so that it is read once.
                known = dict.fromkeys(tasks, NO_TEXTS) | known | self._rows(path, tasks)
                self._keep(folder, state, known)
            return known
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return {}

    def _affords(self, folder: str, size: int) -> bool:
        """Whether another file of this size may be read."""
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                self.refused.add(folder)
                return False
        return True

    def _keep(self, folder: str, state: object, texts: dict[str, AttemptTexts]) -> None:
        self._forget(folder)
        self._known[folder] = state, texts
        self._size += sum(each.size for each in texts.values())
        while self._size > MOST and len(self._known) > 1:
            self._forget(next(iter(self._known)))

    def _forget(self, folder: str) -> None:
        _, texts = self._known.pop(folder, (None, {}))
        self._size -= sum(each.size for each in texts.values())

    def _rows(self, path: Path, tasks: set[str]) -> dict[str, AttemptTexts]:
        """The rows of some tasks."""
        longest, found = self._longest, {}
        for line in read_regular(path, self._largest).decode().split("\n"):
            if not line:
                continue
            row = json.loads(line)
            if (task := str(row["id"])) in tasks:
                found[task] = AttemptTexts(
                    str(row.get("task_type", "")),
                    str(row.get("question", ""))[:longest],
                    tuple(str(text)[:longest] for text in row.get("expected", ())),
                    str(row.get("predicted_answer", ""))[:longest],
                    (row.get("hard"), row.get("soft")),
                )
        return found
