"""A session: open and check backends, train or evaluate, state the ending whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from skillopt_cli.backends.budget import Budget
from skillopt_cli.core.errors import (
    BackendUnusable,
    BudgetExhausted,
    Indecisive,
    NoImprovement,
    SkillOptError,
)
from skillopt_cli.core.events import (
    Degraded,
    PreflightPassed,
    Role,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
)
from skillopt_cli.core.score import Measured
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Split
from skillopt_cli.engine.evaluate import beats, evaluate, measure_arms, most_often
from skillopt_cli.engine.loop import train
from skillopt_cli.engine.preflight import (
    check_answers,
    check_attempts,
    check_judges,
    expects_files,
)
from skillopt_cli.engine.spending import arms, only_training_left, reserve_for, told, untested
from skillopt_cli.ports import AgentBackend, ChatBackend, Judged
from skillopt_cli.stages import Run


@dataclass(frozen=True, slots=True)
class Session:
    """What a run needs to be carried out.

    Attributes:
        seed: the skill training starts from, or the one to evaluate.
        started: the fact that opens the run; `done` is filled in from the checkpoint.
        chats: the model of each role, not behind the journal, to be opened and checked.
        budget: what all calls of the run pass.
        checks: who to ask in place of it in that check, where it shall be tried less often.
        warnings: what to say at the start.
        steering: what a replayed run was told, to be stated as well.
        trial: the target in that check, where it is a program that no call to a model can check.
    """

    run: Run
    seed: SkillDocument
    started: RunStarted
    chats: Mapping[Role, ChatBackend]
    budget: Budget
    checks: Mapping[Role, ChatBackend] = field(default_factory=dict)
    warnings: tuple[Degraded, ...] = ()
    steering: tuple[RunEvent, ...] = ()
    trial: AgentBackend | None = None


async def train_session(session: Session) -> int:
    """Train, test, and say how it ended. Returns the exit code of a run that came to its end.

    Raises:
        SkillOptError: the run ended before its plan; a `RunFailed` fact was stated.
    """
    async with _opened(session) as run:
        state = await _trained(session)
        await _tested(session, state)
        code = ending(run, session.seed, state)
        best = state.best.mean(run.metric)
        run.emit(RunFinished(state.done, state.best_step, best, code))
    return code


async def _trained(session: Session) -> TrainState:
    """The end of the training.

    Raises:
        BudgetExhausted: a cap stopped it. What was kept of that for the final test went into a test
            of the last checkpoint.
    """
    run, budget = session.run, session.budget
    try:
        async with budget.within(reserve_for(run, session.seed)):
            return await train(run, session.seed)
    except BudgetExhausted:
        state = run.store.load_state()
        if state is not None:
            try:
                await _tested(session, state)
            except BudgetExhausted as again:
                run.emit(Degraded("test", f"it is not complete: {again.message}"))
        raise


async def _tested(session: Session, state: TrainState) -> None:
    """The final test; begun only where a call is left for it, or none is needed.

    Raises:
        BudgetExhausted: a cap stopped it.
    """
    run, budget = session.run, session.budget
    found = arms(run, session.seed, state)
    refusal = budget.refusal()
    if refusal is not None and untested(run, found.values()):
        raise refusal
    async with budget.within():
        await measure_arms(run, found)


async def evaluate_session(session: Session, split: Split) -> Measured:
    """Measure `session.seed` on a split.

    Raises:
        Indecisive: too few attempts could be scored for the number to mean anything.
    """
    async with _opened(session) as run:
        async with session.budget.within():
            measured = await evaluate(run, session.seed, split)
        if measured.coverage < run.rule.min_coverage:
            raise Indecisive(
                f"only {measured.scored} of {measured.n} attempts could be scored{most_often(run)}",
                "mend the cause of the broken attempts and evaluate again",
            )
        run.emit(RunFinished(0, 0, measured.mean(run.metric), 0))
    return measured


def ending(run: Run, seed: SkillDocument, state: TrainState) -> int:
    """The exit code of a finished training."""
    if state.gates and state.undecided == state.gates:
        return Indecisive.exit_code
    if run.config.run.require_improvement and not beats(run, state.best, seed):
        return NoImprovement.exit_code
    return 0


@asynccontextmanager
async def _opened(session: Session) -> AsyncIterator[Run]:
    """The run with its backends open and checked; a failure inside is stated, then passed on."""
    run = session.run
    training = session.started.total_steps > 0
    run.emit(session.started)
    for said in (*session.warnings, *session.steering):
        run.emit(said)
    try:
        _refuse_if_used_up(session, training=training)
        async with AsyncExitStack() as stack:
            for chat in session.chats.values():
                if isinstance(chat, AbstractAsyncContextManager):
                    await stack.enter_async_context(chat)
            async with session.budget.within():
                await _check_models(session)
            yield run
    except BudgetExhausted as reached:
        error = told(run, reached, session.started.run_id, training=training)
        run.emit(_failed(error, resumable=training))
        raise error from None
    except SkillOptError as error:
        run.emit(_failed(error, resumable=training))
        raise
    except asyncio.CancelledError:
        run.emit(RunFailed("Interrupted", "stopped by the user", "", 130, resumable=training))
        raise
    # Everything else is our bug: it is stated for the record and passed on as it is.
    except Exception as error:
        run.emit(RunFailed(type(error).__name__, "internal error", "", 1, resumable=training))
        raise


def _failed(error: SkillOptError, *, resumable: bool) -> RunFailed:
    name = type(error).__name__
    cap = error.cap if isinstance(error, BudgetExhausted) else ""
    return RunFailed(name, error.message, error.hint, error.exit_code, resumable, cap)


def _refuse_if_used_up(session: Session, *, training: bool) -> None:
    """Begin nothing that a cap would stop at its first call.

    Raises:
        BudgetExhausted: it would.
    """
    refusal = session.budget.refusal()
    if refusal is None and training and only_training_left(session.run, session.seed):
        refusal = session.budget.refusal(reserve_for(session.run, session.seed))
    if refusal is not None:
        raise refusal


async def _check_models(session: Session) -> None:
    run = session.run
    selection = run.splits["selection"]
    filed = expects_files(run.benchmark.brief(selection[0]))
    for role, chat in session.chats.items():
        asked = session.checks.get(role, chat)
        if role == "target" and session.trial is not None and not filed:
            await check_attempts(session.trial, session.seed, run.executor)
        elif role == "judge" and isinstance(run.benchmark, Judged):
            await check_judges(asked, run.benchmark, selection)
        else:
            await check_answers(asked, role)
        if (cap := session.budget.uncounted(role)) is not None:
            raise BackendUnusable(
                f"the {role} model does not say how many tokens a call takes, which run.{cap.name}"
                " counts",
                f"leave run.{cap.name} out, or count with `run.max_calls=N`",
            )
        run.emit(PreflightPassed(role, chat.name))
