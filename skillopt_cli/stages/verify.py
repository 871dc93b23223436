"""Verify: try each chosen edit on the failed tasks it was written for, before the gate.

An edit that solves too few of them is not chosen. With `optimizer.verify: joint` all edits are
tried together, which costs less and shows less of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt_cli.core.edits import Candidate, Edit, EditOutcome, Identity, Patch, Trial
from skillopt_cli.core.events import EditsVerified
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.verification import (
    VAGUE,
    Draft,
    few_passed,
    needed,
    open_tasks,
    ranked,
    trials_by_edit,
    unverified,
)
from skillopt_cli.core.worked_examples import quotes
from skillopt_cli.stages.attempts import Job, Purpose, attempt_jobs
from skillopt_cli.stages.concurrency import side_by_side
from skillopt_cli.stages.run import Run, announced
from skillopt_cli.stages.structure import sound

_NOTHING_NEW = "it was tried on all of its failed tasks before"
Claims = Mapping[Identity, tuple[str, ...]]
"""Failing tasks that each edit is tried on."""


@dataclass(frozen=True, slots=True)
class _Screening:
    """One text that is tried on tasks, for the edits in it; `claims` names the tasks of each."""

    skill: SkillDocument
    edits: tuple[Edit, ...]
    claims: Claims
    label: str


async def verify(run: Run, draft: Draft, chosen: Patch) -> Draft:
    """The draft with the edits of one more round: those that pass, within the learning rate.

    Without verification that is every chosen edit. Before another round, what failed is attempted
    again with the edits so far.
    """
    draft = draft.chosen(await _verified(run, draft, chosen) if run.verifies else chosen)
    if run.round == run.config.optimizer.rounds or draft.complete:
        return draft
    return await follow_up(run, draft)


async def _verified(run: Run, draft: Draft, chosen: Patch) -> Patch:
    """The chosen patch with the edits that pass alone, or together, on their tasks.

    An edit of successes has no failed task to be tried on, and passes after all others.
    """
    edits = ranked(chosen.edits)
    base = draft.skill.digest
    claims = {e.identity: open_tasks(e, draft.failing, run.refuted, base) for e in edits}
    alone, useless = await _apply_alone(run, draft.skill, [e for e in edits if claims[e.identity]])
    if run.config.optimizer.verify == "joint":
        trials = await _try_together(run, draft, list(alone), claims)
    else:
        trials = await _try_alone(run, draft, alone, claims)
    unclaimed = [edit for edit in edits if not claims[edit.identity]]
    passed = [trial.edit for trial in trials if trial.passed]
    passed += [edit for edit in unclaimed if edit.source == "success"]
    kept = passed[: draft.room]
    untried = [_untried(edit, draft) for edit in unclaimed if edit.source != "success"]
    run.emit(EditsVerified(run.number, run.round, tuple(trials), len(kept), len(untried)))
    outcomes = [
        *(unverified(trial) for trial in trials if not trial.passed),
        *untried,
        *useless,
    ]
    return replace(
        chosen,
        edits=tuple(kept),
        dropped=(*chosen.dropped, *passed[len(kept) :]),
        set_aside=(*chosen.set_aside, *outcomes),
        trials=tuple(trials),
    )


async def follow_up(run: Run, draft: Draft) -> Draft:
    """The draft with the tasks that still failed attempted again with the edits so far.

    An edit none of whose tasks is solved then is left out.
    """
    skill = await text_with(run, draft.base, draft.patch.edits)
    tasks = [trajectory.task for trajectory in draft.failing.values()]
    purpose = Purpose("verify", run.of_round("verify/with_edits"), draw=run.draw)
    again: list[Trajectory] = []

    def take(_: Job, trajectory: Trajectory) -> None:
        again.append(trajectory)

    with announced(run, "verify", len(tasks)):
        await attempt_jobs(run, [Job(skill.sent, task, purpose) for task in tasks], take)
    draft = draft.attempted(again, skill)
    confirmed = draft.confirmed()
    if confirmed.patch.edits == draft.patch.edits:
        return draft
    return replace(confirmed, skill=await text_with(run, draft.base, confirmed.patch.edits))


async def text_with(run: Run, skill: SkillDocument, edits: Sequence[Edit]) -> SkillDocument:
    """The skill with some edits, in the way of the run's update mode, before notes are written."""
    patch = Patch(tuple(edits))
    made = await sound(run, skill, await run.variants.update(run, skill, patch), edits)
    return made.skill


async def _apply_alone(
    run: Run, skill: SkillDocument, edits: Sequence[Edit]
) -> tuple[dict[Edit, Candidate], list[EditOutcome]]:
    """The candidate of each edit alone, and the outcomes of those that change nothing."""

    async def made(edit: Edit) -> Candidate:
        candidate = await run.variants.update(run, skill, Patch((edit,)))
        return await sound(run, skill, candidate, [edit])

    candidates = await side_by_side(made(edit) for edit in edits)
    alone: dict[Edit, Candidate] = {}
    useless: list[EditOutcome] = []
    for edit, candidate in zip(edits, candidates, strict=True):
        if candidate.applied:
            alone[edit] = candidate
        else:
            useless += candidate.outcomes
    return alone, useless


async def _try_alone(
    run: Run, draft: Draft, alone: Mapping[Edit, Candidate], claims: Claims
) -> list[Trial]:
    """The trial of each edit alone, on a few of its tasks.

    Where few edits pass, a search finds the tasks that the others solve, and they are tried on
    those. Of an edit that names many tasks, the search itself is the trial.
    """
    most = run.config.optimizer.verify_tasks
    vague = [edit for edit in alone if len(claims[edit.identity]) > VAGUE * most]
    others = {edit: made for edit, made in alone.items() if edit not in vague}
    trials = trials_by_edit(await _screen(run, draft, _each(others, claims, most, "alone")))
    if few_passed(list(trials.values())):
        failed = [trial.edit for trial in trials.values() if not trial.passed]
        found = {edit.identity: t for edit, t in (await _attributed(run, draft, failed)).items()}
        again = {edit: made for edit, made in others.items() if found.get(edit.identity)}
        trials |= trials_by_edit(await _screen(run, draft, _each(again, found, most, "again")))
    for edit, tasks in (await _attributed(run, draft, vague)).items():
        tried = tuple(task for task in draft.failing if not quotes(edit.content, task))
        trials[edit.identity] = Trial(edit, tried, tasks, joint=True, base=draft.skill.digest)
    return [trials[edit.identity] for edit in alone]


def _each(
    alone: Mapping[Edit, Candidate], named: Claims, most: int, label: str
) -> list[_Screening]:
    """Each edit in a text of its own, on the first `most` of its tasks."""
    few = {identity: tasks[:most] for identity, tasks in named.items()}
    return [
        _Screening(made.skill, (edit,), few, f"{label}_{number:02d}")
        for number, (edit, made) in enumerate(alone.items(), 1)
    ]


async def _attributed(run: Run, draft: Draft, edits: Sequence[Edit]) -> dict[Edit, tuple[str, ...]]:
    """The failing tasks that each edit solves, found without what the edits name.

    All edits together are tried on all failing tasks. For each task that this solves, a binary
    search finds the shortest prefix of the edits that solves it; its last edit is credited. That
    takes one attempt per task and halving, whatever the number of edits.
    """
    found: dict[Edit, tuple[str, ...]] = dict.fromkeys(edits, ())
    if not edits:
        return found
    every = dict.fromkeys(draft.failing, len(edits))
    spans = dict.fromkeys(
        sorted(await _solved_by_prefix(run, draft, edits, every)), (0, len(edits))
    )
    while cuts := {t: (low + high) // 2 for t, (low, high) in spans.items() if high - low > 1}:
        solved = await _solved_by_prefix(run, draft, edits, cuts)
        for task, cut in cuts.items():
            low, high = spans[task]
            spans[task] = (low, cut) if task in solved else (cut, high)
    for task, (low, _) in spans.items():
        if not quotes(edits[low].content, task):
            found[edits[low]] += (task,)
    return found


async def _solved_by_prefix(
    run: Run, draft: Draft, edits: Sequence[Edit], lengths: Mapping[str, int]
) -> set[str]:
    """The tasks that are solved with so many of the first edits."""
    screenings = []
    for length in sorted(set(lengths.values())):
        last = edits[length - 1]
        tasks = tuple(task for task, wanted in lengths.items() if wanted == length)
        text = await text_with(run, draft.skill, edits[:length])
        screenings.append(_Screening(text, (last,), {last.identity: tasks}, f"first_{length:02d}"))
    trials = await _screen(run, draft, screenings)
    return {task for trial in trials for task in trial.fixed}


async def _try_together(
    run: Run, draft: Draft, edits: Sequence[Edit], claims: Claims
) -> list[Trial]:
    """The trials of edits in one text, on all their tasks."""
    if not edits:
        return []
    text = await text_with(run, draft.skill, edits)
    return await _screen(run, draft, [_Screening(text, tuple(edits), claims, "together")])


async def _screen(run: Run, draft: Draft, screenings: Sequence[_Screening]) -> list[Trial]:
    """Every text on its tasks, all at once; one trial per edit, in order."""
    tasks = {task: trajectory.task for task, trajectory in draft.failing.items()}
    jobs: list[Job] = []
    for screening in screenings:
        folder = run.of_round(f"verify/{screening.label}")
        purpose = Purpose("verify", folder, screening.label, run.draw)
        wanted = dict.fromkeys(t for e in screening.edits for t in screening.claims[e.identity])
        sent = screening.skill.sent
        jobs += [Job(sent, tasks[task], purpose) for task in wanted]
    seen: dict[tuple[str, str], Trajectory] = {}

    def take(job: Job, trajectory: Trajectory) -> None:
        if trajectory.score is not None:
            seen[job.purpose.label, job.task.id] = trajectory

    if jobs:
        with announced(run, "verify", len(jobs)):
            await attempt_jobs(run, jobs, take)
    return [
        _trial(run, draft, edit, screening, seen)
        for screening in screenings
        for edit in screening.edits
    ]


def _trial(
    run: Run,
    draft: Draft,
    edit: Edit,
    screening: _Screening,
    seen: Mapping[tuple[str, str], Trajectory],
) -> Trial:
    label, together = screening.label, len(screening.edits) > 1
    tried = tuple(t for t in screening.claims[edit.identity] if (label, t) in seen)
    fixed = tuple(task for task in tried if not seen[label, task].failed)
    enough = needed(len(tried), run.config.optimizer.verify_share)
    return Trial(edit, tried, fixed, enough, joint=together, base=draft.skill.digest)


def _untried(edit: Edit, draft: Draft) -> EditOutcome:
    """The outcome of an edit that no failed task is left for to be tried on."""
    failed = [task for task in edit.tasks if task in draft.failing]
    if not failed:
        return EditOutcome(edit, "unverified", "it names no failed task to be tried on")
    quoted = all(quotes(edit.content, task) for task in failed)
    reason = "its only failed task is the one it quotes" if quoted else _NOTHING_NEW
    return EditOutcome(edit, "unverified", reason)
