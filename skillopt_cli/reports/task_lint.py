"""What is noteworthy about the tasks of an evaluation: as JSON, and in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from skillopt_cli.benchmarks.kit.near_duplicates import near_duplicates, prompted_tasks
from skillopt_cli.core.front_matter import limits_exceeded, metadata_notice
from skillopt_cli.core.repeats import Repeated
from skillopt_cli.core.task_lint import TaskText, lint_tasks
from skillopt_cli.runlog.text.format import count, one_line
from skillopt_cli.stages import Run

_SHOWN = 5


def lint_document(run: Run, arms: dict[str, Repeated]) -> dict[str, Any]:
    """The findings on the tasks in use, and on the skills that were measured on them."""
    texts = [
        TaskText(task.id, split, run.benchmark.brief(task).prompt)
        for split, tasks in run.splits.items()
        for task in tasks
    ]
    skills = [
        {"arm": name, "said": said}
        for name, found in arms.items()
        for said in _skill_warnings(found.averaged.skill.text)
    ]
    pairs = near_duplicates(prompted_tasks(run.benchmark, run.splits))
    alike = [
        {
            "first": pair.first.task.id,
            "first_split": pair.first.split,
            "second": pair.second.task.id,
            "second_split": pair.second.split,
            "share": pair.share,
        }
        for pair in sorted(pairs, key=lambda pair: -pair.share)
    ]
    return {**asdict(lint_tasks(arms, texts)), "near_duplicates": alike, "skills": skills}


def _skill_warnings(text: str) -> Iterator[str]:
    """What is unusual about a skill's metadata, and what programs would not load it for."""
    if notice := metadata_notice(text):
        yield notice
    yield from (f"an agent's program may not load it: {fault}" for fault in limits_exceeded(text))


def lint_lines(lint: dict[str, Any], tasks: int, repeats: int) -> Iterator[str]:
    """The findings for people, a line each.

    Args:
        tasks: number of tasks that were attempted.
    """
    yield _share("every arm passes", lint["passed"], tasks)
    yield _share("every arm fails", lint["failed"], tasks)
    if repeats > 1:
        yield _share("flaky, marks differ between draws", sorted(lint["flaky"]), tasks)
    else:
        yield "flaky: not known from one draw, add --repeats 2"
    pairs = [
        f"{one_line(pair['first'])} ({pair['first_split']}) and {one_line(pair['second'])}"
        f" ({pair['second_split']}), {pair['share']:.0%} alike"
        for pair in lint["near_duplicates"]
    ]
    yield _listed("near-duplicates across splits", pairs, "; ")
    for quote in lint["quoted"][:_SHOWN]:
        yield (
            f"the arm {quote['arm']} quotes {one_line(quote['task'])} ({quote['split']}):"
            f' "{one_line(quote["passage"])} ..."'
        )
    rest = len(lint["quoted"]) - _SHOWN
    if rest > 0:
        yield f"and {count(rest, 'more quotation')}"
    elif not lint["quoted"]:
        yield "tasks quoted in a skill: none"
    for warning in lint.get("skills", ()):
        yield f"the skill of the arm {warning['arm']}: {warning['said']}"


def _share(what: str, ids: Sequence[str], tasks: int) -> str:
    return _listed(f"{what} ({len(ids)} of {count(tasks, 'task')})", list(map(one_line, ids)), ", ")


def _listed(what: str, words: Sequence[str], between: str) -> str:
    shown = between.join(words[:_SHOWN]) or "none"
    rest = len(words) - _SHOWN
    return f"{what}: {shown}" + (f"{between}and {rest:,} more" if rest > 0 else "")
