"""The ledger of looks at a test split: every text that was measured on it, by whichever run.

Nothing is written for it. A run's own looks are in its event log, and those of other runs in the
logs beside it: runs of the same benchmark under the same outputs folder whose manifests list a task
of the same id and content in their test split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from skillopt_cli.compose.fingerprint import read_manifest
from skillopt_cli.core.errors import DataError
from skillopt_cli.reports.page import Block, Details, Line, Rows
from skillopt_cli.runlog.snapshot import read_looks
from skillopt_cli.runlog.split_looks import KINDS, LookFact, SplitLook, SplitLooks
from skillopt_cli.runlog.text.format import count, one_line, out_of, score, shorten
from skillopt_cli.store.event_log import KindTail
from skillopt_cli.store.layout import EVENTS, MANIFEST, target_folders

_BASELINES = ("seed", "no_skill", "none")
"""Texts that nobody chooses by their test score."""
_RUNS_IN_MEMORY = 512
_TITLES = ("time", "command", "run", "target", "text", "hard", "soft", "tasks", "shared")
_SHOWN = 6
_WIDEST = 40


@dataclass(frozen=True, slots=True)
class SplitLedger:
    """All looks at the test tasks of one run, oldest first.

    Attributes:
        run: the folder of that run.
        tasks: how many test tasks it has.
        shared: how many of them the test split of each run that looked has, by run; fewer than
            `tasks` where that split is another cut.
    """

    run: str
    looks: tuple[SplitLook, ...] = ()
    tasks: int = 0
    shared: Mapping[str, int] = field(default_factory=dict)

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
        candidates = [look for look in self.looks if look.text not in _BASELINES]
        texts = {look.digest for look in candidates}
        # Texts that one pass measured were chosen before it.
        passes = {(look.run, look.command) for look in candidates}
        chosen = len(texts) > 1 and len(passes) > 1
        caution = ": a maximum over looks is optimistic" if chosen else ""
        others = sum(self.shared[run] < self.tasks for run in {look.run for look in self.looks})
        cut = f", {others} of them with another cut of it" if others else ""
        return f"The test split was looked at {count(len(self.looks), 'time')}, {by}{cut}{caution}."

    @property
    def document(self) -> dict[str, Any]:
        """The ledger as JSON."""
        return {
            "times": len(self.looks),
            "runs": self.runs,
            "texts": len({look.digest for look in self.looks}),
            "sentence": self.sentence or None,
            "looks": [{**asdict(look), "shared": self.shared[look.run]} for look in self.looks],
        }


def split_ledger(folder: Path) -> SplitLedger:
    """The looks at the test tasks of a run, its own and those of the runs beside it.

    None of an evaluation of all tasks, which has no test split. A run that cannot be read is left
    out. What a copied run folder repeats counts once.
    """
    folder = folder.resolve()
    # One target of several has its folder inside that of the evaluation.
    mine = folder.parent if target_folders(folder.parent) else folder
    asked = frozenset[_Task]().union(
        *(found.tasks for found in _found_in(folder) if not found.whole)
    )
    looks: dict[SplitLook, SplitLook] = {}
    shared: dict[str, int] = {}
    for run in sorted(_folders(mine.parent), key=lambda run: run != mine):
        for found in _found_in(run):
            if common := len(asked & found.tasks):
                shared[run.name] = max(common, shared.get(run.name, 0))
                for look in found.looks:
                    # The log of a copied run folder has the looks of the run it is a copy of.
                    looks.setdefault(replace(look, run=""), look)
    ordered = sorted(looks.values(), key=lambda look: (look.time, look.run))
    return SplitLedger(mine.name, tuple(ordered), len(asked), shared)


_Task = tuple[str, str]
"""Id and content hash of a task."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The test tasks of a run, and its looks at them.

    Attributes:
        whole: whether the run is an evaluation of all tasks, these among them.
    """

    tasks: frozenset[_Task] = field(default_factory=frozenset)
    looks: tuple[SplitLook, ...] = ()
    whole: bool = False


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
                seen = looks.up_to(about.st_size)
                yield _Found(tasks, seen.looks, seen.whole)
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
    """The looks that a log holds, read as it grows. Thread-safe."""

    def __init__(self, folder: Path, run: str) -> None:
        self._folder, self._run = folder, run
        self._lock = Lock()
        self._begin()

    def _begin(self) -> None:
        self._tail = KindTail(self._folder, KINDS)
        self._looks, self._size = SplitLooks(), 0
        if known := read_looks(self._folder):
            self._looks, self._size = known
            self._tail.skip(self._size)

    def up_to(self, size: int) -> SplitLooks:
        """All looks of a log that has so many bytes.

        Raises:
            OSError, DataError: it cannot be read.
        """
        with self._lock:
            if size < self._size:  # truncated
                self._begin()
            if size > self._size:
                for fact in self._tail.read():
                    if isinstance(fact.event, LookFact):
                        self._looks = self._looks.after(fact.event, fact.time)
                self._size = size
            named = tuple(replace(look, run=self._run) for look in self._looks.looks)
            return replace(self._looks, looks=named)


def ledger_blocks(ledger: SplitLedger, *, whole: bool) -> Iterator[Block]:
    """The ledger as part of a report: a sentence, and the looks where other runs looked too.

    Args:
        whole: all looks, out of the way until they are asked for; else the latest.
    """
    if not ledger.looks:
        return
    # A warning is for a reader who may choose by this run's test score.
    warns = ledger.own and not ledger.alone
    yield Line(ledger.sentence, "yellow" if warns else "dim", free=True)
    if ledger.alone:
        return
    shown = ledger.looks if whole else ledger.looks[-_SHOWN:]
    title, rows = (
        "Looks at the test split",
        Rows(_TITLES, [_row(look, ledger) for look in shown], (5, 6)),
    )
    if whole:
        yield Details(title, (rows,))
        return
    yield rows
    if earlier := len(ledger.looks) - len(shown):
        yield Line(f"and {count(earlier, 'earlier look')}, which --json lists", "dim", free=True)


def _row(look: SplitLook, ledger: SplitLedger) -> tuple[str, ...]:
    when = datetime.fromtimestamp(look.time, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    text = f"{shorten(look.text, _WIDEST)} ({look.digest[:8]})"
    said = (when, look.command, look.run, look.target, text)
    tasks = out_of(look.scored, look.n), f"{ledger.shared[look.run]} of {ledger.tasks}"
    return (*map(one_line, said), score(look.hard), score(look.soft), *tasks)
