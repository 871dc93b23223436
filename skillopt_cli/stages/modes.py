"""Update modes: what each asks of the optimizer, and how the answer becomes a candidate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from skillopt_cli.core.edits import Candidate, Patch, Source, UpdateMode
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.answer_schemas import FailureAnalysis, Merge, Proposing, SuccessAnalysis
from skillopt_cli.stages.rewrite import apply_chosen, rewrite_from_suggestions, take_merged
from skillopt_cli.stages.rewrite_schemas import (
    FailureRewrite,
    FailureSuggestions,
    NewSkill,
    SuccessRewrite,
    SuccessSuggestions,
    Suggestions,
)
from skillopt_cli.stages.run import Run


@dataclass(frozen=True, slots=True)
class Mode:
    """An update mode.

    Attributes:
        suffix: of the names of its prompts.
        analysis: contract of an analyst, by what it reads.
        merge: contract of a merge.
        update: makes the candidate of the chosen patch.
    """

    suffix: str
    analysis: Mapping[Source, type[Proposing]]
    merge: type[Proposing]
    update: Callable[[Run, SkillDocument, Patch], Awaitable[Candidate]]


MODES: Mapping[UpdateMode, Mode] = {
    "patch": Mode(
        "", {"failure": FailureAnalysis, "success": SuccessAnalysis}, Merge, apply_chosen
    ),
    "rewrite_from_suggestions": Mode(
        "_rewrite",
        {"failure": FailureSuggestions, "success": SuccessSuggestions},
        Suggestions,
        rewrite_from_suggestions,
    ),
    "full_rewrite_minibatch": Mode(
        "_full",
        {"failure": FailureRewrite, "success": SuccessRewrite},
        NewSkill,
        take_merged,
    ),
}


def mode_of(run: Run) -> Mode:
    """The run's update mode."""
    return MODES[run.config.optimizer.skill_update_mode]


async def update_with_model(run: Run, skill: SkillDocument, chosen: Patch) -> Candidate:
    """The candidate, in the way of the run's mode."""
    return await mode_of(run).update(run, skill, chosen)
