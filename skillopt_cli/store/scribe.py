"""Keeps `history.json` and the step records up to date while a run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from skillopt_cli.core.events import CheckpointSaved, RunStarted, Stamped
from skillopt_cli.store.files import replace_text
from skillopt_cli.store.history import History, Record

HISTORY = "history.json"


class Scribe:
    """A collaborator that writes what each step came to, once it is recorded.

    Both files follow from the log alone, so they are written anew when a process takes the run up:
    the one before may have died between its checkpoint and these files.

    Args:
        folder: the run folder.
        prior_facts: the log of earlier processes, from its start.
    """

    def __init__(self, folder: Path, prior_facts: Iterable[Stamped] = ()) -> None:
        self._folder = folder
        self._history = History()
        self._items: list[str] = []
        for fact in prior_facts:
            self._take(fact)

    def __call__(self, fact: Stamped) -> None:
        """Take in one fact, and write the files when it settles what is recorded."""
        added = self._take(fact)
        if not isinstance(fact.event, CheckpointSaved | RunStarted):
            return
        if isinstance(fact.event, RunStarted):
            added = self._history.records[-1:]
        for record in added:
            path = self._folder / "steps" / f"step_{record['step']:04d}" / "step_record.json"
            replace_text(path, _text(record) + "\n")
        items = ",\n".join(self._items)
        replace_text(self._folder / HISTORY, f"[\n{items}\n]\n" if items else "[]\n")

    def _take(self, fact: Stamped) -> list[Record]:
        added = self._history.add(fact)
        del self._items[len(self._history.records) - len(added) :]
        self._items.extend("  " + _text(record).replace("\n", "\n  ") for record in added)
        return added


def _text(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2)
