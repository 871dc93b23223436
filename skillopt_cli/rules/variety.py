"""Worked examples told apart from rules, and put in an order that shows many kinds of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skillopt_cli.core.edits import Edit
from skillopt_cli.rules.layout import BULLET, example_answer
from skillopt_cli.rules.text import shape


def is_example(edit: Edit) -> bool:
    """Whether an edit puts a worked example into the skill."""
    text = edit.content.strip()
    return "\n" in text and not text.startswith(BULLET) and example_answer(text) is not None


def varied(edits: Sequence[Edit], present: Sequence[str]) -> list[Edit]:
    """Examples in the order to take them: kinds shown least so far, then support, then brevity.

    Args:
        present: examples the skill holds already.
    """
    shown = Counter(_kind(text) for text in present)
    left = list(edits)
    ordered: list[Edit] = []
    while left:
        best = min(left, key=lambda e: (shown[_kind(e.content)], -e.support, len(e.content)))
        left.remove(best)
        ordered.append(best)
        shown[_kind(best.content)] += 1
    return ordered


def _kind(text: str) -> str:
    return shape(example_answer(text) or "")
