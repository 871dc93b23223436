"""Edits: exact, accountable changes to a skill document.

Every proposed edit ends in exactly one state (method, decision 4). Text is used byte for byte: an
edit never trims, re-indents or moves what the optimizer wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from skillopt_cli.core.companion_files import EDITABLE_WORDS, SKILL_FILE, Folder, inner
from skillopt_cli.core.control_characters import control_in
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.front_matter import fault_of_metadata
from skillopt_cli.core.plugin_values import number, text, texts
from skillopt_cli.core.skill import FRONT_MATTER, MARKER, Region, SkillDocument
from skillopt_cli.core.text_edits import joined, locate, spliced

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
    "appended",
    "unmatched",
    "ambiguous",
    "protected",
    "read_only",
    "no_op",
    "invalid",
    "over_budget",
    "not_selected",
    "duplicate",
    "vetoed",
    "unverified",
    "harmful",
    "leak",
    "shortcut",
]
CHANGED: tuple[EditState, ...] = ("applied", "appended")
"""States of edits that changed the text."""
Identity = tuple[str, tuple[str, str, str]]
"""File and change of an edit."""
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
        tasks: ids of the failed tasks it is written for, in the order the analyst read them.
    """

    op: str
    content: str = ""
    target: str = ""
    support: int = 0
    source: Source = "failure"
    evidence: str = ""
    file: str = ""
    tasks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("op", "content", "target", "evidence", "file"):
            object.__setattr__(self, name, text(getattr(self, name), f"an edit's {name}"))
        object.__setattr__(self, "support", int(number(self.support, "an edit's support")))
        object.__setattr__(self, "tasks", texts(self.tasks, "an edit's tasks"))

    @property
    def change(self) -> tuple[str, str, str]:
        """What the edit does to its file, without why: equal ones are duplicates."""
        return self.op, self.target, self.content

    @property
    def identity(self) -> Identity:
        """The file and the change: the same for edits that do the same."""
        return self.file, self.change

    @property
    def record(self) -> dict[str, Any]:
        """The edit for a record in JSON, which has a file and tasks only where there are any."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in named if value or name not in ("file", "tasks")}


@dataclass(frozen=True, slots=True)
class Trial:
    """What an edit did to tasks when it was tried on them, before the gate.

    Attributes:
        tried: failing tasks it was tried on, those with a score.
        fixed: those of them that were solved with it.
        needed: how many of them had to be solved.
        broke: tasks solved before that it was found to break.
        joint: whether it was tried together with other edits, not alone.
        base: digest of the skill it was added to; "" where that is unknown.
    """

    edit: Edit
    tried: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    needed: int = 1
    broke: tuple[str, ...] = ()
    joint: bool = False
    base: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """The trial for a record in JSON, which has the edit beside it."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "edit"}

    @property
    def passed(self) -> bool:
        """Whether it solved enough of its tasks."""
        return len(self.fixed) >= self.needed


@dataclass(frozen=True, slots=True)
class Patch:
    """Edits proposed together; one shape for every stage and update mode.

    Attributes:
        patterns: failure (or success) patterns the analyst named.
        dropped: edits that fell to the budget.
        notes: reminders of rules the skill has, for its appendix (skill-aware reflection).
        set_aside: edits that were taken out, with their state and why: by the leak guard, by the
            selection, by a person after `select`, or by their trials.
        trials: what each edit did that was tried on tasks.
        unknown_tasks: task ids that edits named although they were not shown to the analyst.
    """

    edits: tuple[Edit, ...] = ()
    reasoning: str = ""
    source: Source = "failure"
    patterns: tuple[str, ...] = ()
    dropped: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()
    set_aside: tuple[EditOutcome, ...] = ()
    trials: tuple[Trial, ...] = ()
    unknown_tasks: int = 0


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What became of one edit, and why; `trial` where it was tried on tasks."""

    edit: Edit
    state: EditState
    reason: str = ""
    trial: Trial | None = None

    @property
    def record(self) -> dict[str, Any]:
        """The outcome for a record in JSON, which has a trial only where there was one."""
        tried = {"trial": self.trial.record} if self.trial else {}
        return {"state": self.state, "reason": self.reason, **self.edit.record, **tried}

    @property
    def changed(self) -> bool:
        """Whether the edit changed the text."""
        return self.state in CHANGED


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
        return tuple(o.edit for o in self.outcomes if o.changed)


def refuse(skill: SkillDocument, candidate: Candidate, reason: str) -> Candidate:
    """The candidate refused as a whole: the current `skill`, and no edit counts as applied."""
    outcomes = tuple(
        EditOutcome(o.edit, "invalid", reason) if o.changed else o for o in candidate.outcomes
    )
    return replace(candidate, skill=skill, outcomes=outcomes, refused=reason)


def apply_edits(
    skill: SkillDocument, edits: Sequence[Edit], *, append_unmatched: bool = False
) -> Candidate:
    """Apply `edits` in order, each to what the earlier ones left. Pure; never raises.

    Args:
        append_unmatched: whether an `insert_after` whose target does not occur goes to the end of
            the text, with the state `appended` (method, decision 4).
    """
    outcomes: list[EditOutcome] = []
    seen: set[Identity] = set()
    for edit in edits:
        if edit.identity in seen:
            outcomes.append(EditOutcome(edit, "duplicate", "an earlier edit makes this change"))
            continue
        seen.add(edit.identity)
        try:
            skill, outcome = _apply_one(skill, edit)
            if append_unmatched and outcome.state == "unmatched" and edit.op == "insert_after":
                skill, outcome = _append_instead(skill, edit)
        except DataError as error:
            # Pieces of a marker, harmless apart, may have come together.
            outcome = EditOutcome(edit, "protected", error.message)
        outcomes.append(outcome)
    return Candidate(skill, tuple(outcomes))


def _append_instead(skill: SkillDocument, edit: Edit) -> tuple[SkillDocument, EditOutcome]:
    """The skill with the edit's content at its end; the outcome is of the edit as proposed."""
    skill, outcome = _apply_one(skill, replace(edit, op="append", target=""))
    if outcome.state != "applied":
        return skill, replace(outcome, edit=edit)
    reason = "its target does not occur, so the text went to the end"
    return skill, EditOutcome(edit, "appended", reason)


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
        return skill, _read_only(edit, SKILL_FILE)
    if MARKER.search(edit.content):
        return skill, EditOutcome(edit, "protected", "the new text holds a region marker")
    if edit.op == "append":
        return _settle(skill, edit, _append(skill, edit.content))
    guarded = [(region.start, region.end) for region in skill.regions]
    match locate(skill.text, edit.target, guarded):
        case int() as start, int() as end:
            return _settle(skill, edit, spliced(edit.op, skill.text, edit.content, (start, end)))
        case miss, reason:
            if miss == "unmatched" and (path := _read_only_with(skill.folder, edit.target)):
                return skill, _read_only(edit, path)
            reason = reason or "the target does not occur in the skill"
            return skill, EditOutcome(edit, miss, reason)


def _read_only_with(folder: Folder | None, target: str) -> str:
    """The first read-only file beside SKILL.md that holds a target; "" where there is none."""
    locked = folder.locked_texts if folder else ()
    return next((path for path, text in locked if locate(text, target)[0] != "unmatched"), "")


def _read_only(edit: Edit, path: str) -> EditOutcome:
    """The outcome of an edit that is meant for a file which the settings do not let it change."""
    return EditOutcome(edit, "read_only", f"`{path}` is read-only; {EDITABLE_WORDS}")


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
        return _read_only(edit, path)
    if held.text is None:
        return EditOutcome(edit, "protected", f"`{path}` is no text that can be edited")
    return held.text


def _shape_fault(edit: Edit) -> EditOutcome | None:
    """The outcome of an edit that can be refused without looking at the skill."""
    if edit.op not in OPS:
        return EditOutcome(edit, "invalid", f"unknown operation `{edit.op}`")
    if control := control_in(edit.content):
        return EditOutcome(edit, "invalid", f"the new text holds the control character {control}")
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
    """Refuse a result that is unchanged, is empty, or disturbs a region."""
    changed = replace(skill, text=text)
    if words_by_line(text) == words_by_line(skill.text):
        return skill, EditOutcome(edit, "no_op", "the text stays the same")
    if edit.op == "append" and _holds_lines(skill.text, edit.content):
        return skill, EditOutcome(edit, "duplicate", "the skill already says this")
    if not changed.has_instructions:
        return skill, EditOutcome(edit, "invalid", "nothing would be left of the skill")
    if fault := fault_of_metadata(text):
        return skill, EditOutcome(edit, "invalid", f"front matter would be there that {fault}")
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
