"""Collaborators that write what follows from the log: records of steps, summary, snapshot."""

from __future__ import annotations

import json
from pathlib import Path

from skillopt_cli.core.events import CheckpointSaved, RunFailed, RunFinished, RunStarted, Stamped
from skillopt_cli.runlog.history import step_record
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.snapshot import FACTS, write_snapshot
from skillopt_cli.runlog.summary import summarise
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.atomic_files import replace_text
from skillopt_cli.store.layout import SUMMARY

HISTORY = "history.json"


class HistoryWriter:
    """Writes the record of each step, once that is recorded.

    Both files follow from the log alone, so they are written again when a process takes the run up:
    the one before may have died between its checkpoint and these files.

    Args:
        folder: the run folder.
        log: of the run; it takes in each fact before this does.
    """

    def __init__(self, folder: Path, log: RunLog) -> None:
        self._folder = folder
        self._log = log
        self._written = RunView()
        self._texts: list[str] = []

    def __call__(self, fact: Stamped) -> None:
        """Write the files when a fact settles what is recorded."""
        view = self._log.view
        if isinstance(fact.event, RunStarted):
            self._texts = [_text(step) for step in view.recorded]
            self._write(view.recorded[-1:])
        elif isinstance(fact.event, CheckpointSaved):
            added = view.recorded_since(self._written)
            self._texts += map(_text, added)
            self._write(added)

    def _write(self, steps: tuple[StepView, ...]) -> None:
        """Write the records of the last steps, and the history of all."""
        for step, text in zip(reversed(steps), reversed(self._texts), strict=False):
            path = self._folder / "steps" / f"step_{step.number:04d}" / "step_record.json"
            replace_text(path, f"{text}\n")
        items = ",\n".join("  " + text.replace("\n", "\n  ") for text in self._texts)
        replace_text(self._folder / HISTORY, f"[\n{items}\n]\n" if items else "[]\n")
        self._written = self._log.view


class SnapshotWriter:
    """Writes a snapshot of the read model at the end of a step, once many facts were logged.

    Args:
        folder: the run folder.
        log: of the run; it takes in each fact before this does, and the file ends with that fact.
        every: facts after which a new snapshot is due.
    """

    def __init__(self, folder: Path, log: RunLog, every: int = FACTS) -> None:
        self._folder = folder
        self._log = log
        self._every = every
        self._written = log.kept

    def __call__(self, fact: Stamped) -> None:
        """Write the snapshot when one is due."""
        due = self._log.facts - self._written >= self._every
        if due and isinstance(fact.event, CheckpointSaved | RunFinished | RunFailed):
            write_snapshot(self._folder, self._log.view, self._log.facts, self._log.number)
            self._written = self._log.facts


def _text(step: StepView) -> str:
    return json.dumps(step_record(step), ensure_ascii=False, indent=2)


class SummaryWriter:
    """Writes `summary.json` when the run ends, in whatever way.

    Args:
        folder: the run folder.
        log: of the run; it takes in each fact before this does.
    """

    def __init__(self, folder: Path, log: RunLog) -> None:
        self._folder = folder
        self._log = log
        self._due = False

    def __call__(self, fact: Stamped) -> None:
        """Write the file when a fact states the ending."""
        self._due = self._due or isinstance(fact.event, RunStarted)
        if isinstance(fact.event, RunFinished | RunFailed):
            self._write()

    def close(self) -> None:
        """Write the file of a run that began and stated no ending."""
        if self._due:
            self._write()

    def _write(self) -> None:
        self._due = False
        text = json.dumps(summarise(self._log.view), ensure_ascii=False, indent=2)
        replace_text(self._folder / SUMMARY, f"{text}\n")
