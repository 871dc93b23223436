"""Rewrites: a whole new text from the optimizer, adopted whole or refused with a reason.

A rewrite may do anything to the text outside protected regions and nothing to the regions. What is
empty, unchanged or apparently cut off is a failed proposal, never a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillopt_cli.core.control_characters import control_in
from skillopt_cli.core.edits import (
    Candidate,
    Edit,
    EditOutcome,
    Rewrite,
    refuse,
    words_by_line,
)
from skillopt_cli.core.skill import MARKER, SkillDocument, restored

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


def adopt(skill: SkillDocument, rewrite: Rewrite, edits: Sequence[Edit]) -> Candidate:
    """The candidate of a rewrite that rests on `edits`, which all share its fate. Pure."""
    outcomes = tuple(EditOutcome(edit, "applied") for edit in edits)
    candidate = Candidate(restored(skill, rewrite.text), outcomes, rewrite)
    fault = rewrite_fault(skill, candidate.skill)
    return refuse(skill, candidate, fault) if fault else candidate


def rewrite_fault(skill: SkillDocument, rewritten: SkillDocument) -> str:
    """Why a rewritten text, its regions put back, is no candidate; empty when it is one."""
    if not rewritten.has_instructions:
        return "nothing would be left of the skill"
    if (control := control_in(rewritten.text)) and not control_in(skill.text):
        return f"the rewrite holds the control character {control}"
    # What was open before the rewrite is no sign that it was cut short.
    if has_open_fence(rewritten.body) and not has_open_fence(skill.body):
        return "the rewrite has an unclosed code fence"
    if words_by_line(rewritten.text) == words_by_line(skill.text):
        return "the rewrite equals the current skill"
    return ""


def has_open_fence(text: str) -> bool:
    """Whether a Markdown code fence is opened and not closed: a sign of a text cut short."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if found is None:
            continue
        run, rest = found.groups()
        if not fence:
            fence = "" if run[0] == "`" and "`" in rest else run
        elif run[0] == fence[0] and len(run) >= len(fence) and not rest.strip():
            fence = ""
    return bool(fence)


def sort_suggestions(edits: Sequence[Edit]) -> tuple[tuple[Edit, ...], tuple[EditOutcome, ...]]:
    """The suggestions worth a rewrite, and the outcomes of the others."""
    usable: dict[tuple[str, str, str], Edit] = {}
    refused: list[EditOutcome] = []
    for edit in edits:
        if not edit.content.strip():
            refused.append(EditOutcome(edit, "no_op", "the suggestion says nothing"))
        elif MARKER.search(edit.content):
            refused.append(EditOutcome(edit, "protected", "the suggestion holds a region marker"))
        elif edit.change in usable:
            refused.append(EditOutcome(edit, "duplicate", "an earlier suggestion says this"))
        else:
            usable[edit.change] = edit
    return tuple(usable.values()), tuple(refused)
