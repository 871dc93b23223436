"""What the optimizer must answer in the modes that rewrite the skill instead of editing it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from skillopt_cli.core.edits import REWRITE, SUGGEST, Edit, Rewrite, Source
from skillopt_cli.stages.answer_schemas import (
    Contract,
    FailurePattern,
    Proposing,
    TaskIds,
    Text,
)


def _lines(value: object) -> object:
    """Models like to answer one line where a list is asked for."""
    if isinstance(value, str):
        return [line for line in value.splitlines() if line.strip()]
    return value


Lines = Annotated[list[Text], BeforeValidator(_lines)]


class Suggestion(Contract):
    """One thing to change, in words."""

    title: Text = Field("", description="what it is about, in a few words")
    instruction: Text = Field(description="what the skill should say or stop saying")
    support: int = Field(0, ge=0, description="how many of the trajectories call for it")
    tasks: TaskIds = Field(default_factory=list, description="ids of those tasks")
    evidence: Text = Field("", description="what was seen in them, in one sentence")

    def edit(self, source: Source) -> Edit:
        """The suggestion as a value of the core."""
        edit = Edit(SUGGEST, self.instruction, self.title, self.support, source, self.evidence)
        return replace(edit, tasks=tuple(self.tasks))


class Suggestions(Proposing):
    """Suggestions for the rewrite of the skill."""

    suggestions: list[Suggestion]

    def proposed(self, source: Source, support: int) -> tuple[Edit, ...]:
        """The suggestions, each with its own support."""
        return tuple(suggestion.edit(source) for suggestion in self.suggestions)


class FailureSuggestions(Suggestions):
    """The analyst's suggestions on a minibatch of failures."""

    failure_summary: list[FailurePattern] = Field(default_factory=list)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The failure patterns in words."""
        return tuple(pattern.words for pattern in self.failure_summary)


class SuccessSuggestions(Suggestions):
    """The analyst's suggestions on a minibatch of successes."""

    success_patterns: list[str] = Field(default_factory=list)


class NewSkill(Proposing):
    """A whole new skill; an empty text leaves the skill as it is."""

    change_summary: Lines = Field(default_factory=list, description="what changed, a line each")
    new_skill: Text = Field(description="the whole text, from its first line to its last")

    def proposed(self, source: Source, support: int) -> tuple[Edit, ...]:
        """The new text as one edit."""
        if not self.new_skill.strip():
            return ()
        changes = "\n".join(" ".join(line.split()) for line in self.change_summary)
        return (Edit(REWRITE, self.new_skill, "", support, source, changes),)

    @property
    def rewrite(self) -> Rewrite:
        """The new text as a value of the core."""
        return Rewrite(self.new_skill, tuple(self.change_summary), self.reasoning)


class FailureRewrite(NewSkill):
    """The analyst's new skill after a minibatch of failures."""

    failure_summary: list[FailurePattern] = Field(default_factory=list)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The failure patterns in words."""
        return tuple(pattern.words for pattern in self.failure_summary)


class SuccessRewrite(NewSkill):
    """The analyst's new skill after a minibatch of successes."""

    success_patterns: list[str] = Field(default_factory=list)


class Rate(Contract):
    """How many edits to apply in a step."""

    learning_rate: int = Field(ge=0, description="edits to apply, 0 to apply none")
    reasoning: Text = ""
    confidence: float = Field(0.5, ge=0, le=1)
    risk_notes: Lines = Field(default_factory=list)
