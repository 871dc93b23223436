"""What the optimizer must answer, as types. Their JSON schemas are part of every request."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.edits import OP_ALIASES, OPS, Edit, Source
from skillopt_cli.core.skill import MARKER


def _name_op(value: object) -> object:
    """The operation that is meant; a name that means none stays as it is written."""
    if not isinstance(value, str):
        return value
    name = re.sub("[- ]", "_", value.strip().lower())
    name = OP_ALIASES.get(name, name)
    return name if name in OPS else value


def _text(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("holds half of a surrogate pair") from None
    return value


def _without_markers(value: str) -> str:
    if MARKER.search(value):
        raise ValueError("must not hold a region marker")
    return value


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _index(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _ids(value: object) -> object:
    """Ids as texts; models like to write a number, or one id where a list is asked for."""
    listed = value if isinstance(value, list) else [value]
    return [str(each) for each in listed if isinstance(each, str | int)]


Text = Annotated[str, BeforeValidator(_text)]
Unasked = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]
"""A text that a model may give although it was not asked for it."""
TaskIds = Annotated[list[Text], BeforeValidator(_ids)]
Said = Annotated[str, Field(min_length=1), AfterValidator(_said)]


class Contract(BaseModel):
    """An answer of the optimizer.

    Unknown keys are ignored: models like to add some, and to write null for what they leave out.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {k: v for k, v in value.items() if v is not None or k not in optional}


class ProposedEdit(Contract):
    """One edit, as the optimizer writes it."""

    op: Annotated[str, BeforeValidator(_name_op)] = Field(
        description="append, insert_after, replace or delete"
    )
    target: Text = Field("", description="text that stands exactly once in the skill")
    content: Text = Field("", description="the new text")
    support: int = Field(0, ge=0, description="how many of the trajectories call for this edit")
    tasks: TaskIds = Field(default_factory=list, description="ids of those tasks")
    evidence: Text = Field("", description="what was seen in them, in one sentence")
    file: SkipJsonSchema[Unasked] = ""

    def edit(self, source: Source) -> Edit:
        """The edit as a value of the core."""
        edit = Edit(self.op, self.content, self.target, self.support, source, self.evidence)
        file = "" if self.file == SKILL_FILE else self.file
        return replace(edit, tasks=tuple(self.tasks), file=file)


class FailurePattern(Contract):
    """A way in which several trajectories failed."""

    failure_type: Text
    count: int = Field(0, ge=0)
    description: Text = ""

    @property
    def words(self) -> str:
        """The pattern in one line."""
        return f"{self.failure_type}: {self.description}" if self.description else self.failure_type


class Proposing(Contract):
    """An answer that proposes something, whatever the update mode."""

    reasoning: Text = ""

    @property
    def patterns(self) -> tuple[str, ...]:
        """Failure patterns in words, for later steps. Successes name none."""
        return ()

    @abstractmethod
    def proposed(self, source: Source, support: int) -> tuple[Edit, ...]:
        """What is proposed, as edits. `support` is the trajectories it all rests on."""


class Editing(Proposing):
    """An answer that proposes edits."""

    edits: list[ProposedEdit]

    def proposed(self, source: Source, support: int) -> tuple[Edit, ...]:
        """The edits, each with its own support."""
        return tuple(edit.edit(source) for edit in self.edits)


class Analysis(Editing):
    """An analyst's answer on a minibatch."""


class FailureAnalysis(Analysis):
    """The analyst's answer on a minibatch of failures."""

    failure_summary: list[FailurePattern] = Field(default_factory=list)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The failure patterns in words."""
        return tuple(pattern.words for pattern in self.failure_summary)


class SuccessAnalysis(Analysis):
    """The analyst's answer on a minibatch of successes."""

    success_patterns: list[str] = Field(default_factory=list)


class Merge(Editing):
    """One patch out of several."""


class Consolidation(Contract):
    """An appendix's notes in fewer or shorter words."""

    reasoning: Text = ""
    notes: list[Annotated[Text, AfterValidator(_without_markers)]]


class Ranking(Contract):
    """The edits to keep, most useful first, as indices into the given list."""

    reasoning: Text = ""
    selected_indices: list[Annotated[int, BeforeValidator(_index)]]


class Guidance(Contract):
    """What the slow update writes into its region."""

    reasoning: Text = ""
    slow_update_content: Annotated[Said, AfterValidator(_without_markers)]


class Notes(Contract):
    """The optimizer's notes for later epochs."""

    reasoning: Text = ""
    meta_skill_content: Said
