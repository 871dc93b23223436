"""The tasks of a run in groups: by kind, by label, and by label and answer."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from skillopt_cli.core.errors import UsageError
from skillopt_cli.reports.export.table import Column, ExportTable
from skillopt_cli.reports.export.tasks import ExportedTask, ExportedTasks

NO_LABEL = "(no label)"
"""The name of an answer, or an expected one, that is none of the labels."""

Group = Sequence[ExportedTask]


def export_of_kinds(found: ExportedTasks) -> ExportTable:
    """A row for each kind of task in each split: mean scores, and how many results flipped."""
    columns = [Column("split", "text"), Column("kind", "text"), Column("tasks", "count")]
    for prefix in found.prefixes:
        columns.append(Column(f"{prefix}scored", "count"))
        columns += [Column(f"{prefix}{name}", "number") for name in ("hard", "soft")]
    columns += _flip_columns(found)
    rows = []
    for part, kind, tasks in _grouped(found, lambda task: task.row.kind):
        means = [mean for i in range(len(found.titles)) for mean in _means(tasks, i)]
        rows.append((part, kind, len(tasks), *means, *_flips(found, tasks)))
    return ExportTable(columns, rows)


def export_of_labels(found: ExportedTasks) -> ExportTable:
    """A row for each label in each split: how often it is the answer, and how often rightly.

    Counts are of scored attempts.

    Raises:
        UsageError: the answers are no labels.
    """
    _require_labels(found)
    columns = [Column("split", "text"), Column("label", "text"), Column("tasks", "count")]
    for prefix in found.prefixes:
        columns += [Column(f"{prefix}{name}", "count") for name in ("scored", "right", "answered")]
        columns += [Column(f"{prefix}{name}", "number") for name in ("precision", "recall", "f1")]
    columns += _flip_columns(found)
    pairs = label_pairs(found)
    rows = []
    for part, label, tasks in _grouped(found, lambda task: found.label_of(task.row)):
        counts = [
            count
            for i in range(len(found.titles))
            for count in _counts({key: n[i] for key, n in pairs[part].items()}, label)
        ]
        rows.append((part, label, len(tasks), *counts, *_flips(found, tasks)))
    return ExportTable(columns, rows)


def export_of_confusions(found: ExportedTasks) -> ExportTable:
    """A row for each pair of an expected label and a given one that occurs, in each split.

    Counts are of scored attempts. What is right counts as the expected label however it is spelt.

    Raises:
        UsageError: the answers are no labels.
    """
    _require_labels(found)
    names = ("split", "expected", "answer")
    columns = [Column(name, "text") for name in names]
    columns += [Column(f"{prefix}count", "count") for prefix in found.prefixes]
    rows = [
        (part, *pair, *(counts[pair][i] for i in range(len(found.titles))))
        for part, counts in label_pairs(found).items()
        for pair in sorted(counts, key=lambda pair: [(name == NO_LABEL, name) for name in pair])
    ]
    return ExportTable(columns, rows)


def _require_labels(found: ExportedTasks) -> None:
    if not found.labels.names:
        raise UsageError(
            "the answers of this run are no labels: too few recur over its tasks",
            "`what=kinds` groups tasks by their kind, `what=tasks` has each",
        )


def _grouped(
    found: ExportedTasks, key: Callable[[ExportedTask], str | None]
) -> Iterator[tuple[str, str, Group]]:
    """The tasks by part and key, those without one left out; parts in their order, keys sorted."""
    groups: dict[str, dict[str, list[ExportedTask]]] = {}
    for task in found.tasks:
        name = key(task)
        if name is not None:
            groups.setdefault(task.part, {}).setdefault(name, []).append(task)
    for part, by_name in groups.items():
        for name in sorted(by_name):
            yield part, name, by_name[name]


def _means(tasks: Group, text: int) -> tuple[int, float | None, float | None]:
    """Scored tasks, and their mean scores, under a text."""
    answers = [answer for task in tasks if (answer := task.row.answers[text])]
    hard = [one for answer in answers if (one := answer.outcome.hard) is not None]
    soft = [one for answer in answers if (one := answer.outcome.soft) is not None]
    return len(hard), _mean(hard), _mean(soft)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _flip_columns(found: ExportedTasks) -> list[Column]:
    names = ("fixed", "broke") if len(found.titles) > 1 else ()
    return [Column(name, "count") for name in names]


def _flips(found: ExportedTasks, tasks: Group) -> tuple[int, ...]:
    results = Counter(task.row.result for task in tasks)
    return (results["fixed"], results["broke"]) if len(found.titles) > 1 else ()


Pairs = dict[str, dict[tuple[str, str], list[int]]]
"""Counts by part of the data, then by expected and given label; a count for each text."""


def label_pairs(found: ExportedTasks) -> Pairs:
    """How often each label was expected and each given, of the attempts that have a score.

    What is right counts as the expected label however it is spelt.
    """
    pairs: Pairs = {task.part: defaultdict(lambda: [0] * len(found.titles)) for task in found.tasks}
    for task in found.tasks:
        expected = found.label_of(task.row)
        for i, answer in enumerate(task.row.answers):
            for attempt in answer.attempts if answer else ():
                if attempt.outcome.hard is None:
                    continue
                right = attempt.outcome.state == "right"
                given = expected if right else found.label_in(attempt.text)
                if given == expected and not right:
                    given = None  # the scorer has decided: what is wrong is another answer
                pairs[task.part][expected or NO_LABEL, given or NO_LABEL][i] += 1
    return pairs


def _counts(pairs: dict[tuple[str, str], int], label: str) -> tuple[Any, ...]:
    """Attempts at tasks of a label, rightly answered ones, answers that give it; three ratios."""
    scored = sum(n for (expected, _), n in pairs.items() if expected == label)
    answered = sum(n for (_, given), n in pairs.items() if given == label)
    right = pairs.get((label, label), 0)
    return (
        *(scored, right, answered),
        _ratio(right, answered),
        _ratio(right, scored),
        _ratio(2 * right, scored + answered),
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
