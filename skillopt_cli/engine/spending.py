"""What a session makes of its caps: what it keeps for the final test, and how it ends at one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from skillopt_cli.config import RunConfig
from skillopt_cli.core.caps import FLAGS, Reserve, Work
from skillopt_cli.core.errors import BudgetExhausted
from skillopt_cli.core.plan import TrainPlan
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState, stop_reason
from skillopt_cli.core.words import count
from skillopt_cli.stages import Run
from skillopt_cli.stages.attempts import rollout_key


def arms(run: Run, seed: SkillDocument, state: TrainState) -> dict[str, SkillDocument]:
    """The skills of the final test by label; none where that is turned off."""
    evaluation = run.config.evaluation
    if not evaluation.eval_test:
        return {}
    found = {"seed": seed, "best": state.best.skill, "final": state.current.skill}
    return found | ({"no_skill": SkillDocument("")} if evaluation.eval_no_skill else {})


def reserve_for(run: Run, seed: SkillDocument) -> Reserve:
    """What the final test may take, beside what baseline and one step may take.

    Best and final skill may be other texts by then and count in full; of the seed, and of no skill,
    only what is not measured yet does.
    """
    evaluation = run.config.evaluation
    if not evaluation.eval_test:
        return Reserve()
    lasting = [seed, *([SkillDocument("")] if evaluation.eval_no_skill else [])]
    selection = len(run.splits["selection"])
    return Reserve(
        last=Work(untested(run, lasting) + 2 * len(run.splits["test"])),
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
    texts = {skill.sent.digest: skill.sent for skill in skills}
    return sum(
        run.store.recall(rollout_key(run, text, task, draw=0), task) is None
        for text in texts.values()
        for task in run.splits["test"]
    )


def only_training_left(run: Run, seed: SkillDocument) -> bool:
    """Whether a training has steps to do, and nothing else could be done for it now."""
    state = run.store.load_state()
    if state is None:
        return True
    over = stop_reason(state, run.metric, run.config.evaluation.patience) is not None
    if over or state.done >= run.plan.total:
        return False
    return untested(run, arms(run, seed, state).values()) == 0


def told(run: Run, error: BudgetExhausted, run_id: str, *, training: bool) -> BudgetExhausted:
    """The error with how far the run came, and what takes it further."""
    flag = FLAGS[error.cap]
    if not training:
        hint = f"evaluate again with a higher {flag}"
        return BudgetExhausted(error.message, hint, cap=error.cap)
    state = run.store.load_state()
    steps = count(state.done if state else 0, "step")
    return BudgetExhausted(
        f"{error.message} after {steps}",
        f"`skillopt resume {run_id} {flag} N` goes on up to a higher N",
        cap=error.cap,
    )
