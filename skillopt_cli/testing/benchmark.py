"""`check_benchmark`: does a benchmark keep the contract of `ports.Benchmark`."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.benchmarks.answers import marked
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import SPLITS, Attempt, Brief, Task
from skillopt_cli.ports import Benchmark, Judged

_TRIED = 5
_ODD_REPLIES = (
    "",
    " \n\t",
    "no idea",
    "<answer></answer>",
    "<answer>open",
    "</answer><answer>",
    "1,234.5 %",
    "\x00\u2028\U0001f600",
    "{" * 200,
    "word " * 2000,
)


async def check_benchmark(benchmark: Benchmark) -> None:
    """Hold a benchmark to its contract; for the tests of plug-in authors.

    Checked are its attributes, unique ids, stable tasks and briefs, and the scores of odd, empty,
    given-up and reference answers on a few tasks of each split. Its scorer is assumed not to vary.

    Raises:
        AssertionError: the contract is broken; the message says where.
    """
    _check_attributes(benchmark)
    seen: set[str] = set()
    for split in SPLITS:
        tasks = benchmark.tasks(split)
        _require(len(tasks) > 0, f"the {split} split is empty")
        _require(
            list(tasks) == list(benchmark.tasks(split)), f"tasks of {split} vary between calls"
        )
        for task in tasks:
            _check_identity(task, seen)
    for split in SPLITS:
        for task in _spread(benchmark.tasks(split)):
            _check_brief(benchmark, task)
            await _check_scores(benchmark, task)


def _check_attributes(benchmark: Benchmark) -> None:
    for attribute in ("name", "version", "source", "seed_skill"):
        value = getattr(benchmark, attribute)
        _require(isinstance(value, str) and value.strip() != "", f"`{attribute}` is not a text")
    _require("\n" not in benchmark.source, "`source` is more than one line")
    _require(isinstance(benchmark.needs, frozenset), "`needs` is not a frozenset")


def _check_identity(task: Task, seen: set[str]) -> None:
    _require(task.id != "", "a task has an empty id")
    _require(task.id not in seen, f"the id `{task.id}` is not unique over all splits")
    _require(task.kind.strip() != "", f"task `{task.id}` has no kind")
    seen.add(task.id)


def _check_brief(benchmark: Benchmark, task: Task) -> None:
    before = task.digest
    brief = benchmark.brief(task)
    _require(isinstance(brief, Brief), f"the brief of `{task.id}` is not a Brief")
    _require(brief == benchmark.brief(task), f"the brief of `{task.id}` varies between calls")
    _require(task.digest == before, f"briefing `{task.id}` changes the task")
    _require(brief.task_id == task.id, f"the brief of `{task.id}` names another task")
    _require(brief.draw == 0, f"the brief of `{task.id}` sets a draw, which is the run's to set")
    _require(brief.role.strip() != "", f"the brief of `{task.id}` has no role")
    _require(len(brief.sections) > 0, f"the brief of `{task.id}` has no sections")
    for section in brief.sections:
        filled = section.title.strip() and section.text.strip()
        _require(bool(filled), f"the brief of `{task.id}` has an empty section")


async def _check_scores(benchmark: Benchmark, task: Task) -> None:
    before = task.digest
    for reply in _ODD_REPLIES:
        await _score(benchmark, task, Attempt(reply))
    empty = await _score(benchmark, task, Attempt(""))
    _require(empty.hard == 0.0, f"an empty answer to `{task.id}` scores {empty.hard}")
    for gold in empty.expected:
        scores = [await _score(benchmark, task, Attempt(reply)) for reply in marked(gold)]
        best = max(score.hard for score in scores)
        _require(best == 1.0, f"the reference of `{task.id}` scores {best}")
        given_up = await _score(benchmark, task, Attempt(gold, ending="gave_up"))
        _require(given_up.hard == 0.0, f"giving up on `{task.id}` scores {given_up.hard}")
    _require(task.digest == before, f"scoring `{task.id}` changes the task")


async def _score(benchmark: Benchmark, task: Task, attempt: Attempt) -> Score:
    """The score, after looking at what holds for every score."""
    score = await _scored(benchmark, task, attempt)
    _require(isinstance(score, Score), f"the score of `{task.id}` is not a Score")
    again = await _scored(benchmark, task, attempt)
    _require(score == again, f"the score of one answer to `{task.id}` varies")
    explained = score.hard == 1.0 or score.feedback.strip() != ""
    _require(explained, f"a wrong answer to `{task.id}` gets no feedback")
    return score


async def _scored(benchmark: Benchmark, task: Task, attempt: Attempt) -> Score:
    """The score; where a judge would be asked, that of an answer it finds wrong."""
    if not isinstance(benchmark, Judged):
        return await benchmark.score(task, attempt)
    if attempt.ending == "gave_up":
        return Score(0.0, 0.0, "no answer was given")
    asked = benchmark.ask_judge(task, attempt)
    return asked if isinstance(asked, Score) else Score(0.0, 0.0, "left to the judge")


def _spread(tasks: Sequence[Task]) -> Sequence[Task]:
    return tasks[:: max(1, len(tasks) // _TRIED)]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)
