"""Judging: scores that a model gives, each verdict journaled, a share of them given twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from skillopt_cli.core.errors import ServerFailed
from skillopt_cli.core.events import JudgedTwice
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, ChatRequest, Message, Task
from skillopt_cli.ports import ChatBackend, Judged
from skillopt_cli.stages.run import Run

STAGE = "judge"
TRIES = 2
"""A verdict that cannot be read is asked for once more."""
AGAIN = Message("user", "That could not be read. Give the verdict alone, in the form asked for.")


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged.

    Attributes:
        asked: what a judge is asked of it.
        stage: what for, for the ledger.
        draw: which verdict of several on the same case.
    """

    task: Task
    made: Attempt
    asked: tuple[Message, ...]
    stage: str = STAGE
    draw: int = 0


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
    judge = run.judge
    if judge is None:
        raise ValueError(f"benchmark {benchmark.name!r} is judged, and the run has no judge")

    def known(request: ChatRequest) -> bool:
        return run.store.recall_call(request.key(judge.fingerprint)) is not None

    case = Case(task, made, asked)
    score = await verdict(judge, benchmark, case, known)
    if _share(task, made) < run.config.evaluation.judge_twice:
        second = await verdict(judge, benchmark, replace(case, draw=1), known)
        agree = second.hard == score.hard
        run.emit(JudgedTwice(step=run.number, stage=stage, task=task.id, agree=agree))
    return score


def _never(request: ChatRequest) -> bool:
    return False


async def verdict(
    judge: ChatBackend,
    benchmark: Judged,
    case: Case,
    known: Callable[[ChatRequest], bool] = _never,
) -> Score:
    """The score that a judge's reply means, which is asked for once more where it is unclear.

    Args:
        known: whether the journal holds a request: that was a try of an earlier process, and is
            none of this one's.

    Raises:
        ServerFailed: no reply could be read.
        TransientError, RequestRefused, FatalBackendError: as the judge does.
    """
    messages, turn, tries = case.asked, 0, 0
    while tries < TRIES:
        request = ChatRequest(messages, case.stage, draw=case.draw, turn=turn, shared=0)
        tried = not known(request)
        reply = await judge.chat(request)
        score = benchmark.hear_judge(case.task, case.made, reply.text)
        if score is not None:
            return score
        messages = (*case.asked, Message("assistant", reply.text), AGAIN)
        turn, tries = turn + 1, tries + tried
    said = " ".join(reply.text.split())[:200]
    if reply.finish == "length":
        raise ServerFailed(
            "its reply was cut before a verdict", "raise `model.judge.max_completion_tokens=N`"
        )
    raise ServerFailed(
        f'its reply could not be read: "{said}"',
        "choose another model with `model.judge.name=NAME`",
    )


def _share(task: Task, made: Attempt) -> float:
    """A number in [0, 1) that depends on task and answer only."""
    text = f"{task.digest} {made.answer}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2**64
