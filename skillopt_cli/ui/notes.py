"""Appendix notes in words."""

from __future__ import annotations

from skillopt_cli.core.events import AppendixWritten
from skillopt_cli.ui.words import count, one_line


def appendix_words(event: AppendixWritten) -> str:
    """How many notes a step brought, and how many the candidate's appendix holds."""
    shortened = f", shortened from {event.consolidated}" if event.consolidated else ""
    return f"Appendix: {count(len(event.added), 'note')} added, {event.total} in all{shortened}"


def note_lines(event: AppendixWritten) -> tuple[str, ...]:
    """The notes a step added, for the report."""
    return tuple(f"note: {one_line(note)}" for note in event.added)
