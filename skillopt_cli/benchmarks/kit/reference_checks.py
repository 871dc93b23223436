"""Checks of references: one answer for all, and lists written as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from skillopt_cli.benchmarks.kit.labels import Referenced
from skillopt_cli.benchmarks.kit.typography import plain_line, plain_marks
from skillopt_cli.core.formatting import count
from skillopt_cli.core.task import Task

Level = Literal["error", "warning", "info"]

ENOUGH = 10
"""Tasks from which on a regularity among answers is worth a word."""
_LIST = re.compile(
    r"""\s*(?:
        # Of JSON, Python or NumPy.
        (?:array\()?[\[({]\s*(["']).*\1\s*,?\s*[\])}](?:(?:,\s*dtype=\w+)?\))?
        | \[\s*[^\W\d][^\]"']*,[^\]]*\]  # [one, two]
    )\s*""",
    re.DOTALL | re.VERBOSE,
)
_SQUAD = re.compile(r"""\s*\{\s*(["'])text\1\s*:\s*(?:array\()?\[""")
"""The object with all references, as a table made of SQuAD has it."""
_OBJECT = re.compile(r"""\s*\{\s*(?:"[^"]*"|'[^']*')\s*:""")


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault or shortcut of the data; an error makes results worthless."""

    level: Level
    what: str
    hint: str = ""


def one_answer(references: Iterable[Sequence[str]]) -> Iterator[Finding]:
    """That at least half of the tasks have the same answer; an error where all of them have it.

    Args:
        references: of each task, the usual one first; none where that is unknown.
    """
    answers = [" ".join(texts[0].split()).casefold() for texts in references if texts]
    if len(answers) < ENOUGH:
        return
    answer, times = Counter(answers).most_common(1)[0]
    if 2 * times >= len(answers):
        yield Finding(
            "error" if times == len(answers) else "warning",
            f'always answering "{answer[:60]}" scores {times / len(answers):.2f}',
            "balance the answers, else a skill learns this one",
        )


def list_findings(tasks: Sequence[Referenced]) -> Iterator[Finding]:
    """References that look like a list but are one text, which only that very text meets."""
    found = [one.task.id for one in tasks if any(map(_is_list, one.expected))]
    if found:
        yield Finding(
            "warning",
            f"the reference of {count(len(found), 'task')} is a list written as text:"
            f" {first_three(found)}",
            'write several answers as a JSON list, ["one", "two"]; in a table, in a column named'
            " `answers`",
        )


def unchanged_findings(
    tasks: Sequence[Referenced], shown: Callable[[Task], Iterable[str]]
) -> Iterator[Finding]:
    """References that the scorer holds equal to a text of the task, though they read differently.

    Args:
        shown: the texts of a task, such as context and question.
    """
    found = [one.task.id for one in tasks if any(_unchanged(one, text) for text in shown(one.task))]
    if found:
        yield Finding(
            "warning",
            f"in {count(len(found), 'task')} the scorer takes the task's own text, unchanged, for"
            f" the answer, which reads differently: {first_three(found)}",
            "`--scorer exact` compares case and punctuation too",
        )


def _unchanged(one: Referenced, text: str) -> bool:
    # Far longer texts are no form of the reference, and slow to normalise.
    likely = [answer for answer in one.expected if len(text) <= 4 * len(answer) + 40]
    if not likely or plain_line(text) in map(plain_line, one.expected):
        return False
    compared = one.normalised(text)
    return bool(compared) and any(one.normalised(answer) == compared for answer in likely)


def _is_list(text: str) -> bool:
    text = plain_marks(text)
    parts = [part.strip() for part in text.split("|")]
    if len(parts) > 1 and all(parts) and not re.search(r"[()\[\]{}\n]", text):
        return True
    found = _SQUAD.match(text) or (_LIST.fullmatch(text) and not _OBJECT.match(text))
    return bool(found)


def first_three(names: Sequence[str]) -> str:
    """The first three names, and whether there are more."""
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
