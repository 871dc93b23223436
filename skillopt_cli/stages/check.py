"""Check: try the kept edits on the step's solved tasks, and remove those that break any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from skillopt_cli.core.edits import Edit, Trial
from skillopt_cli.core.events import PassingChecked
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Task
from skillopt_cli.core.verification import Draft, harmful, noise, trials_by_edit
from skillopt_cli.stages.attempts import Job, Purpose, attempt_jobs
from skillopt_cli.stages.run import Run, announced
from skillopt_cli.stages.verify import text_with


async def check(run: Run, trajectories: Sequence[Trajectory], draft: Draft) -> Draft:
    """The draft without the edits that break a task which the current skill solved in the step.

    Tasks that fail with all edits are attempted without each of them. One that is solved without
    more than half of them is noise. An edit is removed if a task is solved without it, also without
    it and another edit, and fails with it alone: a task that was solved by noise fails with any
    text. The gate decides on what a single edit breaks.

    Args:
        trajectories: of the batch, under the current skill.
    """
    edits, skill = draft.patch.edits, draft.base
    solved = [t.task for t in trajectories if t.score is not None and not t.failed]
    if not (run.config.optimizer.check_passing and edits and solved):
        return draft
    together = await _attempt(run, {"together": (await text_with(run, skill, edits), solved)})
    scored = together["together"]
    broken = [task for task in solved if task.id in scored and scored[task.id].failed]
    broke = tuple(task.id for task in broken)
    ignored: tuple[str, ...] = ()
    blamed: dict[Edit, tuple[str, ...]] = {}
    if broken and len(edits) > 1:
        without = await _solved_without(run, skill, edits, broken)
        ignored = noise([without[edit] for edit in edits], broke)
        suspects = {
            edit: [t for t in broken if t.id in without[edit] and t.id not in ignored]
            for edit in edits
        }
        blamed = await _breaking(run, skill, suspects)
    removed = tuple(edit for edit in edits if edit in blamed)
    run.emit(PassingChecked(run.number, len(scored), broke, ignored, removed))
    known = trials_by_edit(draft.patch.trials)
    outcomes = tuple(
        harmful(known.get(edit.identity, Trial(edit)), blamed[edit], len(scored))
        for edit in removed
    )
    patch = replace(
        draft.patch,
        edits=tuple(edit for edit in edits if edit not in blamed),
        set_aside=draft.patch.set_aside + outcomes,
    )
    draft = replace(draft, patch=patch)
    return draft if removed else draft.attempted(scored.values(), draft.skill)


async def _solved_without(
    run: Run, skill: SkillDocument, edits: Sequence[Edit], broken: Sequence[Task]
) -> dict[Edit, set[str]]:
    """By edit, the broken tasks that are solved when it alone is left out."""
    texts: dict[str, tuple[SkillDocument, Sequence[Task]]] = {}
    for number, edit in enumerate(edits, 1):
        others = [each for each in edits if each is not edit]
        texts[f"without_{number:02d}"] = (await text_with(run, skill, others), broken)
    seen = await _attempt(run, texts)
    return {
        edit: {task for task, t in marks.items() if not t.failed}
        for edit, marks in zip(edits, seen.values(), strict=True)
    }


async def _breaking(
    run: Run, skill: SkillDocument, suspects: dict[Edit, list[Task]]
) -> dict[Edit, tuple[str, ...]]:
    """The suspected edits with the tasks they break; none without any."""
    edits = list(suspects)
    texts: dict[str, tuple[SkillDocument, Sequence[Task]]] = {}
    named: dict[int, Edit] = {}
    for number, (edit, tasks) in enumerate(suspects.items()):
        if tasks:
            other = edits[(number + 1) % len(edits)]
            rest = [each for each in edits if each not in (edit, other)]
            texts[f"alone_{number:02d}"] = (await text_with(run, skill, [edit]), tasks)
            texts[f"neither_{number:02d}"] = (await text_with(run, skill, rest), tasks)
            named[number] = edit
    seen = await _attempt(run, texts)
    broken = {
        edit: tuple(
            task
            for task, t in seen[f"alone_{number:02d}"].items()
            if t.failed
            and (neither := seen[f"neither_{number:02d}"].get(task)) is not None
            and not neither.failed
        )
        for number, edit in named.items()
    }
    return {edit: tasks for edit, tasks in broken.items() if tasks}


async def _attempt(
    run: Run, texts: dict[str, tuple[SkillDocument, Sequence[Task]]]
) -> dict[str, dict[str, Trajectory]]:
    """The scored trajectories by label and task, in the order of both; all attempted at once."""
    jobs = [
        Job(sent, task, Purpose("check", f"check/{label}", label, run.draw))
        for label, (sent, tasks) in (
            (label, (t.sent, tasks)) for label, (t, tasks) in texts.items()
        )
        for task in tasks
    ]
    seen: dict[tuple[str, str], Trajectory] = {}

    def take(job: Job, trajectory: Trajectory) -> None:
        if trajectory.score is not None:
            seen[job.purpose.label, job.task.id] = trajectory

    if jobs:
        with announced(run, "check", len(jobs)):
            await attempt_jobs(run, jobs, take)
    return {label: dict(_in_order(label, tasks, seen)) for label, (_, tasks) in texts.items()}


def _in_order(
    label: str, tasks: Sequence[Task], seen: dict[tuple[str, str], Trajectory]
) -> Iterable[tuple[str, Trajectory]]:
    return ((t.id, seen[label, t.id]) for t in tasks if (label, t.id) in seen)
