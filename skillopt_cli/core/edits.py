"""Edits: exact, accountable changes to a skill document.

Every proposed edit ends in exactly one state (method, decision 4). Text is used byte for byte: an
edit never trims, re-indents or moves what the optimizer wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.folder import SKILL_FILE, Folder, inner
from skillopt_cli.core.skill import FRONT_MATTER, MARKER, Region, SkillDocument
from skillopt_cli.core.splices import joined, locate, spliced

Op = Literal["append", "insert_after", "replace", "delete"]
OPS: tuple[str, ...] = get_args(Op)
SUGGEST, REWRITE = "suggest", "rewrite"
"""Not operations on the text but proposals of the rewrite modes, which `apply_edits` refuses.

A suggestion has a title as its target and an instruction as its content; a rewrite has the whole
new text as its content and the summary of its changes, a line each, as its evidence.
"""
OP_ALIASES = {
    "add": "append",
    "insert": "insert_after",
    "update": "replace",
    "modify": "replace",
    "remove": "delete",
}

EditState = Literal[
    "applied",
    "unmatched",
    "ambiguous",
    "protected",
    "no_op",
    "invalid",
    "over_budget",
    "duplicate",
    "vetoed",
]
Source = Literal["failure", "success", "merged"]
UpdateMode = Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One proposed change.

    Attributes:
        op: one of `OPS`, or `SUGGEST` or `REWRITE` in the rewrite modes. Kept as the optimizer
            wrote it, so that an unknown name can be reported.
        content: the new text (append, insert_after, replace).
        target: the anchor: text that must occur exactly once outside protected regions.
        support: trajectories the edit rests on, at least 0.
        source: which kind of trajectories proposed it.
        evidence: one sentence on what was counted, for the reader of the report.
        file: what it changes in a skill folder, relative to that; empty for the skill's own text.
    """

    op: str
    content: str = ""
    target: str = ""
    support: int = 0
    source: Source = "failure"
    evidence: str = ""
    file: str = ""

    @property
    def change(self) -> tuple[str, str, str]:
        """What the edit does to its file, without why: equal ones are duplicates."""
        return self.op, self.target, self.content

    @property
    def record(self) -> dict[str, Any]:
        """The edit for a record in JSON, which names a file only beside SKILL.md."""
        fields = asdict(self)
        if not self.file:
            del fields["file"]
        return fields


@dataclass(frozen=True, slots=True)
class Patch:
    """Edits proposed together; one shape for every stage and update mode.

    Attributes:
        patterns: failure (or success) patterns the analyst named.
        dropped: edits that fell to the budget in `select`.
        notes: reminders of rules the skill has, for its appendix (skill-aware reflection).
        vetoed: edits that a person struck out after `select`, with why.
    """

    edits: tuple[Edit, ...] = ()
    reasoning: str = ""
    source: Source = "failure"
    patterns: tuple[str, ...] = ()
    dropped: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()
    vetoed: tuple[EditOutcome, ...] = ()


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What became of one edit, and why."""

    edit: Edit
    state: EditState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A whole new text as the optimizer wrote it, before protected regions were put back."""

    text: str
    changes: tuple[str, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The one result of every update mode: a text, and what became of each proposed edit.

    Attributes:
        rewrite: what a rewrite mode's optimizer wrote, usable or not.
        refused: why the proposal as a whole was refused; the text is then the current skill's.
    """

    skill: SkillDocument
    outcomes: tuple[EditOutcome, ...] = ()
    rewrite: Rewrite | None = None
    refused: str = ""

    @property
    def applied(self) -> tuple[Edit, ...]:
        """The edits that changed the text, in order."""
        return tuple(o.edit for o in self.outcomes if o.state == "applied")


def refuse(skill: SkillDocument, candidate: Candidate, reason: str) -> Candidate:
    """The candidate refused as a whole: the current `skill`, and no edit counts as applied."""
    outcomes = tuple(
        EditOutcome(o.edit, "invalid", reason) if o.state == "applied" else o
        for o in candidate.outcomes
    )
    return replace(candidate, skill=skill, outcomes=outcomes, refused=reason)


def apply_edits(skill: SkillDocument, edits: Sequence[Edit]) -> Candidate:
    """Apply `edits` in order, each to what the earlier ones left. Pure; never raises."""
    outcomes: list[EditOutcome] = []
    seen: set[tuple[str, tuple[str, str, str]]] = set()
    for edit in edits:
        if (edit.file, edit.change) in seen:
            outcomes.append(EditOutcome(edit, "duplicate", "an earlier edit makes this change"))
            continue
        seen.add((edit.file, edit.change))
        try:
            skill, outcome = _apply_one(skill, edit)
        except DataError as error:
            # Pieces of a marker, harmless apart, may have come together.
            outcome = EditOutcome(edit, "protected", error.message)
        outcomes.append(outcome)
    return Candidate(skill, tuple(outcomes))


def _apply_one(skill: SkillDocument, edit: Edit) -> tuple[SkillDocument, EditOutcome]:
    """The skill after one edit, and the edit's outcome; the skill is unchanged unless applied."""
    fault = _shape_fault(edit)
    if fault:
        return skill, fault
    try:
        path = inner(edit.file or SKILL_FILE)
    except ValueError:
        return skill, EditOutcome(edit, "invalid", f"`{edit.file}` leads out of the skill's folder")
    if path == SKILL_FILE:
        return _apply_to_text(skill, edit)
    if skill.folder is None:
        return skill, EditOutcome(edit, "invalid", f"the skill is one file and has no `{path}`")
    folder, outcome = _apply_to_file(skill.folder, path, edit)
    return replace(skill, folder=folder), outcome


def _apply_to_text(skill: SkillDocument, edit: Edit) -> tuple[SkillDocument, EditOutcome]:
    if skill.folder is not None and not skill.folder.may_change(SKILL_FILE):
        return skill, EditOutcome(edit, "protected", f"`{SKILL_FILE}` is read-only")
    if MARKER.search(edit.content):
        return skill, EditOutcome(edit, "protected", "the new text holds a region marker")
    if edit.op == "append":
        return _settle(skill, edit, _append(skill, edit.content))
    guarded = [(region.start, region.end) for region in skill.regions]
    match locate(skill.text, edit.target, guarded):
        case int() as start, int() as end:
            return _settle(skill, edit, spliced(edit.op, skill.text, edit.content, (start, end)))
        case miss, reason:
            reason = reason or "the target does not occur in the skill"
            return skill, EditOutcome(edit, miss, reason)


def _apply_to_file(folder: Folder, path: str, edit: Edit) -> tuple[Folder, EditOutcome]:
    """The folder after an edit of a file beside SKILL.md, which has no protected regions."""
    text = _text_of(folder, path, edit)
    if isinstance(text, EditOutcome):
        return folder, text
    if edit.op == "append":
        changed = joined(text, edit.content, "")
    else:
        match locate(text, edit.target):
            case int() as start, int() as end:
                changed = spliced(edit.op, text, edit.content, (start, end))
            case miss, reason:
                reason = reason or f"the target does not occur in `{path}`"
                return folder, EditOutcome(edit, miss, reason)
    if changed == text:
        return folder, EditOutcome(edit, "no_op", "the text stays the same")
    if not changed.strip():
        return folder, EditOutcome(edit, "invalid", f"nothing would be left of `{path}`")
    return folder.with_text(path, changed), EditOutcome(edit, "applied")


def _text_of(folder: Folder, path: str, edit: Edit) -> str | EditOutcome:
    """What an edit finds in the file it names, or why it may not change that."""
    held = folder.file(path)
    if held is None:
        if edit.op == "append" and folder.may_make(path):
            return ""
        return EditOutcome(edit, "invalid", f"the skill has no file `{path}`")
    if not folder.may_change(path):
        return EditOutcome(edit, "protected", f"`{path}` is read-only")
    if held.text is None:
        return EditOutcome(edit, "protected", f"`{path}` is no text that can be edited")
    return held.text


def _shape_fault(edit: Edit) -> EditOutcome | None:
    """The outcome of an edit that can be refused without looking at the skill."""
    if edit.op not in OPS:
        return EditOutcome(edit, "invalid", f"unknown operation `{edit.op}`")
    if edit.op != "append" and not edit.target:
        return EditOutcome(edit, "invalid", f"{edit.op} needs a target")
    if edit.op in ("append", "insert_after") and not edit.content.strip():
        return EditOutcome(edit, "no_op", "the new text is empty")
    return None


def _append(skill: SkillDocument, content: str) -> str:
    """The text with `content` at the end of the body: before the first region that follows it."""
    trailing = [r for r in skill.regions if r.name != FRONT_MATTER]
    cut = trailing[0].start if trailing else len(skill.text)
    return joined(skill.text[:cut], content, skill.text[cut:])


def _settle(skill: SkillDocument, edit: Edit, text: str) -> tuple[SkillDocument, EditOutcome]:
    """Refuse a result that says nothing new, says nothing at all, or disturbs a region."""
    changed = replace(skill, text=text)
    if words_by_line(text) == words_by_line(skill.text):
        return skill, EditOutcome(edit, "no_op", "the text stays the same")
    if edit.op == "append" and _holds_lines(skill.text, edit.content):
        return skill, EditOutcome(edit, "duplicate", "the skill already says this")
    if not changed.has_instructions:
        return skill, EditOutcome(edit, "invalid", "nothing would be left of the skill")
    if _inners(changed.regions) != _inners(skill.regions):
        return skill, EditOutcome(edit, "protected", "a protected region would change")
    return changed, EditOutcome(edit, "applied")


def words_by_line(text: str) -> list[str]:
    """The lines that carry text. Indentation counts (it nests bullets), blank lines do not."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _holds_lines(text: str, content: str) -> bool:
    lines = set(words_by_line(text))
    return all(line in lines for line in words_by_line(content))


def _inners(regions: tuple[Region, ...]) -> list[tuple[str, str]]:
    return [(region.name, region.inner) for region in regions]
