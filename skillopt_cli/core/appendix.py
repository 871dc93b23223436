"""Appendix notes: short reminders of rules the skill has, in a protected region of their own.

A note re-states a rule that the target has, but did not follow (method, skill-aware reflection).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from skillopt_cli.core.skill import APPENDIX, MARKER, SkillDocument

HEADING = "## Reminders"
"""What a freshly planted region begins with."""

_BULLET = "- "
_BULLETS = re.compile(r"^(?:[-*+] +)+")


def notes_of(skill: SkillDocument) -> tuple[str, ...]:
    """The notes in the skill's appendix region, in order; empty without a region.

    A note is a bullet, with the indented lines that continue it.

    Raises:
        DataError: the skill's markers do not pair up.
    """
    return tuple(_split(skill.region(APPENDIX) or "")[1])


def distinct(notes: Iterable[str], known: Iterable[str] = ()) -> tuple[str, ...]:
    """The notes as they are written, each once, in order, without those already `known`.

    Two notes are the same when they differ in case, spaces or final stops only. What holds no
    letter or digit is no note.

    Raises:
        ValueError: a note holds a region marker.
    """
    seen = {_key(note) for note in known}
    fresh: list[str] = []
    for note in notes:
        if MARKER.search(note):
            raise ValueError("a note must not hold a region marker")
        line = _BULLETS.sub("", " ".join(note.split()))
        if any(char.isalnum() for char in line) and _key(line) not in seen:
            seen.add(_key(line))
            fresh.append(line)
    return tuple(fresh)


def with_notes(skill: SkillDocument, notes: Iterable[str]) -> SkillDocument:
    """The skill whose appendix holds these notes and no others, as `distinct` writes them.

    Everything outside the region stays byte for byte, and so does what a person wrote into it
    beside the bullets. A missing region is planted at the end, but not for the sake of no notes.

    Raises:
        ValueError: a note holds a region marker.
        DataError: the skill's markers do not pair up.
    """
    bullets = [_BULLET + note for note in distinct(notes)]
    inner = skill.region(APPENDIX)
    if inner is None and not bullets:
        return skill
    prose, _ = _split(inner or "")
    head = "\n".join(prose).strip("\n") or (HEADING if bullets else "")
    return skill.with_region(APPENDIX, "\n\n".join(filter(None, (head, "\n".join(bullets)))))


def _split(inner: str) -> tuple[list[str], list[str]]:
    """The lines of a region that are no notes, and the notes."""
    prose: list[str] = []
    notes: list[str] = []
    open_note = False
    for line in inner.split("\n"):
        if line.startswith(_BULLET) and line.strip() != _BULLET.strip():
            notes.append(line.removeprefix(_BULLET).strip())
            open_note = True
        elif open_note and line.strip() and line[0].isspace():
            notes[-1] += f" {line.strip()}"
        else:
            prose.append(line)
            open_note = False
    return prose, notes


def _key(note: str) -> str:
    """What is compared of a note."""
    return _BULLETS.sub("", " ".join(note.split())).casefold().rstrip(" .")
