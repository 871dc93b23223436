"""Attempting tasks: concurrently, through the journal, each scored or declared broken."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from skillopt_cli.core.errors import (
    BudgetExhausted,
    EpisodeFailed,
    FatalBackendError,
    RequestRefused,
    ServiceDown,
    TransientError,
)
from skillopt_cli.core.events import Degraded, RolloutFinished, StageName
from skillopt_cli.core.formatting import safe_name
from skillopt_cli.core.plugin_values import instance
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.secrets import hidden
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import CUT_SHORT, NO_ANSWER, Attempt, Message, Task
from skillopt_cli.ports import Referenced
from skillopt_cli.stages.concurrency import side_by_side
from skillopt_cli.stages.judging import judged
from skillopt_cli.stages.run import Run

_FEW = 4
"""Attempts that a service may all leave without an answer and still not count as down."""


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


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt to make.

    Attributes:
        skill: as the target reads it.
    """

    skill: SkillDocument
    task: Task
    purpose: Purpose


async def attempt_each(
    run: Run,
    skill: SkillDocument,
    tasks: Sequence[Task],
    purpose: Purpose,
    take: Callable[[Trajectory], bool],
) -> None:
    """Attempt tasks with one skill; as `attempt_jobs`."""
    sent = skill.sent
    jobs = [Job(sent, task, purpose) for task in tasks]
    await attempt_jobs(run, jobs, lambda job, trajectory: take(trajectory))


async def attempt_jobs(
    run: Run, jobs: Sequence[Job], take: Callable[[Job, Trajectory], bool | None]
) -> None:
    """Make attempts in order, `run.workers` at a time, handing each to `take` when it ends.

    Those of all stages at work share the places; see `Overlap`.

    Once `take` returns False no further one is begun; those in flight still end and are journaled.
    Memory does not grow with the number of jobs beyond one results row each.

    Raises:
        ServiceDown: a model service answered none of the attempts, which are more than a few, nor
            one with another text.
    """
    queue = iter(enumerate(jobs))
    rows: dict[int, str] = {}
    wanted = True
    empty: Counter[str] = Counter()
    unanswered = 0

    async def worker() -> None:
        nonlocal wanted, unanswered
        for place, job in queue:
            async with run.place():
                if not wanted:
                    return
                trajectory = await attempt(run, job.skill, job.task, job.purpose)
            rows[place] = _row(run, trajectory)
            empty[trajectory.attempt.error] += 1
            unanswered += trajectory.attempt.service_failed
            wanted = take(job, trajectory) is not False and wanted

    await side_by_side(worker() for _ in range(min(run.config.run.workers, len(jobs))))
    for why in (CUT_SHORT, NO_ANSWER):
        if empty[why]:
            reason = f"{empty[why]} of {len(rows)} attempts: {why}"
            run.emit(Degraded(jobs[0].purpose.stage, reason))
    results: dict[str, str] = {job.purpose.folder: "" for job in jobs}
    for place in sorted(rows):
        results[jobs[place].purpose.folder] += f"{rows[place]}\n"
    for folder, text in results.items():
        run.keep(f"{folder}/results.jsonl", text)
    if unanswered == len(rows) > _FEW and await _is_down(run, jobs[0]):
        # A step recorded now would keep a resumed run from making these attempts.
        ((reason, _),) = empty.most_common(1)
        raise ServiceDown(
            f"a model service answered none of {len(rows)} attempts in {jobs[0].purpose.stage},"
            f" most often: {reason.rstrip('.')}"
        )


def keep_results(run: Run, folder: str, trajectories: Iterable[Trajectory]) -> None:
    """Write attempts that no target made as the `results.jsonl` of a folder."""
    rows = (f"{_row(run, trajectory)}\n" for trajectory in trajectories)
    run.keep(f"{folder}/results.jsonl", "".join(rows))


async def _is_down(run: Run, job: Job) -> bool:
    """Whether a service leaves another text unanswered too, so that no skill is the cause."""
    # Of this place alone: the journal would answer for a text that was sent before.
    other = SkillDocument(f"# Check of {run.folder}/{job.purpose.folder}\n")
    return (await _make(run, other, job.task, job.purpose)).attempt.service_failed


async def attempt(run: Run, skill: SkillDocument, task: Task, purpose: Purpose) -> Trajectory:
    """One attempt, from the journal when it is there. A failed service makes it broken."""
    key = rollout_key(run, skill, task, purpose.draw)
    await run.store.fetch("rollout", key)
    known = run.store.recall(key, task)
    trajectory = known or await _make(run, skill, task, purpose)
    copy = f"{purpose.folder}/{safe_name(task.id)}"
    if trace := trajectory.attempt.trace:
        # Before the journal knows the attempt: from then on it is not made again.
        run.keep(f"{copy}.trace.jsonl", trace)
        trajectory = replace(trajectory, attempt=replace(trajectory.attempt, trace=""))
    if known is None and not trajectory.broken:
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
        *(() if run.scored else ("unscored",)),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _given_up(run: Run, task: Task, why: str) -> Score:
    """The score of an attempt without an answer, with what would have been right."""
    benchmark = run.benchmark
    expected = benchmark.expected(task) if isinstance(benchmark, Referenced) else ()
    return Score(0.0, 0.0, why or "no answer was given", expected)


async def _make(run: Run, skill: SkillDocument, task: Task, purpose: Purpose) -> Trajectory:
    brief = run.benchmark.brief(task).drawn(purpose.draw, purpose.stage)
    try:
        made = await run.attempt_runner.attempt(task, brief, skill)
    except EpisodeFailed as error:
        return _unscored(run, task, Attempt(""), f"its surroundings failed: {error.message}")
    # A backend and an episode may be a plug-in's as well.
    try:
        made = hidden(instance(made, Attempt, "what it returned").checked(), run.hide)
    except TypeError as error:
        return _unscored(run, task, Attempt(""), f"the target `{run.target.name}` failed: {error}")
    if made.ending == "broken":
        return Trajectory(task, made, None)
    if not run.scored:
        return Trajectory(task, made, None, unscored=True)
    return await _scored(run, task, made, purpose)


async def _scored(run: Run, task: Task, made: Attempt, purpose: Purpose) -> Trajectory:
    """An attempt with its score; broken where the scorer or the judge failed."""
    if made.ending == "gave_up":
        return Trajectory(task, made, _given_up(run, task, made.error))
    try:
        if run.judged is not None:
            score = await judged(run, run.judged, task, made, purpose.stage)
        else:
            score = await run.benchmark.score(task, made)
    except (FatalBackendError, BudgetExhausted):
        raise
    except (TransientError, RequestRefused) as error:
        made = replace(made, service_failed=isinstance(error, TransientError))
        return _unscored(run, task, made, f"the judge gave no verdict: {error}")
    # A scorer may be a plug-in's and fail in any way; that is no evidence about the answer, so the
    # attempt is broken, never wrong (method, decision 2).
    except Exception as error:
        return _unscored(run, task, made, f"the scorer of `{run.benchmark.name}` failed: {error!r}")
    if not isinstance(score, Score):
        reason = f"the scorer of `{run.benchmark.name}` failed: it returned {score!r}, not a Score"
        return _unscored(run, task, made, reason)
    return Trajectory(task, made, hidden(score, run.hide))


def _unscored(run: Run, task: Task, made: Attempt, reason: str) -> Trajectory:
    reason = " ".join(run.hide(reason).split())
    return Trajectory(task, replace(made, ending="broken", error=reason), None)


def _row(run: Run, trajectory: Trajectory) -> str:
    score, made = trajectory.score, trajectory.attempt
    # What a target was sent may hold more: an agent's prompt begins with how to work.
    question = run.hide(run.benchmark.brief(trajectory.task).prompt)
    return json.dumps(
        {
            "id": trajectory.task.id,
            "task_type": trajectory.task.kind,
            "question": question,
            "expected": _expected(run, trajectory),
            "hard": score.hard if score else None,
            "soft": score.soft if score else None,
            "predicted_answer": made.answer,
            "fail_reason": made.error or (score.feedback if score and trajectory.failed else ""),
            "agent_ok": not trajectory.broken,
            "ending": made.ending,
        },
        ensure_ascii=False,
    )


def _expected(run: Run, trajectory: Trajectory) -> tuple[str, ...]:
    """The references, for people; a score of an attempt that gave up has none."""
    if run.referenced:
        return run.referenced.expected(trajectory.task)
    return trajectory.score.expected if trajectory.score else ()


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
