"""Attempting tasks: concurrently, through the journal, each scored or declared broken."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from skillopt_cli.core.errors import (
    BudgetExhausted,
    EpisodeFailed,
    FatalBackendError,
    RequestRefused,
    SkillOptError,
    TransientError,
)
from skillopt_cli.core.events import Degraded, RolloutFinished, StageName
from skillopt_cli.core.names import safe_name
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import CUT_SHORT, Attempt, Brief, Message, Task
from skillopt_cli.ports import Interactive, Judged
from skillopt_cli.stages.judging import judged
from skillopt_cli.stages.run import Run
from skillopt_cli.stages.surroundings import surroundings


@dataclass(frozen=True, slots=True)
class Purpose:
    """What attempts are made for.

    Attributes:
        folder: where copies for people go, relative to the step's folder.
        label: which arm of a comparison, such as "seed" in the test.
        draw: sample index of the target's behaviour; 0 when measuring, the step's seed in training.
    """

    stage: StageName
    folder: str
    label: str = ""
    draw: int = 0


async def attempt_each(
    run: Run,
    skill: SkillDocument,
    tasks: Sequence[Task],
    purpose: Purpose,
    take: Callable[[Trajectory], bool],
) -> None:
    """Attempt tasks in order, `run.workers` at a time, handing each to `take` when it ends.

    Once `take` returns False no further task is begun; those in flight still end and are journaled.
    Memory does not grow with the number of tasks beyond one results row each.
    """
    sent = skill.sent
    queue = iter(tasks)
    rows: dict[str, str] = {}
    wanted = True
    cut = 0

    async def worker() -> None:
        nonlocal wanted, cut
        for task in queue:
            if not wanted:
                return
            trajectory = await attempt(run, sent, task, purpose)
            rows[task.id] = _row(trajectory)
            cut += trajectory.attempt.error == CUT_SHORT
            wanted = take(trajectory) and wanted

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(run.config.run.workers, len(tasks))):
                group.create_task(worker())
    except ExceptionGroup as failures:
        raise first_cause(failures) from failures
    if cut:
        run.emit(Degraded(purpose.stage, f"{cut} of {len(rows)} attempts: {CUT_SHORT}"))
    ordered = [rows[task.id] for task in tasks if task.id in rows]
    run.keep(f"{purpose.folder}/results.jsonl", "".join(f"{row}\n" for row in ordered))


async def attempt(run: Run, skill: SkillDocument, task: Task, purpose: Purpose) -> Trajectory:
    """One attempt, from the journal when it is there. A failed service makes it broken."""
    key = rollout_key(run, skill, task, purpose.draw)
    known = run.store.recall(key, task)
    trajectory = known or await _make(run, skill, task, purpose)
    copy = f"{purpose.folder}/{safe_name(task.id)}"
    if trace := trajectory.attempt.trace:
        # Before the journal knows the attempt: from then on it is not made again.
        run.keep(f"{copy}.trace.jsonl", trace)
        trajectory = replace(trajectory, attempt=replace(trajectory.attempt, trace=""))
    if known is None and trajectory.score is not None:
        run.store.remember(key, trajectory)
    run.keep(f"{copy}.json", _document(trajectory))
    score = trajectory.score
    run.emit(
        RolloutFinished(
            step=run.number,
            stage=purpose.stage,
            task=task.id,
            hard=score.hard if score else None,
            soft=score.soft if score else None,
            ending=trajectory.attempt.ending,
            recalled=known is not None,
            error=trajectory.attempt.error,
            label=purpose.label,
            skill_loaded=trajectory.attempt.skill_loaded,
        )
    )
    return trajectory


def rollout_key(run: Run, skill: SkillDocument, task: Task, draw: int) -> str:
    """What decides an attempt's outcome: text, task, target, scorer and draw (decision 5)."""
    parts = (
        skill.digest,
        task.digest,
        run.target.fingerprint,
        run.benchmark.name,
        run.benchmark.version,
        str(draw),
        *((run.judge.fingerprint,) if run.judge is not None else ()),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


async def _make(run: Run, skill: SkillDocument, task: Task, purpose: Purpose) -> Trajectory:
    brief = run.benchmark.brief(task).drawn(purpose.draw, purpose.stage)
    try:
        made = await _attempted(run, skill, task, brief)
    except EpisodeFailed as error:
        return _unscored(task, Attempt(""), f"its surroundings failed: {error.message}")
    if made.ending == "broken":
        return Trajectory(task, made, None)
    if made.ending == "gave_up":
        return Trajectory(task, made, Score(0.0, 0.0, made.error or "no answer was given"))
    try:
        if isinstance(run.benchmark, Judged):
            score = await judged(run, run.benchmark, task, made, purpose.stage)
        else:
            score = await run.benchmark.score(task, made)
    except (FatalBackendError, BudgetExhausted):
        raise
    except (TransientError, RequestRefused) as error:
        return _unscored(task, made, f"the judge gave no verdict: {error}")
    # A scorer may be a plug-in's and fail in any way; that says nothing about the answer, so the
    # attempt is broken, never wrong (method, decision 2).
    except Exception as error:
        return _unscored(task, made, f"scorer failed: {error!r}")
    if not isinstance(score, Score):
        return _unscored(task, made, f"scorer failed: it returned {score!r}, not a Score")
    return Trajectory(task, made, score)


async def _attempted(run: Run, skill: SkillDocument, task: Task, brief: Brief) -> Attempt:
    """The target's attempt, with what it left behind where the benchmark has episodes."""
    if not isinstance(run.benchmark, Interactive):
        return await run.target.attempt(brief, skill, run.executor)
    async with surroundings(run.benchmark, task, run.executor) as episode:
        made = await run.target.attempt(replace(brief, episode=episode), skill, run.executor)
        if made.ending != "answered":
            return made
        return replace(made, outcome=await episode.outcome(made.answer))


def _unscored(task: Task, made: Attempt, reason: str) -> Trajectory:
    reason = " ".join(reason.split())
    return Trajectory(task, replace(made, ending="broken", error=reason), None)


def first_cause(failures: ExceptionGroup[Exception]) -> Exception:
    """The error to report of concurrent ones: a bug before anything else, else the first."""
    leaves: list[Exception] = []
    for failure in failures.exceptions:
        leaves.append(first_cause(failure) if isinstance(failure, ExceptionGroup) else failure)
    return next((e for e in leaves if not isinstance(e, SkillOptError)), leaves[0])


def _row(trajectory: Trajectory) -> str:
    score, made = trajectory.score, trajectory.attempt
    return json.dumps(
        {
            "id": trajectory.task.id,
            "task_type": trajectory.task.kind,
            "hard": score.hard if score else None,
            "soft": score.soft if score else None,
            "predicted_answer": made.answer,
            "fail_reason": made.error or (score.feedback if score and trajectory.failed else ""),
            "agent_ok": score is not None,
            "ending": made.ending,
        },
        ensure_ascii=False,
    )


def _document(trajectory: Trajectory) -> str:
    score, made = trajectory.score, trajectory.attempt
    usage = made.usage
    return json.dumps(
        {
            "task_id": trajectory.task.id,
            "task_type": trajectory.task.kind,
            "task_digest": trajectory.task.digest,
            "conversation": [_turn(message) for message in made.messages],
            "answer": made.answer,
            "ending": made.ending,
            "error": made.error,
            "hard": score.hard if score else None,
            "soft": score.soft if score else None,
            "feedback": score.feedback if score else "",
            **({"private": score.private.text} if score and score.private.text else {}),
            **({"outcome": made.outcome} if made.outcome else {}),
            **({} if made.skill_loaded is None else {"skill_loaded": made.skill_loaded}),
            "usage": {
                "calls": usage.calls,
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
            },
        },
        # On one line: the encoder that lays JSON out is many times slower, at every attempt.
        ensure_ascii=False,
    )


def _turn(message: Message) -> dict[str, object]:
    turn: dict[str, object] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        calls = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
        turn["tool_calls"] = calls
    if message.failed:
        turn["failed"] = True
    return turn
