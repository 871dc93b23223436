"""Update, with a model: apply the edits, ask for one rewrite, or take the merged one."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_cli.core.edits import (
    Candidate,
    Edit,
    EditOutcome,
    Patch,
    Rewrite,
    apply_edits,
    refuse,
)
from skillopt_cli.core.rewrite import adopt, sort_suggestions
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.ask import Question, Unanswered, ask_or_why
from skillopt_cli.stages.prompt_text import edits_block, skill_text
from skillopt_cli.stages.rewrite_schemas import NewSkill
from skillopt_cli.stages.run import Run


async def apply_chosen(run: Run, skill: SkillDocument, chosen: Patch) -> Candidate:
    """The chosen edits, applied one by one."""
    return applied(run, skill, chosen.edits)


def applied(run: Run, skill: SkillDocument, edits: Sequence[Edit]) -> Candidate:
    """The candidate of some edits under the run's settings."""
    append = run.config.optimizer.append_unmatched
    return apply_edits(skill, edits, append_unmatched=append)


async def rewrite_from_suggestions(run: Run, skill: SkillDocument, chosen: Patch) -> Candidate:
    """One new text that follows the chosen suggestions, which share its fate."""
    usable, others = sort_suggestions(chosen.edits)
    if not usable:
        return Candidate(skill, others)
    user = f"{skill_text(skill)}\n\n## Suggestions\n{edits_block(usable)}"
    answer = await ask_or_why(run, Question("rewrite", user, NewSkill, "update"))
    if isinstance(answer, Unanswered):
        wished = tuple(EditOutcome(edit, "applied") for edit in usable)
        return refuse(skill, Candidate(skill, wished + others), answer.reason)
    made = adopt(skill, answer.rewrite, usable)
    return Candidate(made.skill, made.outcomes + others, made.rewrite, made.refused)


async def take_merged(run: Run, skill: SkillDocument, chosen: Patch) -> Candidate:
    """The merged text. Where merging failed there are several: the best supported one is taken."""
    if not chosen.edits:
        return Candidate(skill)
    best = max(chosen.edits, key=lambda edit: edit.support)
    rewrite = Rewrite(best.content, tuple(best.evidence.splitlines()), chosen.reasoning)
    made = adopt(skill, rewrite, [best])
    reason = "one rewrite is taken per step"
    others = tuple(EditOutcome(e, "not_selected", reason) for e in chosen.edits if e is not best)
    return Candidate(made.skill, made.outcomes + others, made.rewrite, made.refused)
