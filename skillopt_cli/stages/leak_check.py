"""The label set of a run's train split, and the check of proposals for leaked tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from skillopt_cli.core.edits import Candidate, Patch, refuse
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.labels import Labels, TaskAnswers, find_labels, named_choice
from skillopt_cli.core.leak_guard import LeakGuard, Material, checked, make_guard
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Reflection
from skillopt_cli.core.task import Attempt, Task
from skillopt_cli.ports import Referenced
from skillopt_cli.stages.run import Comparison, Run


def train_labels(run: Run, trajectories: Sequence[Trajectory] = ()) -> Labels:
    """The labels and secrets of the train split.

    Args:
        trajectories: where references come from for a benchmark that gives none by itself.
    """
    if run.referenced is None:
        shown = [task_answers(t.task, t.score.expected) for t in trajectories if t.score]
        return find_labels(shown)
    # Found once: every minibatch asks for them, and a split may have many thousand tasks.
    if "train" not in run.labels:
        run.labels["train"] = split_labels(run.referenced, run.splits["train"])
    return run.labels["train"]


def split_labels(benchmark: Referenced, tasks: Sequence[Task]) -> Labels:
    """The labels and secrets of some tasks."""
    return find_labels([task_answers(task, benchmark.expected(task)) for task in tasks])


def task_answers(task: Task, references: Sequence[str]) -> TaskAnswers:
    """A task's references, of options their texts, and its options."""
    options = task.data.get("choices")
    choices = tuple(map(str, options)) if isinstance(options, list | tuple) else ()
    named = tuple(named_choice(reference, choices) for reference in references)
    return TaskAnswers(task.id, named, choices)


def may_quote(run: Run) -> bool:
    """Whether worked examples of train tasks may enter the skill."""
    allowed = run.config.optimizer.worked_examples
    return run.variants.quotes if allowed is None else allowed


def guarded(
    run: Run, skill: SkillDocument, trajectories: Sequence[Trajectory], reflection: Reflection
) -> Reflection:
    """The reflection without what the leak guard refuses, which its patches set aside."""
    if not any(patch.edits or patch.notes for patch in reflection.patches):
        return reflection
    materials = [_material(run, t.task, t) for t in trajectories if t.score]
    guard = _guard(run, materials, train_labels(run, trajectories))
    patches: tuple[Patch, ...] = tuple(checked(p, guard, skill) for p in reflection.patches)
    return replace(reflection, patches=patches)


def checked_rewrite(run: Run, skill: SkillDocument, candidate: Candidate) -> Candidate:
    """The candidate, refused where a rewritten text leaks a task of the step."""
    if candidate.rewrite is None or candidate.refused or run.step is None:
        return candidate
    materials = [_material(run, task) for task in run.batch(run.step)]
    guard = _guard(run, materials, train_labels(run))
    fault = guard.fault(candidate.rewrite.text, skill.texts.values())
    return candidate if fault is None else refuse(skill, candidate, f"{fault[0]}: {fault[1]}")


def checked_guidance(run: Run, comparison: Comparison, guidance: str | None) -> str | None:
    """The guidance of an epoch's end; None, and a `Degraded` fact, where it leaks a task."""
    if guidance is None:
        return None
    shown = [pair.after for pair in comparison.pairs]
    materials = [_material(run, t.task, t) for t in shown if t.score]
    guard = _guard(run, materials, train_labels(run, shown))
    fault = guard.fault(guidance, comparison.after.texts.values())
    if fault is None:
        return guidance
    run.emit(Degraded("slow_update", f"the guidance is refused ({fault[0]}): {fault[1]}"))
    return None


def _guard(run: Run, materials: Sequence[Material], labels: Labels) -> LeakGuard:
    quotable = [task.id for task in run.splits["train"]] if may_quote(run) else []
    return make_guard(materials, labels, quotable)


def _material(run: Run, task: Task, trajectory: Trajectory | None = None) -> Material:
    """What belongs to a task: brief, record, and what only its scorer or its judge reads."""
    texts = [section.text for section in run.benchmark.brief(task).sections]
    texts += _texts(task.data)
    private: list[str] = []
    if trajectory is not None and trajectory.score is not None:
        texts += trajectory.score.expected
        private.append(trajectory.score.private.text)
    if run.judged:
        asked = run.judged.ask_judge(task, trajectory.attempt if trajectory else Attempt("-"))
        rubric = asked if isinstance(asked, tuple) else ()
        private += [message.content for message in rubric if message.role == "system"]
    return Material(task.id, tuple(texts), tuple(private))


def _texts(value: Any) -> Iterator[str]:
    """Every text in a task's record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
