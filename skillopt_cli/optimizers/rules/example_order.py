"""Worked examples separated from rules, and put in an order that shows many kinds of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.worked_examples import without_marks
from skillopt_cli.optimizers.rules.case import NO_LABELS
from skillopt_cli.optimizers.rules.layout import BULLET, example_answer
from skillopt_cli.optimizers.rules.text import shape


def is_example(edit: Edit) -> bool:
    """Whether an edit puts a worked example into the skill."""
    text = edit.content.strip()
    return "\n" in text and not text.startswith(BULLET) and example_answer(text) is not None


def varied(edits: Sequence[Edit], present: Sequence[str], labels: Labels = NO_LABELS) -> list[Edit]:
    """Examples in the order to take them: kinds shown least so far, then support, then brevity.

    Args:
        present: examples the skill holds already.
        labels: where there is a set, each label is a kind of answer.
    """
    shown = Counter(kind(text, labels) for text in present)
    left = list(edits)
    ordered: list[Edit] = []
    while left:
        best = min(left, key=lambda e: (shown[kind(e.content, labels)], -e.support, _length(e)))
        left.remove(best)
        ordered.append(best)
        shown[kind(best.content, labels)] += 1
    return ordered


def kind(text: str, labels: Labels = NO_LABELS) -> str:
    """The kind of answer an example shows: its label, else its shape."""
    answer = example_answer(text) or ""
    return labels.label_of([answer]) or shape(answer)


def _length(edit: Edit) -> int:
    return len(without_marks(edit.content))
