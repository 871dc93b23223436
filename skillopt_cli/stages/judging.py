"""Judging: scores that a model gives, each verdict journaled, a share of them given twice."""

from __future__ import annotations

import hashlib

from skillopt_cli.core.errors import ServerFailed
from skillopt_cli.core.events import JudgedTwice
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, ChatRequest, Message, Task
from skillopt_cli.ports import Judged
from skillopt_cli.stages.run import Run

STAGE = "judge"
TRIES = 2
"""A verdict that cannot be read is asked for once more."""
AGAIN = Message("user", "That could not be read. Give the verdict alone, in the form asked for.")


async def judged(run: Run, benchmark: Judged, task: Task, made: Attempt, stage: str) -> Score:
    """The judge's score of an attempt, or the benchmark's own where no judge is needed.

    A share of `evaluation.judge_twice` is judged a second time; the first verdict counts, and
    whether they agree is stated.

    Raises:
        TransientError, RequestRefused: there is no verdict.
        FatalBackendError: no call to the judge can succeed.
    """
    asked = benchmark.ask_judge(task, made)
    if isinstance(asked, Score):
        return asked
    score = await _verdict(run, benchmark, task, made, asked)
    if _share(task, made) < run.config.evaluation.judge_twice:
        second = await _verdict(run, benchmark, task, made, asked, draw=1)
        agree = second.hard == score.hard
        run.emit(JudgedTwice(step=run.number, stage=stage, task=task.id, agree=agree))
    return score


async def _verdict(  # noqa: PLR0913 - what is judged, and which draw of the judge
    run: Run,
    benchmark: Judged,
    task: Task,
    made: Attempt,
    asked: tuple[Message, ...],
    draw: int = 0,
) -> Score:
    if run.judge is None:
        raise ValueError(f"benchmark {benchmark.name!r} is judged, and the run has no judge")
    messages, turn, tries = asked, 0, 0
    while tries < TRIES:
        request = ChatRequest(messages, stage=STAGE, draw=draw, turn=turn)
        # What the journal holds was a try of an earlier process, and is none of this one's.
        known = run.store.recall_call(request.key(run.judge.fingerprint)) is not None
        reply = await run.judge.chat(request)
        score = benchmark.hear_judge(task, made, reply.text)
        if score is not None:
            return score
        messages = (*asked, Message("assistant", reply.text), AGAIN)
        turn, tries = turn + 1, tries + (not known)
    said = " ".join(reply.text.split())[:200]
    raise ServerFailed(f'its reply could not be read: "{said}"')


def _share(task: Task, made: Attempt) -> float:
    """A number in [0, 1) that depends on task and answer only."""
    text = f"{task.digest} {made.answer}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2**64
