"""A session: open and check backends, train or evaluate, state the ending whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from skillopt_cli.backends.middleware.budget import Budget
from skillopt_cli.core.errors import (
    BackendUnusable,
    BudgetExhausted,
    Indecisive,
    NoImprovement,
    ServiceDown,
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
from skillopt_cli.core.formatting import count
from skillopt_cli.core.repeats import Repeated
from skillopt_cli.core.score import Measured, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Attempt, TaskSet
from skillopt_cli.engine.caps import (
    arms,
    exhausted_after,
    only_training_left,
    reserve_for,
    unconfirmed,
    untested,
)
from skillopt_cli.engine.evaluate import (
    beats,
    evaluate,
    evaluate_arms,
    measure_arms,
    most_often,
    prune_measured,
)
from skillopt_cli.engine.loop import train
from skillopt_cli.engine.preflight import (
    check_answers,
    check_attempts,
    check_judges,
    expects_files,
)
from skillopt_cli.engine.verdict import reach_verdict
from skillopt_cli.ports import AgentBackend, ChatBackend, Judged, lifetime
from skillopt_cli.stages import Run, answer, prune


@dataclass(frozen=True, slots=True)
class Session:
    """What a run needs to be carried out.

    Attributes:
        seed: the skill training starts from, or the one to evaluate.
        started: the fact that opens the run; `done` is filled in from the checkpoint.
        chats: the model of each role, not behind the journal, to be opened and checked.
        budget: what all calls of the run pass.
        checks: the models to call in that check instead, with fewer retries.
        warnings: what to say at the start.
        steering: that of a replayed run, to be stated as well.
        trial: the target in that check, where it is a program that no call to a model can check.
        runs_program: whether the target is a program, whose change a resume has to allow.
        drifted: whether changed conditions were allowed since the last checkpoint.
        resumable: whether its folder holds all that is needed to take it up again.
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
    runs_program: bool = False
    drifted: bool = False
    resumable: bool = True


async def train_session(session: Session) -> int:
    """Train, test and state the ending. Returns the exit code of a finished run.

    Raises:
        SkillOptError: the run ended before its plan; a `RunFailed` fact was stated.
    """
    async with _opened(session) as run:
        state = await _trained(session)
        await _tested(session, state)
        code = ending(run, session.seed, state)
        best = state.best.mean(run.metric)
        await _finish(run, RunFinished(state.done, state.best_step, best, code, state.best_epoch))
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
            trained = await train(run, session.seed, drifted=session.drifted)
            return await _pruned(run, trained)
    except BudgetExhausted:
        state = run.store.load_state()
        if state is not None:
            try:
                await _tested(session, state)
            except BudgetExhausted as again:
                run.emit(Degraded("test", f"it is not complete: {again.message}"))
        raise


async def _pruned(run: Run, state: TrainState) -> TrainState:
    """The state with its best text pruned, where that is asked for and was not done yet."""
    if not run.config.optimizer.prune or state.pruned:
        return state
    state = replace(state, best=await prune(run, state.best), pruned=True)
    run.checkpoint(state)
    return state


async def _tested(session: Session, state: TrainState) -> None:
    """The final test and the verdict; begun only where a call is left for it, or none is needed.

    Raises:
        BudgetExhausted: a cap stopped it.
    """
    run, budget = session.run, session.budget
    found, best = arms(run, session.seed, state), state.best.skill
    refusal = budget.refusal()
    left = untested(run, found.values()) + unconfirmed(run, (session.seed, best))
    if refusal is not None and left:
        raise refusal
    async with budget.within():
        tests = await measure_arms(run, found)
        await reach_verdict(run, session.seed, best, tests)


async def evaluate_session(session: Session, split: TaskSet) -> Measured:
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
                "remove the cause of the broken attempts and evaluate again",
            )
        await _finish(run, RunFinished(0, 0, measured.mean(run.metric), 0))
    return measured


async def answer_session(session: Session, keep: Callable[[Mapping[str, Attempt]], None]) -> None:
    """Attempt every task once with `session.seed`, for the answers alone.

    Args:
        keep: gets the attempts by task id, where any was made, also if the run ends early.

    Raises:
        Indecisive: as many attempts are broken as would make a measurement mean nothing.
    """
    made: dict[str, Attempt] = {}

    def take(trajectory: Trajectory) -> None:
        made[trajectory.task.id] = trajectory.attempt

    async with _opened(session) as run:
        try:
            async with session.budget.within():
                await answer(run, session.seed, take)
        finally:
            if made:
                keep(made)
        n, broken = len(made), sum(attempt.ending == "broken" for attempt in made.values())
        if n - broken < run.rule.min_coverage * n:
            raise Indecisive(
                f"{broken} of {count(n, 'attempt')} could not be made{most_often(run)}",
                f"remove the cause of the broken attempts; {_again(session)} tries them again",
            )
        await _finish(run, RunFinished(0, 0, None, 0))


async def compare_session(
    session: Session, arms: Mapping[str, SkillDocument], split: TaskSet, repeats: int
) -> dict[str, Repeated]:
    """Measure several skills on a split in one pass.

    Raises:
        Indecisive: too few attempts with an arm could be scored for its number to mean anything.
    """
    async with _opened(session) as run:
        async with session.budget.within():
            results = await evaluate_arms(run, arms, split, repeats)
        for name, found in results.items():
            if found.coverage < run.rule.min_coverage:
                raise Indecisive(
                    f"only {found.scored} of {found.attempts} attempts with the arm `{name}` could"
                    f" be scored{most_often(run)}",
                    f"remove the cause of the broken attempts; {_again(session)} tries them again",
                )
        values = (found.averaged.mean(run.metric) for found in results.values())
        best = max((value for value in values if value is not None), default=None)
        await _finish(run, RunFinished(0, 0, best, 0))
    return results


def _again(session: Session) -> str:
    return f"`skillopt resume {session.started.run_id}`"


async def prune_session(session: Session) -> Measured:
    """Prune `session.seed` by the selection split.

    Raises:
        Indecisive: too few of its attempts could be scored to compare anything with it.
    """
    async with _opened(session) as run:
        async with session.budget.within():
            pruned = await prune_measured(run, session.seed)
        await _finish(run, RunFinished(0, 0, pruned.mean(run.metric), 0))
    return pruned


async def _finish(run: Run, fact: RunFinished) -> None:
    """State the ending, after which nothing is stated."""
    await run.store.flush()
    run.emit(fact)


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
            stack.push_async_callback(run.store.flush)
            if run.elsewhere is not None:
                await stack.enter_async_context(lifetime(run.elsewhere))
            if run.overlap is not None:
                await stack.enter_async_context(run.overlap)
            for chat in session.chats.values():
                await stack.enter_async_context(lifetime(chat))
            if run.config.run.preflight:
                async with session.budget.within():
                    await _check_models(session)
            yield run
    except (BudgetExhausted, ServiceDown, Indecisive) as reached:
        error = _advised(session, reached)
        run.emit(_failed(error, resumable=session.resumable))
        raise error from None
    except SkillOptError as error:
        run.emit(_failed(error, resumable=session.resumable))
        raise
    except asyncio.CancelledError:
        resumable = session.resumable
        run.emit(RunFailed("Interrupted", "stopped by the user", "", 130, resumable=resumable))
        raise
    # Everything else is our bug: it is stated for the record and passed on as it is.
    except Exception as error:
        name = type(error).__name__
        run.emit(RunFailed(name, "internal error", "", 1, resumable=session.resumable))
        raise


def _advised(session: Session, error: BudgetExhausted | ServiceDown | Indecisive) -> SkillOptError:
    """The error with what takes the run further."""
    if isinstance(error, BudgetExhausted):
        return exhausted_after(session.run, error, session.started, resumable=session.resumable)
    if isinstance(error, Indecisive):
        changes = session.resumable and session.runs_program
        more = " (a changed program needs `--allow-drift`)" if changes else ""
        return Indecisive(error.message, f"{error.hint}{more}")
    hint = f"once it answers again, {_again(session)} makes these attempts again"
    return ServiceDown(error.message, hint if session.resumable else "")


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
    tasks = run.tasks("all")
    filed = expects_files(run.benchmark.brief(tasks[0]))
    for role, chat in session.chats.items():
        asked = session.checks.get(role, chat)
        if role == "target" and session.trial is not None and not filed:
            await check_attempts(session.trial, session.seed, run.executor, run.keep)
        elif role == "judge" and isinstance(run.benchmark, Judged):
            await check_judges(asked, run.benchmark, tasks)
        else:
            await check_answers(asked, role)
        if (cap := session.budget.uncounted(role)) is not None:
            raise BackendUnusable(
                f"the {role} model does not say how many tokens a call takes, which run.{cap.name}"
                " counts",
                f"leave run.{cap.name} out, or count with `run.max_calls=N`",
            )
        run.emit(PreflightPassed(role, chat.name))
