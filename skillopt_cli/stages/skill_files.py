"""Skill folders: what is asked of the optimizer where it may change files beside SKILL.md.

Where it may not, nothing here changes a question: prompts and schemas stay byte for byte as they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

from pydantic import Field, create_model

from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.edits import Edit
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.answer_schemas import Contract, Editing, ProposedEdit, Text
from skillopt_cli.stages.ask import Question

C = TypeVar("C", bound=Contract)

PROMPT = "skill_files"


class FiledEdit(ProposedEdit):
    """An edit that may name its file."""

    file: Text = Field("", description=f"path of the file to change; empty for {SKILL_FILE}")


def of_files(edits: Sequence[Edit], skill: SkillDocument) -> tuple[Edit, ...]:
    """The edits as they are meant for this skill.

    Where no file was asked for, the name of one counts if the skill has it.
    """
    folder = skill.folder
    if folder is not None and folder.more_editable:
        return tuple(edits)
    return tuple(
        edit if folder and folder.file(edit.file.removeprefix("./")) else replace(edit, file="")
        for edit in edits
    )


def asking_for_files(question: Question[C], skill: SkillDocument) -> Question[C]:
    """The question, in which edits may name a file where the skill has others to change.

    Rewrites change SKILL.md only.
    """
    if skill.folder is None or not skill.folder.more_editable:
        return question
    if not issubclass(question.contract, Editing):
        return question
    additions = (*question.additions, PROMPT)
    return replace(question, contract=_filed(question.contract), additions=additions)


@cache
def _filed(contract: type[C]) -> type[C]:
    """The contract with files. Made once: its schema is cached by identity."""
    edits = (list[FiledEdit], ...)
    return create_model(f"Filed{contract.__name__}", __base__=contract, edits=edits)
