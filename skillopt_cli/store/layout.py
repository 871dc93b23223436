"""Names of the files in a run folder that several modules read or write."""

from __future__ import annotations

from pathlib import Path

CONFIG = "config.yaml"
SOURCES = "sources.json"
MANIFEST = "manifest.json"
CRASH = "crash.txt"
EVALUATION = "eval_summary.json"
EVAL_PLAN = "eval_plan.json"
"""What an evaluation that can be taken up measures; with several targets in place of CONFIG."""
ANSWERS = "answers.jsonl"
"""A row for each task that was to be answered."""
EVENTS = "events.jsonl"
JOURNAL = "journal.sqlite"
SUMMARY = "summary.json"
SUMMARY_SCHEMA = 1
"""Version of a summary, and of a row of a list of runs."""
ENTRIES = "entries"
"""Below the folder of a shared cache."""
SCHEDULE = "schedule.json"
STEPS = "steps"
SNAPSHOT = "events.snapshot"
"""The read model of the first part of a long log; made again when it is missing."""


def target_folders(folder: Path) -> list[Path]:
    """The folder of each target of an evaluation with several; none for any other run."""
    if (folder / CONFIG).exists() or not (folder / EVAL_PLAN).is_file():
        return []
    return sorted(path.parent for path in folder.glob(f"*/{CONFIG}"))
