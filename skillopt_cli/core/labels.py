"""Labels and secrets: which answers recur over tasks, and which belong to one task alone.

A label may be named in a skill: a rule about it helps on tasks nobody has seen. A secret may not:
naming it solves one task and teaches nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_LABELS = 50
"""Labels beyond this number are no set that a rule could tell apart."""
TASKS_PER_LABEL = 3
"""Tasks that a label set has on average for each of its labels."""
LEAST_TASKS = 10
"""Tasks below which answers that recur may do so by chance."""
SHARE = 0.5
"""Share of the tasks that a label set must answer, or that must offer a choice."""


@dataclass(frozen=True, slots=True)
class TaskAnswers:
    """The answers of one train task.

    Attributes:
        references: what counts as right; several are other wordings of one answer.
        choices: the options the task offers, right ones included.
    """

    task_id: str
    references: tuple[str, ...]
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Labels:
    """The answers of a train split, sorted into labels and secrets.

    Attributes:
        names: the label set, in alphabetical order; empty where the answers form none.
        secrets: answers and options of a single task, each with the id of its task.
    """

    names: tuple[str, ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()

    def label_of(self, references: Iterable[str]) -> str | None:
        """The label that a task's references name; None where they name none."""
        known = {folded(name): name for name in self.names}
        return next((known[text] for text in map(folded, references) if text in known), None)


def folded(text: str) -> str:
    """An answer as it is compared: without case, and with single spaces."""
    return " ".join(text.split()).casefold()


def named_choice(reference: str, choices: Sequence[str]) -> str:
    """The text of the option that a reference names, alone, by letter or behind its letter.

    The reference itself where it names none.
    """
    texts = {folded(choice): choice for choice in choices}
    for place, choice in enumerate(choices):
        letter = chr(ord("a") + place)
        texts |= {f"{letter}. {folded(choice)}": choice}
        texts.setdefault(letter, choice)
    return texts.get(folded(reference), reference)


def find_labels(tasks: Sequence[TaskAnswers]) -> Labels:
    """The label set and the secrets of a train split.

    An answer recurs when it is the answer of at least two tasks, an option when at least two tasks
    offer it. Recurring answers are a label set when there are at least ten tasks, the answers are
    at most 50, and they are those of half of the tasks and of three tasks each on average. The
    options of a label set are those that at least half of the tasks offer. What does not recur is a
    secret.
    """
    answered = _tasks_by_text(tasks, "references")
    offered = _tasks_by_text(tasks, "choices")
    recurring = [text for text, ids in answered.items() if len(ids) > 1]
    covered = set().union(*(answered[text] for text in recurring))
    names = recurring if _is_set(len(recurring), len(covered), len(tasks)) else []
    common = [text for text, ids in offered.items() if len(ids) >= max(2, SHARE * len(tasks))]
    names += [text for text in common if text not in names and len(common) <= MOST_LABELS]
    spelled = _spellings(tasks)
    known = answered | {text: ids | answered.get(text, set()) for text, ids in offered.items()}
    secrets = {text: next(iter(ids)) for text, ids in known.items() if len(ids) == 1}
    return Labels(
        tuple(sorted(spelled[text] for text in names)),
        tuple((spelled[text], task_id) for text, task_id in secrets.items()),
    )


def _is_set(labels: int, covered: int, tasks: int) -> bool:
    many = covered >= max(SHARE * tasks, TASKS_PER_LABEL * labels) and tasks >= LEAST_TASKS
    return 1 < labels <= MOST_LABELS and many


def _tasks_by_text(tasks: Sequence[TaskAnswers], field: str) -> dict[str, set[str]]:
    """The ids of the tasks that hold each text, in the order the texts come in."""
    found: dict[str, set[str]] = {}
    for task in tasks:
        for text in getattr(task, field):
            if folded(text):
                found.setdefault(folded(text), set()).add(task.task_id)
    return found


def _spellings(tasks: Sequence[TaskAnswers]) -> dict[str, str]:
    """The commonest spelling of each answer and option."""
    counted = Counter(
        " ".join(text.split()) for task in tasks for text in (*task.references, *task.choices)
    )
    return {folded(text): text for text, _ in reversed(counted.most_common())}
