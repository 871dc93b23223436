"""What an evaluation found, as part of a report: arms, targets, lint, pruning, kinds of task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillopt_cli.compose.eval_plan import read_evaluation
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import SkillPruned
from skillopt_cli.core.formatting import count
from skillopt_cli.reports.arms import (
    arms_rows,
    majority_rows,
    matrix_rows,
    title,
    warning_lines,
)
from skillopt_cli.reports.page import Block, Heading, Line, Rows
from skillopt_cli.reports.task_lint import lint_lines
from skillopt_cli.runlog.pruning import TITLES, block_row, pruned_words
from skillopt_cli.runlog.text.format import one_line, out_of, score
from skillopt_cli.store.layout import EVALUATION

Document = dict[str, Any]
_KIND_TITLES = ("kind of task", "hard", "soft", "tasks")


def evaluation_of(folder: Path) -> Document | None:
    """The result of an evaluation; None for a training, and before the end.

    Raises:
        DataError: it cannot be read.
    """
    return read_evaluation(folder) if (folder / EVALUATION).is_file() else None


def evaluation_blocks(document: Document) -> list[Block]:
    """The result of an evaluation, beyond the scores that its log holds.

    Raises:
        DataError: it is damaged.
    """
    try:
        return list(_blocks(document))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise DataError("the result of the evaluation is damaged", "evaluate again") from None


def _blocks(document: Document) -> Iterator[Block]:
    if "targets" in document:
        yield Heading("Comparison", 2, title(document))
        yield from matrix_rows(document)
        for target in document["targets"]:
            yield from _lint(target, document["repeats"], f" with {one_line(target['target'])}")
    elif "arms" in document:
        yield Heading("Comparison", 2, title(document))
        yield from arms_rows(document)
        yield from _lint(document, document["repeats"])
    elif "false_accept_rate" in document:
        yield Heading("The gate against itself")
        yield Line(false_accept_words(document))
    elif len(document.get("task_types", ())) > 1:
        yield Heading("Kinds of task")
        kinds = document["task_types"].items()
        rows = [
            (one_line(kind), score(k["hard"]), score(k["soft"]), out_of(k["scored"], k["total"]))
            for kind, k in kinds
        ]
        yield Rows(_KIND_TITLES, rows, (1, 2))
    yield from majority_rows(document)
    if not document.keys() & {"arms", "targets"}:
        yield from warning_lines(document)


def _lint(document: Document, repeats: int, where: str = "") -> Iterator[Block]:
    if "lint" in document:
        yield Heading(f"Lint{where}")
        tasks = document["arms"][0]["n_items"]
        yield from map(Line, lint_lines(document["lint"], tasks, repeats))


def pruned_blocks(pruned: SkillPruned | None) -> Iterator[Block]:
    """Every block that was tried, and the effect of its removal."""
    if pruned is not None:
        yield Heading("Pruning")
        yield Rows(TITLES, [block_row(block) for block in pruned.blocks], (2, 3, 4, 5))
        yield Line(pruned_words(pruned))


def false_accept_words(document: Document) -> str:
    """How often the gate accepts a text against itself, in a sentence."""
    same = "" if document["varied"] else ", so every comparison was a tie"
    return (
        f"The {document['gate_policy']} gate accepts this skill against itself in"
        f" {document['false_accept_rate']:.1%} of comparisons on"
        f" {count(document['n_items'], 'selection task')}; {len(document['varied'])} of them got"
        f" different marks in {document['repeats']} attempts{same}."
    )
