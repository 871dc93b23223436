"""What a session makes of its caps: what it keeps for the final test, and how it ends at one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from skillopt_cli.config import RunConfig
from skillopt_cli.core.caps import Reserve, Work, cap_flag
from skillopt_cli.core.errors import BudgetExhausted
from skillopt_cli.core.events import RunStarted
from skillopt_cli.core.formatting import count
from skillopt_cli.core.plan import TrainPlan
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Task
from skillopt_cli.stages import Run
from skillopt_cli.stages.attempts import rollout_key


def arms(run: Run, seed: SkillDocument, state: TrainState) -> dict[str, SkillDocument]:
    """The skills of the final test by label; none where that is turned off."""
    lasting = lasting_arms(run, seed)
    if not lasting:
        return {}
    return {"seed": seed, "best": state.best.skill, "final": state.current.skill} | lasting


def lasting_arms(run: Run, seed: SkillDocument) -> dict[str, SkillDocument]:
    """Those of them that are known before training."""
    evaluation = run.config.evaluation
    if not evaluation.eval_test:
        return {}
    return {"seed": seed} | ({"no_skill": SkillDocument("")} if evaluation.eval_no_skill else {})


def reserve_for(run: Run, seed: SkillDocument) -> Reserve:
    """What the final test may take, beside what baseline and one step may take.

    Best and final skill may be other texts by then and count in full; of the seed, and of no skill,
    only what is not measured yet does.
    """
    evaluation = run.config.evaluation
    if not (evaluation.eval_test or run.confirmation):
        return Reserve()
    tested = [] if not evaluation.eval_test else run.splits["test"]
    lasting = lasting_arms(run, seed).values()
    selection = len(run.splits["selection"])
    return Reserve(
        last=Work(
            untested(run, lasting)
            + unconfirmed(run, [seed])
            + 2 * len(tested)
            + len(run.confirmation)
        ),
        first=first_work(run.config, run.plan, selection, asks=run.optimizer is not None),
    )


def first_work(config: RunConfig, plan: TrainPlan, selection: int, *, asks: bool) -> Work:
    """What baseline and one step may take.

    Args:
        selection: tasks of that split.
        asks: whether the optimizer is a model.
    """
    step = min(plan.per_step, plan.train_size)
    analysts = math.ceil(step / config.gradient.minibatch_size) if asks else 0
    return Work(selection + step + selection, analysts)


def untested(run: Run, skills: Iterable[SkillDocument]) -> int:
    """Attempts at test tasks that the journal lacks; equal texts are attempted once."""
    return _lacking(run, skills, run.splits["test"])


def unconfirmed(run: Run, skills: Iterable[SkillDocument]) -> int:
    """Attempts at the tasks set aside for the verdict that the journal lacks."""
    return _lacking(run, skills, run.confirmation)


def _lacking(run: Run, skills: Iterable[SkillDocument], tasks: Iterable[Task]) -> int:
    texts = {skill.sent.digest: skill.sent for skill in skills}
    return sum(
        run.store.recall(rollout_key(run, text, task, draw=0), task) is None
        for task in tasks
        for text in texts.values()
    )


def only_training_left(run: Run, seed: SkillDocument) -> bool:
    """Whether a training has steps to do, and nothing else could be done for it now."""
    state = run.store.load_state()
    if state is None:
        return True
    if run.nothing_to_gain(state) or state.done >= run.plan.total:
        return False
    left = untested(run, arms(run, seed, state).values())
    return left + unconfirmed(run, (seed, state.best.skill)) == 0


def exhausted_after(
    run: Run, error: BudgetExhausted, started: RunStarted, *, resumable: bool
) -> BudgetExhausted:
    """The error with how far the run came, whether it was tested, and what takes it further."""
    flag = cap_flag(error.cap)
    hint = f"evaluate again with a higher {flag}"
    if resumable:
        hint = f"`skillopt resume {started.run_id} {flag} N` goes on up to a higher N"
    extent = ""
    if started.total_steps:
        state = run.store.load_state()
        extent = f" after {count(state.done if state else 0, 'step')}{_untested_words(run, state)}"
    return BudgetExhausted(f"{error.message}{extent}", hint, cap=error.cap)


def _untested_words(run: Run, state: TrainState | None) -> str:
    """What the final test of a stopped training lacks, after a semicolon; empty where nothing."""
    if not run.config.evaluation.eval_test:
        return ""
    n = len(run.splits["test"])
    left = untested(run, [state.best.skill]) if state else n
    if not left:
        return ""
    return f"; the final test {'was not made' if left == n else 'is not complete'}"
