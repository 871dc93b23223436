"""A benchmark in memory: small reading tasks, scored without any library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Split, Task
from skillopt_cli.testing.tasks import make_items

_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_ROLE = "You answer questions about short texts."
_FORMAT = "End with the answer between tags, for example <answer>Lyon</answer>."


class ToyBenchmark:
    """A `Benchmark` that invents its tasks: the same sizes and seed give the same tasks.

    The hard score asks for the reference to the letter; the soft one is the share of the answer's
    words that stand in the reference, or of the reference's in the answer, whichever is less.
    """

    name = "toy"
    version = "1"
    source = "invented tasks"
    seed_skill = "# Reading\n\nAnswer the question from the text.\n"
    needs: frozenset[str] = frozenset()

    def __init__(self, sizes: Mapping[Split, int], seed: int = 0) -> None:
        items = iter(make_items(sum(sizes.values()), seed))
        self._tasks: dict[Split, tuple[Task, ...]] = {
            split: tuple(map(_task, islice(items, size))) for split, size in sizes.items()
        }

    def tasks(self, split: Split) -> Sequence[Task]:
        """The tasks of a split."""
        return self._tasks[split]

    def brief(self, task: Task) -> Brief:
        """Text and question."""
        sections = (
            Section("Context", task.data["context"]),
            Section("Question", task.data["question"]),
        )
        return Brief(task.id, _ROLE, sections, _FORMAT)

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """Score the last tagged answer, else the whole text; see the class."""
        found = _TAGGED.findall(attempt.answer)
        said = (found[-1] if found else attempt.answer).strip()
        reference: str = task.data["answers"][0]
        if attempt.ending == "gave_up" or not said:
            return Score(0.0, 0.0, "no answer was given", (reference,))
        if said == reference:
            return Score(1.0, 1.0, "", (reference,))
        a, b = set(said.lower().split()), set(reference.lower().split())
        soft = len(a & b) / max(len(a), len(b))
        return Score(0.0, soft, f"the answer was {said!r}, not {reference!r}", (reference,))


def _task(item: Mapping[str, object]) -> Task:
    data = {name: item[name] for name in ("question", "context", "answers")}
    return Task(str(item["id"]), str(item["kind"]), data)
