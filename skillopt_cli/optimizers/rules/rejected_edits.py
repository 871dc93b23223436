"""What was turned down in this epoch, so that it is not proposed again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.state import Lesson

Focus = Literal["both", "examples", "rules"]
"""Which kinds of edits to propose."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Rejected changes. An addition is the same edit wherever its text is added."""

    changes: frozenset[tuple[str, str, str]]

    def __contains__(self, edit: object) -> bool:
        return isinstance(edit, Edit) and _change(edit) in self.changes

    def open(self, edits: Iterable[Edit]) -> list[Edit]:
        """The edits that were not turned down."""
        return [edit for edit in edits if edit not in self]


def refused(lessons: Sequence[Lesson], earlier: Iterable[Edit] = ()) -> Refused:
    """What the gate or a person turned down in the epoch, and `earlier` edits given up for good."""
    rejected = [edit for lesson in lessons for edit in (*lesson.rejected, *lesson.vetoed)]
    return Refused(frozenset(_change(edit) for edit in (*rejected, *earlier)))


def focus(lessons: Sequence[Lesson]) -> Focus:
    """Rules and examples together at first; after each rejection in a row, only one kind by turns.

    What was rejected together may have failed by one of its parts.
    """
    rejections = 0
    for lesson in lessons:
        if lesson.verdict is not None:
            rejections = rejections + 1 if lesson.verdict == "reject" else 0
    if not rejections:
        return "both"
    return "examples" if rejections % 2 else "rules"


def _change(edit: Edit) -> tuple[str, str, str]:
    if edit.op in ("append", "insert_after"):
        return "add", "", edit.content.strip()
    return edit.op, edit.target.strip(), edit.content.strip()
