"""Learning rate: how many edits a step may apply, by the schedule or as the optimizer sees fit."""

from __future__ import annotations

import json
from collections.abc import Sequence

from skillopt_cli.core.edits import Patch
from skillopt_cli.core.events import LearningRateChosen
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.stages.ask import Question, ask
from skillopt_cli.stages.prompt_text import lessons_text, listed, skill_text
from skillopt_cli.stages.rewrite_schemas import Rate
from skillopt_cli.stages.run import RateWish, Run


async def learning_rate(
    run: Run, skill: SkillDocument, merged: Patch, lessons: Sequence[Lesson]
) -> int | None:
    """The most edits to apply, None for all of them.

    With `optimizer.lr_control_mode: autonomous` the optimizer decides, within the edits there are;
    where it gives no usable answer, the schedule does.
    """
    scheduled = run.step.edit_budget if run.step else None
    if run.config.optimizer.rate_control != "autonomous" or not merged.edits:
        return scheduled
    wish = await run.variants.rate(run, skill, merged, lessons)
    chosen = _chosen(run.number, wish, len(merged.edits), scheduled)
    text = json.dumps(chosen.record, ensure_ascii=False, indent=2) + "\n"
    run.keep("lr_decision.json", text)
    run.emit(chosen)
    return chosen.applied


async def rate_with_model(
    run: Run, skill: SkillDocument, merged: Patch, lessons: Sequence[Lesson]
) -> RateWish | None:
    """What the optimizer wants, in view of the edits and of how earlier ones fared."""
    scheduled = run.step.edit_budget if run.step else None
    hint = f"The schedule would apply at most {scheduled}. " if scheduled is not None else ""
    parts = [
        skill_text(skill),
        lessons_text(lessons),
        f"## Proposed edits\n{hint}There are {len(merged.edits)}:\n{listed(merged.edits)}",
    ]
    user = "\n\n".join(part for part in parts if part)
    answer = await ask(run, Question("learning_rate", user, Rate, "learning_rate"))
    if answer is None:
        return None
    return RateWish(
        answer.learning_rate, answer.reasoning, answer.confidence, tuple(answer.risk_notes)
    )


def _chosen(
    step: int, wish: RateWish | None, available: int, scheduled: int | None
) -> LearningRateChosen:
    if wish is None:
        applied = available if scheduled is None else min(scheduled, available)
        return LearningRateChosen(step, applied, None, available, clamped=False)
    applied = max(0, min(wish.edits, available))
    return LearningRateChosen(
        step=step,
        applied=applied,
        asked=wish.edits,
        available=available,
        clamped=applied != wish.edits,
        reasoning=wish.reasoning,
        confidence=wish.confidence,
        risk_notes=wish.risk_notes,
    )
