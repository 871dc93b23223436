"""Skill-aware reflection: analysts separate missing rules from ignored ones.

Off, nothing here changes a question: prompts and schemas stay byte for byte what they are.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TypeVar, cast

from pydantic import Field, create_model

from skillopt_cli.config.sections import OptimizerConfig
from skillopt_cli.core.edits import Source
from skillopt_cli.stages.answer_schemas import Contract, Text
from skillopt_cli.stages.ask import Question

C = TypeVar("C", bound=Contract)

PROMPT = "skill_aware"


class Noting(Contract):
    """What skill-aware reflection adds to an analyst's answer."""

    appendix_notes: list[Text] = Field(
        default_factory=list, description="rules the skill states and the model did not follow"
    )


def wants_notes(settings: OptimizerConfig, source: Source) -> bool:
    """Whether the analysts of failures, or of successes, may give notes."""
    if not settings.use_skill_aware_reflection:
        return False
    return source == "failure" or settings.skill_aware_appendix_source == "both"


def skill_aware(question: Question[C], settings: OptimizerConfig, source: Source) -> Question[C]:
    """The analyst's question, which also asks for notes where they are wanted."""
    if not wants_notes(settings, source):
        return question
    additions = (*question.additions, PROMPT)
    return replace(question, contract=_noting(question.contract), additions=additions)


def notes_in(answer: Contract) -> tuple[str, ...]:
    """The notes of an answer, as they are written; empty when none were asked for."""
    return tuple(answer.appendix_notes) if isinstance(answer, Noting) else ()


@cache
def _noting(contract: type[C]) -> type[C]:
    """The contract with notes. Made once: its schema is cached by identity."""
    made = create_model(f"SkillAware{contract.__name__}", __base__=(contract, Noting))
    return cast("type[C]", made)
