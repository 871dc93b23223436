"""A person's note and tags for a run, in a small file of the run folder."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from skillopt_cli.core.errors import UsageError
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.atomic_files import replace_text

NOTES = "notes.json"
"""Its name; no other part of the program reads or writes it."""
LONGEST_NOTE = 2000
MOST_TAGS = 12
_TAG = re.compile(r"[\w][\w.:+-]{0,39}")
_MOST_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class RunNotes:
    """What a person wrote about a run: a text of several lines, and words to filter by."""

    note: str = ""
    tags: tuple[str, ...] = ()

    @classmethod
    def typed(cls, note: str, tags: str) -> RunNotes:
        """Notes from the fields of a form; tags are separated by spaces or commas.

        Raises:
            UsageError: the note is too long, a tag is no plain word, or there are too many.
        """
        note = "\n".join(note.split("\r\n")).strip()
        if len(note) > LONGEST_NOTE:
            raise UsageError(
                f"the note has {len(note):,} characters", f"{LONGEST_NOTE:,} are the most"
            )
        words = tuple(dict.fromkeys(re.split(r"[\s,]+", tags.strip().lower()))) if tags else ()
        found = tuple(word for word in words if word)
        if wrong := next((word for word in found if not _TAG.fullmatch(word)), ""):
            raise UsageError(
                f"the tag `{wrong[:60]}` is not a plain word",
                "use up to 40 letters, digits, . _ : + and -",
            )
        if len(found) > MOST_TAGS:
            raise UsageError(f"{len(found)} tags were given", f"{MOST_TAGS} are the most")
        return cls(note, found)


def read_notes(folder: Path) -> RunNotes:
    """The notes of a run; none where there are none that can be read."""
    path = folder / NOTES
    try:
        # The program makes no link, but a stranger's folder may hold one.
        if path.is_symlink():
            return RunNotes()
        found = json.loads(read_regular(path, _MOST_BYTES))
        tags = [str(tag) for tag in found["tags"] if _TAG.fullmatch(str(tag))]
        return RunNotes(str(found["note"])[:LONGEST_NOTE], tuple(tags[:MOST_TAGS]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return RunNotes()


def write_notes(folder: Path, notes: RunNotes) -> None:
    """Replace the notes of a run; empty ones remove the file.

    Raises:
        DataError: the folder cannot be written.
    """
    path = folder / NOTES
    if notes == RunNotes():
        path.unlink(missing_ok=True)
        return
    document = {"schema": 1, **asdict(notes)}
    replace_text(path, json.dumps(document, ensure_ascii=False, indent=1))
