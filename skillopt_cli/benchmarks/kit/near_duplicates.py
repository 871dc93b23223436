"""Tasks of two splits that are nearly the same, so that one split knows the answers of another."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillopt_cli.benchmarks.kit.benchmark import TextBenchmark
from skillopt_cli.benchmarks.kit.labels import Referenced
from skillopt_cli.core.task import Split, Task
from skillopt_cli.ports import Benchmark, Interactive

ALIKE = 90
"""Percent of the characters from which on two prompts are nearly the same."""
_SHARED = 0.6
"""Share of words that two prompts have in common before their characters are compared."""
_COMMON = 100
"""Tasks with a word from which on it no longer marks two prompts as alike."""


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Two tasks of different splits with nearly the same prompt.

    Attributes:
        share: of the characters that both have in common, case and marks left out, in [0, 1].
    """

    first: Referenced
    second: Referenced
    share: float

    @property
    def exact(self) -> bool:
        """Whether the prompts differ in nothing but case and white space."""
        first, second = (one.prompt.casefold().split() for one in (self.first, self.second))
        return first == second


def prompted_tasks(
    benchmark: Benchmark, splits: Mapping[Split, Sequence[Task]]
) -> list[Referenced]:
    """All tasks with their prompts, and with their references where a benchmark has some.

    None where tasks are played: two games with one goal differ in what is only seen in them.
    """
    if isinstance(benchmark, Interactive):
        return []
    found = []
    for split, tasks in splits.items():
        for task in tasks:
            brief = benchmark.brief(task)
            shown = " ".join([brief.prompt, *(image.digest for image in brief.images)])
            known = benchmark.expected(task) if isinstance(benchmark, TextBenchmark) else ()
            found.append(Referenced(task, split, known, shown))
    return found


def near_duplicates(tasks: Sequence[Referenced]) -> Iterator[NearDuplicate]:
    """Tasks of two splits with nearly the same prompt, the same numbers and the same reference."""
    if len({one.split for one in tasks}) < 2:
        return
    from rapidfuzz import fuzz  # most commands compare no tasks

    texts = [" ".join(re.findall(r"\w+", one.prompt.casefold())) for one in tasks]
    # Only tasks of a group are compared: those with the same numbers and the same reference.
    ids: dict[tuple[object, ...], int] = {}
    groups = [
        ids.setdefault((one.expected, *re.findall(r"\d+", text)), len(ids))
        for one, text in zip(tasks, texts, strict=True)
    ]
    words = [set(text.split()) for text in texts]
    known = Counter(word for found in words for word in found)
    holders: Mapping[tuple[str, int], list[int]] = defaultdict(list)
    for place, (own, group) in enumerate(zip(words, groups, strict=True)):
        rare = sorted(own, key=lambda word: (known[word], word))
        candidates: set[int] = set()
        # Two sets that share this much share one of the rarest words of either.
        for word in rare[: len(rare) - math.ceil(_SHARED * len(rare)) + 1]:
            if known[word] <= _COMMON:
                candidates.update(holders[word, group])
                holders[word, group].append(place)
        for other in sorted(candidates):
            alike = fuzz.ratio(texts[other], texts[place], score_cutoff=ALIKE)
            if alike and tasks[other].split != tasks[place].split:
                yield NearDuplicate(tasks[other], tasks[place], alike / 100)
