"""Confusion matrices: how often each label was expected, and each answered, under each text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillopt_cli.core.formatting import count
from skillopt_cli.reports.export.groups import NO_LABEL, Pairs, label_pairs
from skillopt_cli.reports.export.tasks import ExportedTasks
from skillopt_cli.reports.page import Abreast, Block, Line, Rows
from skillopt_cli.runlog.text.format import one_line

MOST = 12
"""Labels of a matrix; the less frequent ones are counted together."""
OTHER = "(other)"
"""The name of the labels that are counted together."""


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """The counts of a part of the data.

    Attributes:
        part: a split, or `confirmation`.
        names: of the rows and columns, in alphabetical order; `OTHER` and `NO_LABEL` come last.
        counts: by text, then by expected and by given label, in the order of `names`.
        merged: how many labels `OTHER` counts together.
    """

    part: str
    names: tuple[str, ...]
    counts: tuple[tuple[tuple[int, ...], ...], ...]
    merged: int = 0


@dataclass(frozen=True, slots=True)
class Confusions:
    """The matrices of a run.

    Attributes:
        titles: of the texts, in the order of the counts.
        matrices: for each part of the data; none where the answers are no labels.
        textless: attempts whose answer is not in the run folder.
    """

    titles: tuple[str, ...] = ()
    matrices: tuple[ConfusionMatrix, ...] = ()
    textless: int = 0


def confusions_of(found: ExportedTasks) -> Confusions:
    """A matrix for each part of the data, of the numbers that `runs export` writes.

    A label that was neither expected nor given has no row. Of more than 12 labels the 12 that were
    expected or given most often, over all texts, have rows of their own.
    """
    pairs = label_pairs(found) if found.labels.names else {}
    matrices = (_matrix(part, pairs, len(found.titles)) for part in pairs if pairs[part])
    return Confusions(found.titles, tuple(matrices), found.textless)


def confusion_blocks(found: Confusions, parts: Sequence[str] | None = None) -> Iterator[Block]:
    """The matrices as tables, those of all texts side by side; nothing where there are none.

    Args:
        parts: which parts of the data; None for all.
    """
    matrices = [m for m in found.matrices if parts is None or m.part in parts]
    for matrix in matrices:
        yield Abreast([_table(matrix, text, title) for text, title in enumerate(found.titles)])
        if matrix.merged:
            yield Line(
                f"{OTHER} counts {count(matrix.merged, 'less frequent label')} together, so its own"
                " cell holds right and wrong answers; `skillopt runs export --what confusions` has"
                " each.",
                "dim",
                free=True,
            )
    if matrices and found.textless:
        yield Line(
            f"The answers of {count(found.textless, 'attempt')} are not in the run folder; wrong"
            f" ones among them count as {NO_LABEL}.",
            "dim",
            free=True,
        )


def _matrix(part: str, pairs: Pairs, texts: int) -> ConfusionMatrix:
    counted: Counter[str] = Counter()
    for pair, numbers in pairs[part].items():
        for name in pair:
            counted[name] += sum(numbers)
    labels = [name for name, _ in sorted(counted.items(), key=_rank) if name != NO_LABEL]
    # One label left over has a row, rather than a name that hides it.
    kept = labels if len(labels) <= MOST + 1 else labels[:MOST]
    merged = len(labels) - len(kept)
    names = (
        *sorted(kept),
        *((OTHER,) if merged else ()),
        *((NO_LABEL,) if NO_LABEL in counted else ()),
    )
    place = {name: i for i, name in enumerate(names)}
    counts = [[[0] * len(names) for _ in names] for _ in range(texts)]
    for (expected, given), numbers in pairs[part].items():
        row, column = (place.get(name, place.get(OTHER, 0)) for name in (expected, given))
        for text, number in enumerate(numbers):
            counts[text][row][column] += number
    return ConfusionMatrix(part, names, tuple(tuple(map(tuple, table)) for table in counts), merged)


def _rank(counted: tuple[str, int]) -> tuple[int, str]:
    name, number = counted
    return -number, name


def _table(matrix: ConfusionMatrix, text: int, title: str) -> Rows:
    names = [one_line(name) for name in matrix.names]
    rows = [
        (names[i], *map(str, row))
        for i, row in enumerate(matrix.counts[text])
        # Answers without a label are common, tasks without one are not.
        if matrix.names[i] != NO_LABEL or any(sum(table[i]) for table in matrix.counts)
    ]
    labels = len(set(names) - {OTHER, NO_LABEL})
    caption = f"{title.capitalize()}, {matrix.part}: expected label by row, given one by column"
    return Rows(("expected", *names), rows, range(1, len(names) + 1), caption, labels)
