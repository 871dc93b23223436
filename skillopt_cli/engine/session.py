"""A session: open and check backends, train or evaluate, state the ending whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from skillopt_cli.core.errors import (
    BackendUnusable,
    Indecisive,
    NoImprovement,
    RequestRefused,
    SkillOptError,
    TransientError,
)
from skillopt_cli.core.events import PreflightPassed, Role, RunFailed, RunFinished, RunStarted
from skillopt_cli.core.score import Measured
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import ChatRequest, Message, Split
from skillopt_cli.engine.evaluate import evaluate, measure_arms, most_often
from skillopt_cli.engine.loop import train
from skillopt_cli.ports import ChatBackend
from skillopt_cli.stages import Run

PREFLIGHT = Message("user", "Reply with the single word: ok")


@dataclass(frozen=True, slots=True)
class Session:
    """What a run needs to be carried out.

    Attributes:
        seed: the skill training starts from, or the one to evaluate.
        started: the fact that opens the run; `done` is filled in from the checkpoint.
        chats: the model of each role, not behind the journal, to be opened and checked.
        checks: who to ask in place of it in that check, where it shall be tried less often.
    """

    run: Run
    seed: SkillDocument
    started: RunStarted
    chats: Mapping[Role, ChatBackend]
    checks: Mapping[Role, ChatBackend] = field(default_factory=dict)


async def train_session(session: Session) -> int:
    """Train, test, and say how it ended. Returns the exit code of a run that came to its end.

    Raises:
        SkillOptError: the run ended before its plan; a `RunFailed` fact was stated.
    """
    async with _opened(session) as run:
        state = await train(run, session.seed)
        if run.config.evaluation.eval_test:
            await measure_arms(run, _arms(run, session.seed, state))
        code = ending(run, state)
        best = state.best.mean(run.metric)
        run.emit(RunFinished(state.done, state.best_step, best, code))
    return code


async def evaluate_session(session: Session, split: Split) -> Measured:
    """Measure `session.seed` on a split.

    Raises:
        Indecisive: too few attempts could be scored for the number to mean anything.
    """
    async with _opened(session) as run:
        measured = await evaluate(run, session.seed, split)
        if measured.coverage < run.rule.min_coverage:
            raise Indecisive(
                f"only {measured.scored} of {measured.n} attempts could be scored{most_often(run)}",
                "mend the cause of the broken attempts and evaluate again",
            )
        run.emit(RunFinished(0, 0, measured.mean(run.metric), 0))
    return measured


def ending(run: Run, state: TrainState) -> int:
    """The exit code of a finished training."""
    if state.gates and state.undecided == state.gates:
        return Indecisive.exit_code
    if run.config.run.require_improvement and state.best_step == 0:
        return NoImprovement.exit_code
    return 0


def _arms(run: Run, seed: SkillDocument, state: TrainState) -> dict[str, SkillDocument]:
    arms = {"seed": seed, "best": state.best.skill, "final": state.current.skill}
    if run.config.evaluation.eval_no_skill:
        arms["no_skill"] = SkillDocument("")
    return arms


@asynccontextmanager
async def _opened(session: Session) -> AsyncIterator[Run]:
    """The run with its backends open and checked; a failure inside is stated, then passed on."""
    run = session.run
    training = session.started.total_steps > 0
    run.emit(session.started)
    try:
        async with AsyncExitStack() as stack:
            for chat in session.chats.values():
                if isinstance(chat, AbstractAsyncContextManager):
                    await stack.enter_async_context(chat)
            for role, chat in session.chats.items():
                await preflight(session.checks.get(role, chat), role)
                run.emit(PreflightPassed(role, chat.name))
            yield run
    except SkillOptError as error:
        name = type(error).__name__
        run.emit(RunFailed(name, error.message, error.hint, error.exit_code, resumable=training))
        raise
    except asyncio.CancelledError:
        run.emit(RunFailed("Interrupted", "stopped by the user", "", 130, resumable=training))
        raise
    # Everything else is our bug: it is stated for the record and passed on as it is.
    except Exception as error:
        run.emit(RunFailed(type(error).__name__, "internal error", "", 1, resumable=training))
        raise


async def preflight(chat: ChatBackend, role: Role) -> None:
    """One tiny call, before anything is spent.

    Raises:
        FatalBackendError: the model cannot be used; retries of transient failures are included.
    """
    try:
        await chat.chat(ChatRequest((PREFLIGHT,), stage="preflight"))
    except TransientError as error:
        raise BackendUnusable(
            f"the {role} model does not answer: {error.message}", error.hint
        ) from error
    except RequestRefused as error:
        raise BackendUnusable(
            f"the {role} model refuses a one-line request: {error.message}", error.hint
        ) from error
