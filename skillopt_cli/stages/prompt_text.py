"""What the optimizer is given to read: skill, trajectories, lessons, patches, as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from skillopt_cli.core.companion_files import SKILL_FILE, Folder, is_pattern
from skillopt_cli.core.edits import REWRITE, SUGGEST, Edit, Patch, Trial
from skillopt_cli.core.formatting import count
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.core.worked_examples import mark
from skillopt_cli.ports import Benchmark
from skillopt_cli.stages.digest import clipped, digest

_LONGEST_SECTION = 8_000
"""Characters: whole documents in a brief would leave no room for the other trajectories."""
_MOST_REFUTED = 60
"""Refuted edits shown to an analyst."""
_LISTS = {SUGGEST: "suggestions", REWRITE: "candidates"}
_NAMES = {SUGGEST: ("title", "instruction")}


def skill_text(skill: SkillDocument) -> str:
    """The current skill, whole; of a folder also its editable files, and the names of others."""
    text = f"## Current skill\n{skill.text.rstrip() or '(empty)'}"
    return text if skill.folder is None else f"{text}\n\n{_beside(skill.folder)}"


def _beside(folder: Folder) -> str:
    """The files of a skill folder: those an optimizer may change in full, the others by size."""
    shown = [(path, text) for path, text in folder.texts if folder.may_change(path)]
    names = {path for path, _ in shown}
    others = [
        f"- `{file.path}` ({count(file.size, 'byte')})"
        for file in folder.files
        if file.path not in names
    ]
    parts = [f"## Files beside it\nThe skill is a folder, and the text above is its {SKILL_FILE}."]
    if others:
        parts.append("\n".join(["These files belong to it and stay as they are:", *others]))
    if globs := " or ".join(f"`{path}`" for path in folder.editable if is_pattern(path)):
        parts.append(f"To make a new file, `append` to a path that matches {globs}.")
    parts += [f"### File `{path}`\n{_fenced(text)}" for path, text in shown]
    return "\n\n".join(parts)


def _fenced(text: str) -> str:
    """A text between fences longer than any in it. The last fence begins a line of its own."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"


def trajectory_text(benchmark: Benchmark, trajectory: Trajectory, number: int) -> str:
    """One trajectory: what was asked, what came back, and the feedback on it."""
    task, score = trajectory.task, trajectory.score
    parts = [f"## Trajectory {number}: task `{task.id}` ({task.kind})"]
    for section in benchmark.brief(task).sections:
        parts.append(f"### {section.title}\n{clipped(section.text, _LONGEST_SECTION)}")
    if steps := digest(trajectory.attempt.messages):
        parts.append(f"### Steps\n{steps}")
    parts.append(f"### Answer\n{trajectory.attempt.answer or '(nothing)'}")
    if trajectory.attempt.skill_loaded is False:
        parts.append("### Note\nThe agent did not load the skill.")
    if score is not None:
        parts.append(f"### Score\nhard {score.hard:g}, soft {score.soft:.3f}")
        if score.feedback:
            parts.append(f"### Feedback\n{score.feedback}")
        if score.expected:
            parts.append(f"### Expected\n{' | '.join(score.expected)}")
    return "\n".join(parts)


def lessons_text(lessons: Sequence[Lesson]) -> str:
    """What earlier steps of the epoch taught; empty when there were none.

    The same for a rejected step whether or not its measurement was settled early.
    """
    if not lessons:
        return ""
    parts = ["## Earlier steps of this epoch"]
    for lesson in lessons:
        parts.append(f"### Step {lesson.step}: {lesson.n_failed} of {lesson.n_total} tasks failed")
        parts += [f"- seen: {pattern} ({count})" for pattern, count in lesson.patterns]
        if lesson.verdict == "reject" and lesson.incumbent is not None:
            parts.append(
                f"These edits were rejected: together they were not better than the score of"
                f" {lesson.incumbent:.3f} they had to beat. Do not propose them again:"
            )
            parts.append(edits_block(without_texts(lesson.rejected), lesson.rejected_notes))
        elif lesson.verdict is not None:
            parts.append(f"The edits of this step ended as: {lesson.verdict}.")
        if lesson.vetoed:
            parts.append(_vetoes(lesson.vetoed))
    return "\n".join(parts)


def refuted_text(refuted: Sequence[Trial], vetoed: Sequence[Edit]) -> str:
    """Edits that were tried and did not solve their tasks, the newest ones, and those vetoed."""
    parts = []
    if refuted:
        edits = [trial.edit for trial in refuted[-_MOST_REFUTED:]]
        parts += [
            "## Earlier steps of this run",
            "These edits were rejected: alone, they did not solve the tasks they were written for."
            " Do not propose them again:",
            edits_block([replace(edit, evidence="", tasks=()) for edit in without_texts(edits)]),
        ]
    if vetoed:
        parts.append(_vetoes(vetoed))
    return "\n".join(parts)


def _vetoes(edits: Sequence[Edit]) -> str:
    said = "The person who runs this struck out these edits. Leave them out:"
    return f"{said}\n{edits_block(without_texts(edits))}"


def hints_text(hints: Sequence[str]) -> str:
    """What a person wants the analysts to know, a line each; empty when there is nothing."""
    return "\n".join(f"A hint from the person who runs this: {hint}" for hint in hints)


def labels_text(labels: Labels) -> str:
    """The label set of the benchmark; empty where its answers form none."""
    if not labels.names:
        return ""
    listed = "\n".join(f"- {name}" for name in labels.names)
    return f"## Labels\nThese answers recur over the tasks, and rules may name them:\n{listed}"


def quoting_text(task_ids: Sequence[str]) -> str:
    """How a worked example is marked, for analysts who may quote these tasks."""
    if not task_ids:
        return ""
    marked = mark(task_ids[0]).strip()
    return (
        "## Worked examples\nYou may quote a task with its right answer as a worked example: one"
        f" paragraph without blank lines, below a line that names the task, such as\n{marked}"
    )


def patches_text(patches: Sequence[Patch]) -> str:
    """Patches to merge, each as a JSON block."""
    blocks = [
        f"## Patch {number} (from {patch.source} analysis)\n{edits_block(patch.edits)}"
        for number, patch in enumerate(patches, 1)
    ]
    return "\n\n".join(blocks)


def notes_text(notes: Sequence[str]) -> str:
    """Appendix notes, each as a bullet."""
    return "\n".join(["## Notes to shorten", *(f"- {note}" for note in notes)])


def edits_block(edits: Sequence[Edit], notes: Sequence[str] = ()) -> str:
    """Edits as a fenced JSON block, with the appendix notes that went with them, if any."""
    key = _LISTS.get(edits[0].op, "edits") if edits else "edits"
    block: dict[str, object] = {key: [_shown(edit) for edit in edits]}
    if notes:
        block["appendix_notes"] = list(notes)
    return f"```json\n{json.dumps(block, ensure_ascii=False, indent=1)}\n```"


def _shown(edit: Edit) -> dict[str, object]:
    """A proposal in the words of the contract it came by."""
    ground: dict[str, object] = {"support": edit.support, "evidence": edit.evidence}
    if edit.tasks:
        ground["tasks"] = list(edit.tasks)
    match edit.op:
        case "suggest":
            return {"title": edit.target, "instruction": edit.content, **ground}
        case "rewrite":
            text = {"new_skill": edit.content} if edit.content else {}
            changes = edit.evidence.splitlines()
            return {"change_summary": changes, **text, "support": edit.support}
        case _:
            file = {"file": edit.file} if edit.file else {}
            change = {"op": edit.op, "target": edit.target, "content": edit.content}
            return {**file, **change, **ground}


def without_texts(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Rewrites by the summary of their changes alone: a refused text is not worth its length."""
    return tuple(replace(edit, content="") if edit.op == REWRITE else edit for edit in edits)


def listed(edits: Sequence[Edit]) -> str:
    """Edits as a numbered list, to be chosen from."""
    lines = []
    for index, edit in enumerate(edits):
        place = f" in {edit.file}" if edit.file else ""
        lines.append(f"[{index}] {edit.op}{place} (support {edit.support})")
        target, content = _NAMES.get(edit.op, ("target", "content"))
        if edit.target:
            lines.append(f"    {target}: {edit.target!r}")
        if edit.content:
            lines.append(f"    {content}: {edit.content!r}")
        if edit.evidence:
            lines.append(f"    evidence: {edit.evidence}")
    return "\n".join(lines)
