"""Reflect, with a model: one analyst call per minibatch (paper, reflection; method, section 1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import cache

from skillopt_cli.core.edits import Patch, Source
from skillopt_cli.core.minibatches import Minibatch
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson, Reflection
from skillopt_cli.stages.ask import Question, ask
from skillopt_cli.stages.concurrency import side_by_side
from skillopt_cli.stages.leak_check import may_quote, train_labels
from skillopt_cli.stages.modes import mode_of
from skillopt_cli.stages.prompt_text import (
    hints_text,
    labels_text,
    lessons_text,
    quoting_text,
    refuted_text,
    skill_text,
    trajectory_text,
)
from skillopt_cli.stages.reflect import keep_patch, minibatches, with_claims
from skillopt_cli.stages.run import Run
from skillopt_cli.stages.skill_aware import notes_in, skill_aware
from skillopt_cli.stages.skill_files import asking_for_files, of_files

PROMPTS: dict[Source, str] = {"failure": "analyst_error", "success": "analyst_success"}


async def reflect_with_model(
    run: Run,
    skill: SkillDocument,
    trajectories: Sequence[Trajectory],
    lessons: Sequence[Lesson],
) -> Reflection:
    """Ask an analyst about every minibatch at once; answers keep the minibatches' order."""
    batches = minibatches(run, trajectories)
    about = cache(lambda: _about(run, lessons, trajectories))
    answers = await side_by_side(
        run.finish(_name(run, b), _analysis(skill, b, about)) for b in batches
    )
    patches = tuple(patch for patch in answers if patch is not None)
    return Reflection(patches, asked=len(batches))


def read_early(run: Run, skill: SkillDocument, batch: Minibatch, lessons: Sequence[Lesson]) -> None:
    """Begin the analysis of a full minibatch.

    No later trajectory alters it, unless the labels that analysts read come from all of them.
    """
    if run.referenced:
        run.begin(_name(run, batch), _analysis(skill, batch, lambda: _about(run, lessons)))


def _name(run: Run, batch: Minibatch) -> str:
    return f"step {run.number} round {run.round} {batch.name}"


def _about(
    run: Run, lessons: Sequence[Lesson], trajectories: Sequence[Trajectory] = ()
) -> tuple[str, str]:
    return _memory(run, lessons), labels_text(train_labels(run, trajectories))


def _analysis(
    skill: SkillDocument, batch: Minibatch, about: Callable[[], tuple[str, str]]
) -> Callable[[Run], Awaitable[Patch | None]]:
    return lambda run: _analyse(run, skill, batch, about())


async def _analyse(
    run: Run, skill: SkillDocument, batch: Minibatch, about: tuple[str, ...]
) -> Patch | None:
    """One analyst's patch.

    Args:
        about: what it reads besides the skill, the hints and the trajectories.
    """
    mode = mode_of(run)
    quoted = [t.task.id for t in batch.trajectories] if may_quote(run) else []
    shown = [
        trajectory_text(run.benchmark, trajectory, number)
        for number, trajectory in enumerate(batch.trajectories, 1)
    ]
    budget = run.most_edits
    document = skill_text(skill)
    told = (document, *about, hints_text(run.hints), quoting_text(quoted), *shown)
    user = "\n\n".join(part for part in told if part)
    prompt = PROMPTS[batch.source] + mode.suffix
    question = Question(
        prompt, user, mode.analysis[batch.source], "reflect", budget, shared=len(document)
    )
    question = asking_for_files(question, skill)
    answer = await ask(run, skill_aware(question, run.config.optimizer, batch.source))
    if answer is None:
        return None
    edits = of_files(answer.proposed(batch.source, len(batch.trajectories)), skill)
    patch = Patch(edits, answer.reasoning, batch.source, answer.patterns)
    patch = with_claims(run, replace(patch, notes=notes_in(answer)), batch)
    keep_patch(run, run.of_round(f"patches/{batch.name}.json"), patch)
    return patch


def _memory(run: Run, lessons: Sequence[Lesson]) -> str:
    """What analysts read of earlier proposals, by `optimizer.rejected_memory`."""
    if run.config.optimizer.rejected_memory == "step":
        return lessons_text(lessons)
    return refuted_text(run.refuted, [edit for lesson in lessons for edit in lesson.vetoed])
