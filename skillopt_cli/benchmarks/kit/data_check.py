"""Checks of a benchmark's data before anything is spent: scoring, leaks, shortcuts, sizes."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt_cli.benchmarks.kit.answers import marked
from skillopt_cli.benchmarks.kit.benchmark import TextBenchmark
from skillopt_cli.benchmarks.kit.choices import LETTERS, choices_fault, chosen
from skillopt_cli.benchmarks.kit.label_checks import (
    label_findings,
    label_spellings,
    missing_labels,
    rare_labels,
    rare_words,
    spelling_findings,
    spelling_words,
)
from skillopt_cli.benchmarks.kit.labels import Referenced, own_references
from skillopt_cli.benchmarks.kit.missing_groups import missing_kinds, missing_words, parts_hint
from skillopt_cli.benchmarks.kit.near_duplicates import near_duplicates, prompted_tasks
from skillopt_cli.benchmarks.kit.reference_checks import (
    ENOUGH,
    Finding,
    first_three,
    list_findings,
    one_answer,
    unchanged_findings,
)
from skillopt_cli.core.formatting import count
from skillopt_cli.core.score import Score
from skillopt_cli.core.statistics import SMALL, resolution_words
from skillopt_cli.core.task import SPLITS, Attempt, Split, Task
from skillopt_cli.ports import Benchmark, Executor, Interactive, Judged

AT_ONCE = 4
"""References played at the same time."""


@dataclass(frozen=True, slots=True)
class _Probe:
    """Scores of a task's empty answer and of its reference."""

    task: Task
    expected: tuple[str, ...]
    empty: float
    gold: float | None


async def check_data(benchmark: Benchmark, executor: Executor, at_most: int = 200) -> list[Finding]:
    """Find faults and shortcuts in a benchmark's data.

    References are those its scorer reports as `Score.expected`; where attempts have episodes, the
    reference is played. What only a judge could score is left out.

    Args:
        benchmark: any benchmark, opened.
        executor: where references are played.
        at_most: tasks to score, taken evenly over the splits; repeated and leaked tasks are looked
            for among all.

    Returns:
        Findings, errors first.
    """
    tasks = {split: tuple(benchmark.tasks(split)) for split in SPLITS}
    probes = await _probes(benchmark, executor, list(_evenly(tasks, at_most)))
    own = own_references(benchmark, tasks)
    hint = _hint_of(benchmark, "label")

    async def hard(task: Task, answer: str) -> float:
        return (await _scored(benchmark, executor, task, f"<answer>{answer}</answer>")).hard

    found = [
        *_scoring(probes),
        *_identities(tasks),
        *_repeats(benchmark, tasks),
        *one_answer([probe.expected for probe in probes]),
        *_one_position(probes),
        *_one_option(probes),
        *_one_pattern(tasks),
        *_sizes(tasks),
        *_kinds(tasks),
        *(
            Finding("warning", missing_words(split, "kind", names), _hint_of(benchmark, "kind"))
            for split, names in missing_kinds(tasks).items()
        ),
        *await label_findings(own, hard, hint),
        *list_findings(own),
        *unchanged_findings(own, _texts_of(benchmark)),
        *await spelling_findings(own, hard),
        *_near_duplicates(benchmark, tasks),
    ]
    order = ("error", "warning", "info")
    return sorted(found, key=lambda finding: order.index(finding.level))


def _evenly(tasks: Mapping[Split, Sequence[Task]], at_most: int) -> Iterator[Task]:
    total = sum(len(part) for part in tasks.values())
    stride = max(1, math.ceil(total / at_most))
    for part in tasks.values():
        yield from part[::stride]


async def _probes(benchmark: Benchmark, executor: Executor, tasks: Sequence[Task]) -> list[_Probe]:
    """A probe of each task, in order; playing a reference takes its time, so some at once."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(task: Task) -> _Probe:
        async with free:
            return await _probe(benchmark, executor, task)

    try:
        async with asyncio.TaskGroup() as group:
            probes = [group.create_task(one(task)) for task in tasks]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [probe.result() for probe in probes]


async def _probe(benchmark: Benchmark, executor: Executor, task: Task) -> _Probe:
    empty = await _scored(benchmark, executor, task, "")
    if isinstance(benchmark, Interactive):
        proven = await benchmark.score(task, await benchmark.prove(task, executor))
        return _Probe(task, empty.expected, empty.hard, proven.hard)
    if not empty.expected:
        return _Probe(task, (), empty.hard, None)
    gold = 0.0
    for reply in marked(empty.expected[0]):
        if gold < 1.0:
            gold = (await _scored(benchmark, executor, task, reply)).hard
    return _Probe(task, empty.expected, empty.hard, gold)


async def _scored(benchmark: Benchmark, executor: Executor, task: Task, reply: str) -> Score:
    """The score of a reply without any turn before it; nothing where a judge would be asked."""
    attempt = Attempt(reply)
    if isinstance(benchmark, Interactive):
        async with benchmark.episode(task, executor) as episode:
            attempt = replace(attempt, outcome=await episode.outcome(reply))
    if not isinstance(benchmark, Judged):
        return await benchmark.score(task, attempt)
    asked = benchmark.ask_judge(task, attempt)
    return asked if isinstance(asked, Score) else Score(0.0, 0.0)


def task_warnings(benchmark: Benchmark) -> list[str]:
    """What is odd about own tasks, such as lists as text, rare labels and near duplicates."""
    tasks = {split: tuple(benchmark.tasks(split)) for split in SPLITS}
    if not (own := own_references(benchmark, tasks)):
        return []
    lists = [finding.what for finding in list_findings(own)]
    unchanged = [f"{one.what}; {one.hint}" for one in unchanged_findings(own, _texts_of(benchmark))]
    labels = spelling_words(label_spellings(own)), rare_words(rare_labels(own))
    near = [finding.what for finding in _near_duplicates(benchmark, tasks)]
    return [*lists, *unchanged, *filter(None, labels), *_missing(benchmark, tasks, own), *near]


def _texts_of(benchmark: Benchmark) -> Callable[[Task], Sequence[str]]:
    """Returns the texts of a task, each of a section of its brief."""
    return lambda task: [section.text for section in benchmark.brief(task).sections]


def _missing(
    benchmark: Benchmark, tasks: Mapping[Split, Sequence[Task]], own: Sequence[Referenced]
) -> Iterator[str]:
    """The labels and kinds that the selection or the test split lacks, and how it gets them."""
    for group, missing in (("label", missing_labels(own)), ("kind", missing_kinds(tasks))):
        for split, names in missing.items():
            if split != "train":
                yield f"{missing_words(split, group, names)}: {_hint_of(benchmark, group)}"


def _hint_of(benchmark: Benchmark, group: str) -> str:
    return parts_hint(benchmark.request, group) if isinstance(benchmark, TextBenchmark) else ""


def _near_duplicates(
    benchmark: Benchmark, tasks: Mapping[Split, Sequence[Task]]
) -> Iterator[Finding]:
    """Tasks of two splits that are nearly the same, without those that are the same."""
    found = near_duplicates(prompted_tasks(benchmark, tasks))
    pairs = [f"{one.first.task.id} ~ {one.second.task.id}" for one in found if not one.exact]
    if pairs:
        yield Finding(
            "warning",
            f"{count(len(pairs), 'pair')} of nearly the same task in two splits:"
            f" {first_three(pairs)}",
            "keep each in one split, else the test measures memory",
        )


def _scoring(probes: Sequence[_Probe]) -> Iterator[Finding]:
    wrong = [p.task.id for p in probes if p.gold is not None and p.gold < 1.0]
    free = [p.task.id for p in probes if p.empty > 0.0]
    unknown = [p.task.id for p in probes if p.gold is None]
    n = len(probes)
    if wrong:
        yield Finding(
            "error",
            "the reference itself does not score 1.0 on"
            f" {len(wrong)} of {_tasks(n)}: {first_three(wrong)}",
            "no skill can win there; correct the reference or choose another scorer",
        )
    if free:
        yield Finding(
            "error",
            f"an empty answer scores above 0 on {len(free)} of {_tasks(n)}: {first_three(free)}",
            "give these tasks a reference with content",
        )
    if unknown:
        yield Finding(
            "info",
            f"no reference is shown by {len(unknown)} of {_tasks(n)},"
            " so it was not tried on the scorer",
        )


def _identities(tasks: Mapping[Split, Sequence[Task]]) -> Iterator[Finding]:
    ids = Counter(task.id for part in tasks.values() for task in part)
    repeated = [task_id for task_id, times in ids.items() if times > 1]
    if repeated:
        yield Finding(
            "error",
            f"{len(repeated)} task ids are used by more than one task: {first_three(repeated)}",
            "give each task an id of its own, over all splits",
        )


def _repeats(benchmark: Benchmark, tasks: Mapping[Split, Sequence[Task]]) -> Iterator[Finding]:
    """Tasks that look the same to a target, within a split and across splits."""
    seen: dict[str, tuple[Split, str]] = {}
    within: list[str] = []
    across: list[str] = []
    for split, part in tasks.items():
        for task in part:
            brief = benchmark.brief(task)
            asked = [*brief.prompt.casefold().split(), *(image.digest for image in brief.images)]
            if isinstance(benchmark, Interactive):
                # Two games with one goal differ in what is only seen when they are played.
                asked.append(task.digest)
            earlier, twin = seen.setdefault(" ".join(asked), (split, task.id))
            if twin != task.id:
                (within if earlier == split else across).append(f"{twin} = {task.id}")
    if across:
        yield Finding(
            "error",
            f"{_tasks(len(across))} in two splits under different ids: {first_three(across)}",
            "keep each in one split, else the test measures memory",
        )
    if within:
        yield Finding(
            "warning",
            f"{_tasks(len(within))} seen before in the same split: {first_three(within)}",
            "a repeated task counts double",
        )


def _one_position(probes: Sequence[_Probe]) -> Iterator[Finding]:
    placed = [(len(options), right) for options, right in _choices(probes)]
    if len(placed) < ENOUGH:
        return
    position, times = Counter(right for _, right in placed).most_common(1)[0]
    n = len(placed)
    chance = sum(1 / size for size, _ in placed) / n
    spread = math.sqrt(chance * (1 - chance) / n)
    if times / n > chance + 3 * spread:
        yield Finding(
            "error" if times == n else "warning",
            f"option {LETTERS[position]} is right in {times} of {_tasks(n)}, "
            f"where {chance * n:.0f} would be chance",
            "shuffle the options of each task",
        )


def _one_option(probes: Sequence[_Probe]) -> Iterator[Finding]:
    offered: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for options, position in _choices(probes):
        texts = [option.casefold() for option in options]
        offered.update(texts)
        right[texts[position]] += 1
    for text, times in offered.items():
        if times >= ENOUGH and right[text] >= 0.9 * times:
            yield Finding(
                "error" if right[text] == times else "warning",
                f'the option "{text[:60]}" is right in {right[text]} of {_tasks(times)} with it',
                "offer it where it is wrong too, else a skill learns to pick it",
            )


def _one_pattern(tasks: Mapping[Split, Sequence[Task]]) -> Iterator[Finding]:
    """A pattern that many tasks share cannot check the answer of any one of them."""
    patterns = Counter(
        task.data["pattern"] for part in tasks.values() for task in part if "pattern" in task.data
    )
    if not patterns:
        return
    total, shared = patterns.total(), patterns.most_common(1)[0][1]
    if shared > 1 and 2 * shared >= total:
        yield Finding(
            "warning",
            f"one pattern decides {shared} of {_tasks(total)}: any answer of that form is right,"
            " whatever the task asks",
            "give each record a `pattern` of its own, unless the form is all you want to train",
        )


def _choices(probes: Sequence[_Probe]) -> Iterator[tuple[Sequence[str], int]]:
    """The options of each multiple-choice task, and which is right."""
    for probe in probes:
        options = probe.task.data.get("choices")
        if not isinstance(options, list | tuple) or choices_fault(options) or not probe.expected:
            continue
        position = chosen(probe.expected[0], options)
        if position is not None:
            yield options, position


def _sizes(tasks: Mapping[Split, Sequence[Task]]) -> Iterator[Finding]:
    splits: tuple[Split, ...] = ("selection", "test")
    for split in splits:
        n = len(tasks[split])
        if not n:
            yield Finding("error", f"the {split} split is empty")
        elif n < SMALL:
            yield Finding(
                "warning",
                f"the {split} split has {_tasks(n)}: {resolution_words(n)}",
                f"use {SMALL} tasks or more",
            )
    if not tasks["train"]:
        yield Finding("error", "the train split is empty")


def _kinds(tasks: Mapping[Split, Sequence[Task]]) -> Iterator[Finding]:
    kinds = Counter(task.kind for part in tasks.values() for task in part)
    blank = sum(n for kind, n in kinds.items() if not kind.strip())
    if blank:
        yield Finding("warning", f"{_tasks(blank)} without a kind", "give each record a `kind`")
    elif len(kinds) == 1:
        yield Finding(
            "info",
            f"all tasks are of kind `{next(iter(kinds))}`",
            "give records a `kind` to see scores by kind",
        )


def _tasks(n: int) -> str:
    return count(n, "task")
