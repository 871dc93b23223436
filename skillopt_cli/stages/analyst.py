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
from skillopt_cli.stages.material import hints_text, lessons_text, skill_text, trajectory_text
from skillopt_cli.stages.modes import mode_of
from skillopt_cli.stages.reflect import Minibatch, keep_patch, minibatches
from skillopt_cli.stages.run import Run
from skillopt_cli.stages.skill_aware import notes_in, skill_aware
from skillopt_cli.stages.skill_files import asking_for_files

PROMPTS: dict[Source, str] = {"failure": "analyst_error", "success": "analyst_success"}


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
    mode = mode_of(run)
    shown = [
        trajectory_text(run.benchmark, trajectory, number)
        for number, trajectory in enumerate(batch.trajectories, 1)
    ]
    budget = run.most_edits
    told = (skill_text(skill), lessons_text(lessons), hints_text(run.hints), *shown)
    user = "\n\n".join(part for part in told if part)
    prompt = PROMPTS[batch.source] + mode.suffix
    question = Question(prompt, user, mode.analysis[batch.source], "reflect", budget)
    question = asking_for_files(question, skill)
    answer = await ask(run, skill_aware(question, run.config.optimizer, batch.source))
    if answer is None:
        return None
    edits = answer.proposed(batch.source, len(batch.trajectories))
    patch = Patch(edits, answer.reasoning, batch.source, answer.patterns)
    patch = replace(patch, notes=notes_in(answer))
    keep_patch(run, f"patches/{batch.name}.json", patch)
    return patch
