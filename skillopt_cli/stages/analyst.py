"""Reflect, with a model: one analyst call per minibatch (paper, reflection; method, section 1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from skillopt_cli.core.edits import Patch, Source
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson, Reflection
from skillopt_cli.stages.ask import Question, ask
from skillopt_cli.stages.attempts import first_cause
from skillopt_cli.stages.contracts import Analysis, FailureAnalysis, SuccessAnalysis
from skillopt_cli.stages.material import lessons_text, skill_text, trajectory_text
from skillopt_cli.stages.reflect import Minibatch, keep_patch, minibatches
from skillopt_cli.stages.run import Run
from skillopt_cli.stages.skill_aware import notes_in, skill_aware

ANALYSTS: dict[Source, tuple[str, type[Analysis]]] = {
    "failure": ("analyst_error", FailureAnalysis),
    "success": ("analyst_success", SuccessAnalysis),
}


async def reflect_with_model(
    run: Run,
    skill: SkillDocument,
    trajectories: Sequence[Trajectory],
    lessons: Sequence[Lesson],
) -> Reflection:
    """Ask an analyst about every minibatch at once; answers keep the minibatches' order."""
    batches = minibatches(run, trajectories)
    try:
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(_analyse(run, skill, b, lessons)) for b in batches]
    except ExceptionGroup as failures:
        raise first_cause(failures) from failures
    patches = tuple(patch for call in calls if (patch := call.result()) is not None)
    return Reflection(patches, asked=len(batches))


async def _analyse(
    run: Run, skill: SkillDocument, batch: Minibatch, lessons: Sequence[Lesson]
) -> Patch | None:
    prompt, contract = ANALYSTS[batch.source]
    shown = [
        trajectory_text(run.benchmark, trajectory, number)
        for number, trajectory in enumerate(batch.trajectories, 1)
    ]
    budget = run.step.edit_budget if run.step else None
    user = "\n\n".join(part for part in (skill_text(skill), lessons_text(lessons), *shown) if part)
    question = Question(prompt, user, contract, "reflect", budget)
    answer = await ask(run, skill_aware(question, run.config.optimizer, batch.source))
    if answer is None:
        return None
    edits = [edit.edit(batch.source) for edit in answer.edits]
    patch = Patch(tuple(edits[:budget]), answer.reasoning, batch.source, answer.patterns)
    patch = replace(patch, notes=notes_in(answer))
    keep_patch(run, f"patches/{batch.name}.json", patch)
    return patch
