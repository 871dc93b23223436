"""Reflect: read minibatches of trajectories, failures and successes apart, and propose patches."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from skillopt_cli.core.edits import Patch, Source
from skillopt_cli.core.events import PatchesProposed
from skillopt_cli.core.minibatches import Minibatch, MinibatchSorter
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson, Reflection
from skillopt_cli.stages.leak_check import guarded
from skillopt_cli.stages.run import Run, announced


def minibatches(run: Run, trajectories: Sequence[Trajectory]) -> list[Minibatch]:
    """Failures, then successes, cut by `gradient.minibatch_size`."""
    sorter = _sorter(run)
    full = [filled for t in trajectories if (filled := sorter.take(t))]
    return sorted([*full, *sorter.rest], key=lambda batch: (batch.source, batch.index))


def _sorter(run: Run) -> MinibatchSorter:
    gradient = run.config.gradient
    sources: list[Source] = ["failure"] if gradient.failure_only else ["failure", "success"]
    return MinibatchSorter(gradient.minibatch_size, sources)


def early_reader(
    run: Run, skill: SkillDocument, lessons: Sequence[Lesson]
) -> Callable[[Trajectory], None] | None:
    """What lets analysts begin with each minibatch that the trajectories of a rollout fill.

    None where nothing begins before its turn. Hints from then on are for the next step.
    """
    read_early, sorter = run.variants.read_early, _sorter(run)
    if read_early is None or run.overlap is None:
        return None

    def read(trajectory: Trajectory) -> None:
        if filled := sorter.take(trajectory):
            hinted = replace(run, hints=run.control.hints(run.number))
            read_early(hinted, skill, filled, lessons)

    return read


async def reflect(
    run: Run,
    skill: SkillDocument,
    trajectories: Sequence[Trajectory],
    lessons: Sequence[Lesson],
) -> Reflection:
    """Patches from the chosen analyst; an analyst without a usable answer brings none.

    Analysts read the hints that were given for this step.
    """
    run = replace(run, hints=run.control.hints(run.number))
    with announced(run, "reflect", len(minibatches(run, trajectories))):
        reflection = await run.variants.reflect(run, skill, trajectories, lessons)
        reflection = guarded(run, skill, trajectories, reflection)
    patches = reflection.patches
    failures = sum(p.source == "failure" for p in patches)
    run.emit(
        PatchesProposed(
            step=run.number,
            asked=reflection.asked,
            failure_patches=failures,
            success_patches=len(patches) - failures,
            edits=sum(len(p.edits) + len(p.set_aside) for p in patches),
            round=run.round,
            unknown_tasks=sum(p.unknown_tasks for p in patches),
        )
    )
    return reflection


def with_claims(run: Run, patch: Patch, batch: Minibatch) -> Patch:
    """The patch with the tasks each edit is written for, of those its analyst was shown.

    Ids that were not shown are dropped and counted. Where edits are verified, one without any is
    for the whole minibatch. An id is also understood by the number of its trajectory.
    """
    shown = [trajectory.task.id for trajectory in batch.trajectories]
    known = {str(number): task for number, task in enumerate(shown, 1)} | {t: t for t in shown}
    edits, unknown = [], 0
    for edit in patch.edits:
        named = dict.fromkeys(known[task] for task in edit.tasks if task in known)
        unknown += sum(task not in known for task in edit.tasks)
        tasks = tuple(named) or (tuple(shown) if run.verifies else ())
        edits.append(replace(edit, tasks=tasks))
    return replace(patch, edits=tuple(edits), unknown_tasks=unknown)


def keep_patch(run: Run, path: str, patch: Patch) -> None:
    """A copy of a patch for people."""
    document = asdict(replace(patch, set_aside=(), trials=()))
    for later in ("set_aside", "trials", "unknown_tasks"):
        del document[later]  # what is proposed and chosen here is reviewed and tried later
    for name in ("edits", "dropped"):
        document[name] = [edit.record for edit in getattr(patch, name)]
    notes = document.pop("notes")
    if notes:
        document["appendix_notes"] = notes
    run.keep(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
