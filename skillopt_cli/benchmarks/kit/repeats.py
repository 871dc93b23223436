"""Tasks that occur more than once: left out of a file that is cut, else refused all at once."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from skillopt_cli.benchmarks.kit.records import place
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS, Split, Task

REPEATED = "repeating an earlier one"
"""Why a record is left out; completes "3 records left out: ..."."""
_NAMED = 3
"""Faults that a message names."""


class Compared(Protocol):
    """How tasks are compared; see the attributes of `TaskFormat`."""

    @property
    def content(self) -> Callable[[Task], str]:
        """The text of which equal ones in two splits are leakage."""

    @property
    def asked(self) -> Callable[[Task], str]:
        """All that a target is shown; "" where repeated tasks stay."""

    @property
    def contradiction(self) -> Callable[[Task, Task], str]:
        """The answers of two tasks that ask the same, where these differ."""


@dataclass(slots=True)
class TaskFile:
    """A task file's tasks, with their positions kept compactly for messages.

    Attributes:
        notes: how the file was read, where its ending does not show it.
        numbers: of each task, its record's `Record.number`.
    """

    path: Path
    notes: list[str] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    numbers: array[int] = field(default_factory=lambda: array("L"))
    left_out: Counter[str] = field(default_factory=Counter)

    def drop(self, positions: Sequence[int]) -> None:
        """Do without the tasks at these positions, given in ascending order."""
        for position in reversed(positions):
            del self.tasks[position], self.numbers[position]


@dataclass(frozen=True, slots=True)
class Fault:
    """Two tasks that cannot both be used, in a sentence, and what to do about it."""

    what: str
    hint: str


class RepeatedTasks(DataError):
    """Tasks that occur more than once, or that contradict one another.

    The message names the first three, and how many there are.

    Args:
        faults: all of them, at least one.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        named = "; ".join(fault.what for fault in faults[:_NAMED])
        n, hint = len(faults), faults[0].hint
        if n > _NAMED:
            named += f"; ... ({n} in all)"
            hint += "; `skillopt data check` lists them all"
        super().__init__(named, hint)
        self.faults = tuple(faults)


def leave_out_repeats(files: Sequence[TaskFile], form: Compared) -> None:
    """Do without each task that asks what an earlier one asks, with the same answers.

    Raises:
        RepeatedTasks: tasks ask the same and have different answers.
    """
    seen: dict[int, Task] = {}
    against: list[tuple[Task, Task]] = []
    for file in files:
        repeated = []
        for position, task in enumerate(file.tasks):
            asked = form.asked(task)
            # Hashes are kept, not texts; a hit is confirmed on the texts.
            earlier = seen.setdefault(hash(asked), task) if asked else task
            if earlier is task or form.asked(earlier) != asked:
                continue
            if form.contradiction(earlier, task):
                against.append((earlier, task))
            else:
                repeated.append(position)
        file.drop(repeated)
        file.left_out.update({REPEATED: len(repeated)} if repeated else {})
    if against:
        raise RepeatedTasks([
            Fault(
                f"{first} and {second} ask the same and have the answers"
                f" {form.contradiction(*pair)}",
                "correct the answers, or remove the rows that are wrong",
            )
            for pair, (first, second) in zip(against, _places(files, against), strict=True)
        ])


def refuse_repeats(
    tasks: Mapping[Split, Sequence[Task]], form: Compared, files: Sequence[TaskFile]
) -> None:
    """Refuse splits that share a task, whatever its ids, and ids that are given twice.

    Args:
        tasks: by split; as those of one split before a cut, where ids alone can be at fault.

    Raises:
        RepeatedTasks: there are such tasks.
    """
    shared = list(_shared(tasks, form))
    twice = list(_one_id(tasks, {id(task) for _, (_, task) in shared}))
    faults = []
    for (earlier, split), (first, second) in zip(
        [splits for splits, _ in shared], _places(files, [pair for _, pair in shared]), strict=True
    ):
        what = f"{earlier} and {split} share a task, in {first} and in {second}"
        faults.append(
            Fault(what, "remove one of the two: a task seen in training must not be tested")
        )
    for pair, (first, second) in zip(twice, _places(files, twice), strict=True):
        same = form.content(pair[0]) == form.content(pair[1])
        what = f"the id `{pair[0].id}` occurs twice, in {first} and in {second}"
        hint = (
            "remove one of the two: they are the same task"
            if same
            else "give every task an id of its own, over all splits"
        )
        faults.append(Fault(what, hint))
    if faults:
        raise RepeatedTasks(faults)


def _shared(
    tasks: Mapping[Split, Sequence[Task]], form: Compared
) -> Iterator[tuple[tuple[Split, Split], tuple[Task, Task]]]:
    """Tasks of equal content in two splits; hashes are kept, not texts."""
    seen: dict[Split, dict[int, Task]] = {}
    for split in SPLITS:
        own: dict[int, Task] = {}
        for task in tasks.get(split, ()):
            content = form.content(task)
            key = hash(content)
            for earlier, held in seen.items():
                twin = held.get(key)
                if twin is not None and form.content(twin) == content:
                    yield (earlier, split), (twin, task)
                    break
            else:
                if split != SPLITS[-1]:  # nothing is compared with the last one
                    own.setdefault(key, task)
        seen[split] = own


def _one_id(
    tasks: Mapping[Split, Sequence[Task]], reported: set[int]
) -> Iterator[tuple[Task, Task]]:
    """Tasks with the id of an earlier one, but for those that are `reported` already."""
    seen: dict[str, Task] = {}
    for split in SPLITS:
        for task in tasks.get(split, ()):
            if id(task) in reported:
                continue
            earlier = seen.setdefault(task.id, task)
            if earlier is not task:
                yield earlier, task


def _places(
    files: Sequence[TaskFile], pairs: Sequence[tuple[Task, Task]]
) -> Iterator[tuple[str, str]]:
    """The places of the tasks of each pair, in the order of the files."""
    wanted = {id(task) for pair in pairs for task in pair}
    found: dict[int, tuple[int, str]] = {}
    for file in files:
        for task, number in zip(file.tasks, file.numbers, strict=True):
            if id(task) in wanted:
                found[id(task)] = (len(found), place(file.path, number))
    for pair in pairs:
        first, second = sorted(found[id(task)] for task in pair)
        yield first[1], second[1]
