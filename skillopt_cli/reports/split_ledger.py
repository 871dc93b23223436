"""The ledger of looks at a test split: every text that was measured on it, by whichever run.

Nothing is written for it. A run's own looks are in its event log, and those of other runs in the
logs beside it: runs of the same benchmark under the same outputs folder whose manifests list a task
of the same id and content in their test split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from skillopt_cli.compose.fingerprint import read_manifest
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import RunStarted, StageStarted, Stamped, TestMeasured
from skillopt_cli.reports.page import Block, Details, Line, Rows
from skillopt_cli.runlog.text.format import count, one_line, out_of, score, shorten
from skillopt_cli.store.event_log import KindTail
from skillopt_cli.store.layout import EVENTS, MANIFEST, target_folders

_KINDS = ("run_started", "stage_started", "test_measured")
_BASELINES = ("seed", "no_skill", "none")
"""Texts that nobody chooses by their test score."""
_RUNS_IN_MEMORY = 512
_TITLES = ("test looks", "command", "run", "target", "text", "hard", "soft", "tasks")
_SHOWN = 6
_WIDEST = 40


@dataclass(frozen=True, slots=True)
class SplitLook:
    """A measurement of one text on the test split.

    Attributes:
        time: in Unix seconds.
        run: the folder of the run.
        command: train, resume or eval.
        text: seed, best, final, no_skill or the name of an arm; of an evaluation of one skill its
            file.
        digest: identifies the text.
    """

    time: float
    run: str
    command: str
    target: str
    text: str
    digest: str
    hard: float | None
    soft: float | None
    scored: int
    n: int


@dataclass(frozen=True, slots=True)
class SplitLedger:
    """All looks at the test tasks of one run, oldest first.

    Attributes:
        run: the folder of that run.
    """

    run: str
    looks: tuple[SplitLook, ...] = ()

    @property
    def runs(self) -> int:
        """How many runs looked."""
        return len({look.run for look in self.looks})

    @property
    def alone(self) -> bool:
        """Whether no other run looked."""
        return all(look.run == self.run for look in self.looks)

    @property
    def own(self) -> bool:
        """Whether this run looked; an evaluation of another split did not."""
        return any(look.run == self.run for look in self.looks)

    @property
    def sentence(self) -> str:
        """The number of looks, and what follows from it; empty without any."""
        if not self.looks:
            return ""
        by = "by this run alone" if self.alone else f"by {count(self.runs, 'run')}"
        chosen = {look.digest for look in self.looks if look.text not in _BASELINES}
        caution = ": a maximum over looks is optimistic" if len(chosen) > 1 else ""
        return f"The test split was looked at {count(len(self.looks), 'time')}, {by}{caution}."

    @property
    def document(self) -> dict[str, Any]:
        """The ledger as JSON."""
        return {
            "times": len(self.looks),
            "runs": self.runs,
            "texts": len({look.digest for look in self.looks}),
            "sentence": self.sentence or None,
            "looks": [asdict(look) for look in self.looks],
        }


def split_ledger(folder: Path) -> SplitLedger:
    """The looks at the test tasks of a run, its own and those of the runs beside it.

    A run that cannot be read is left out.
    """
    folder = folder.resolve()
    # One target of several has its folder inside that of the evaluation.
    mine = folder.parent if target_folders(folder.parent) else folder
    asked = frozenset[_Task]().union(*(found.tasks for found in _found_in(folder)))
    looks = [
        look
        for run in _folders(mine.parent)
        for found in _found_in(run)
        if not asked.isdisjoint(found.tasks)
        for look in found.looks
    ]
    return SplitLedger(mine.name, tuple(sorted(looks, key=lambda look: look.time)))


_Task = tuple[str, str]
"""Id and content hash of a task."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The test tasks of a run, and its looks at them."""

    tasks: frozenset[_Task] = field(default_factory=frozenset)
    looks: tuple[SplitLook, ...] = ()


def _found_in(folder: Path) -> Iterator[_Found]:
    """What a run has; an evaluation with several targets has it in a folder for each."""
    for home in target_folders(folder) or (folder,):
        try:
            # A stranger's folder may hold links that lead out of it.
            manifest, log = ((home / name).resolve(strict=True) for name in (MANIFEST, EVENTS))
            if manifest.is_relative_to(folder) and log.is_relative_to(folder):
                now = manifest.stat()
                tasks = _test_tasks(home, (now.st_ino, now.st_mtime_ns, now.st_size))
                about = log.stat()
                looks = _run_looks(home, folder.name, (about.st_dev, about.st_ino))
                yield _Found(tasks, looks.up_to(about.st_size))
        except (OSError, RuntimeError, AttributeError, TypeError, DataError):
            continue


def _folders(home: Path) -> list[Path]:
    try:
        return sorted(path for path in home.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []


@lru_cache(maxsize=_RUNS_IN_MEMORY)
def _test_tasks(folder: Path, _state: tuple[object, ...]) -> frozenset[_Task]:
    """The test tasks of a manifest.

    Args:
        _state: changes with the file, so that it is read again.

    Raises:
        OSError, AttributeError, TypeError, DataError: it cannot be read.
    """
    return frozenset(read_manifest(folder / MANIFEST)["splits"].get("test", {}).items())


@lru_cache(maxsize=_RUNS_IN_MEMORY)
def _run_looks(folder: Path, run: str, _file: tuple[object, ...]) -> _RunLooks:
    return _RunLooks(folder, run)


class _RunLooks:
    """The looks that a log holds, read as it grows. Thread-safe.

    What a resume recalls from the journal is no further look.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self._folder, self._run = folder, run
        self._lock = Lock()
        self._begin()

    def _begin(self) -> None:
        self._tail = KindTail(self._folder, _KINDS)
        self._size = 0
        self._looks: dict[tuple[object, ...], SplitLook] = {}
        self._started: RunStarted | None = None
        self._processes, self._tested = 0, False

    def up_to(self, size: int) -> tuple[SplitLook, ...]:
        """All looks of a log that has so many bytes.

        Raises:
            OSError, DataError: it cannot be read.
        """
        with self._lock:
            if size < self._size:  # truncated
                self._begin()
            if size > self._size:
                for fact in self._tail.read():
                    self._take(fact)
                self._size = size
            return tuple(self._looks.values())

    def _take(self, fact: Stamped) -> None:
        started = self._started
        match fact.event:
            case RunStarted() as begun:
                self._started = begun
                self._processes += 1
            case StageStarted(stage="test"):
                self._tested = True
            # An evaluation of another split states its score by the same fact.
            case TestMeasured() as made if started and (self._tested or started.total_steps):
                score = (made.digest, started.target, made.hard, made.soft, made.scored)
                if score not in self._looks:
                    look = _look(self._run, fact.time, started, made, resumed=self._processes > 1)
                    self._looks[score] = look


def _look(
    run: str, time: float, started: RunStarted, made: TestMeasured, *, resumed: bool
) -> SplitLook:
    command = "resume" if resumed else "train" if started.total_steps else "eval"
    text = started.skill or "no_skill" if made.label == "eval" else made.label
    return SplitLook(
        time,
        run,
        command,
        started.target,
        text,
        made.digest,
        made.hard,
        made.soft,
        made.scored,
        made.n,
    )


def ledger_blocks(ledger: SplitLedger, *, whole: bool) -> Iterator[Block]:
    """The ledger as part of a report: a sentence, and the looks where other runs looked too.

    Args:
        whole: all looks, out of the way until they are asked for; else the latest.
    """
    if not ledger.looks:
        return
    yield Line(ledger.sentence, "dim" if ledger.alone else "yellow", free=True)
    if ledger.alone:
        return
    shown = ledger.looks if whole else ledger.looks[-_SHOWN:]
    title, rows = "Looks at the test split", Rows(_TITLES, list(map(_row, shown)), (5, 6))
    if whole:
        yield Details(title, (rows,))
        return
    yield rows
    if earlier := len(ledger.looks) - len(shown):
        yield Line(f"and {count(earlier, 'earlier look')}, which --json lists", "dim", free=True)


def _row(look: SplitLook) -> tuple[str, ...]:
    when = datetime.fromtimestamp(look.time, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    text = f"{shorten(look.text, _WIDEST)} ({look.digest[:8]})"
    said = (when, look.command, look.run, look.target, text)
    return (*map(one_line, said), score(look.hard), score(look.soft), out_of(look.scored, look.n))
