"""`check_benchmark`: conformance check of a benchmark with the contract of `ports.Benchmark`."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.benchmarks.kit.answers import marked
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import SPLITS, Attempt, Brief, Task
from skillopt_cli.ports import Benchmark, Judged

_SAMPLE = 5
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
    """Check that a benchmark conforms to its contract.

    Checks its attributes, unique ids, stable tasks and briefs, and the scores of odd, empty,
    given-up and reference answers on a few tasks of each split. The scorer must be deterministic.

    Raises:
        AssertionError: the contract is violated; the message names the task and the rule.
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
        tasks = benchmark.tasks(split)
        for task in tasks[:: max(1, len(tasks) // _SAMPLE)]:
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
    before = _content(task)
    brief = benchmark.brief(task)
    _require(isinstance(brief, Brief), f"the brief of `{task.id}` is not a Brief")
    _require(brief == benchmark.brief(task), f"the brief of `{task.id}` varies between calls")
    _require(_content(task) == before, f"briefing `{task.id}` changes the task")
    _require(brief.task_id == task.id, f"the brief of `{task.id}` names another task")
    _require(brief.draw == 0, f"the brief of `{task.id}` sets a draw, which is the run's to set")
    _require(brief.role.strip() != "", f"the brief of `{task.id}` has no role")
    _require(len(brief.sections) > 0, f"the brief of `{task.id}` has no sections")
    for section in brief.sections:
        filled = section.title.strip() and section.text.strip()
        _require(bool(filled), f"the brief of `{task.id}` has an empty section")


def _content(task: Task) -> str:
    """The digest of what a task holds now; its own one is computed once."""
    return replace(task).digest


async def _check_scores(benchmark: Benchmark, task: Task) -> None:
    before = _content(task)
    for reply in _ODD_REPLIES:
        await _checked_score(benchmark, task, Attempt(reply))
    empty = await _checked_score(benchmark, task, Attempt(""))
    _require(empty.hard == 0.0, f"an empty answer to `{task.id}` scores {empty.hard}")
    for gold in empty.expected:
        scores = [await _checked_score(benchmark, task, Attempt(reply)) for reply in marked(gold)]
        best = max(score.hard for score in scores)
        _require(best == 1.0, f"the reference of `{task.id}` scores {best}")
        given_up = await _checked_score(benchmark, task, Attempt(gold, ending="gave_up"))
        _require(given_up.hard == 0.0, f"giving up on `{task.id}` scores {given_up.hard}")
    _require(_content(task) == before, f"scoring `{task.id}` changes the task")


async def _checked_score(benchmark: Benchmark, task: Task, attempt: Attempt) -> Score:
    """The score, after the checks that apply to every score."""
    score = await _raw_score(benchmark, task, attempt)
    _require(isinstance(score, Score), f"the score of `{task.id}` is not a Score")
    again = await _raw_score(benchmark, task, attempt)
    _require(score == again, f"the score of one answer to `{task.id}` varies")
    explained = score.hard == 1.0 or score.feedback.strip() != ""
    _require(explained, f"a wrong answer to `{task.id}` gets no feedback")
    return score


async def _raw_score(benchmark: Benchmark, task: Task, attempt: Attempt) -> Score:
    """The score; where a judge would decide, that of a wrong answer."""
    if not isinstance(benchmark, Judged):
        return await benchmark.score(task, attempt)
    if attempt.ending == "gave_up":
        return Score(0.0, 0.0, "no answer was given")
    asked = benchmark.ask_judge(task, attempt)
    return asked if isinstance(asked, Score) else Score(0.0, 0.0, "left to the judge")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)
