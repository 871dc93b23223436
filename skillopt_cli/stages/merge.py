"""Aggregate, with a model: merge patches in a tree, failures and successes apart, then both."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from skillopt_cli.core.batches import cut
from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.ask import Question, ask
from skillopt_cli.stages.attempts import first_cause
from skillopt_cli.stages.material import patches_text, skill_text
from skillopt_cli.stages.modes import mode_of
from skillopt_cli.stages.run import Run
from skillopt_cli.stages.skill_files import asking_for_files


async def merge_with_model(run: Run, skill: SkillDocument, patches: Sequence[Patch]) -> Patch:
    """One patch. The two trees grow side by side; the last merge lets failures win."""
    failures = [patch for patch in patches if patch.source == "failure"]
    successes = [patch for patch in patches if patch.source != "failure"]
    sides = await _together(run, skill, [("merge_failure", failures), ("merge_success", successes)])
    merged = [side for side in sides if side is not None]
    if len(merged) < 2:
        return merged[0] if merged else Patch()
    return await _merge(run, skill, "merge_final", merged)


async def _together(
    run: Run, skill: SkillDocument, sides: Sequence[tuple[str, list[Patch]]]
) -> list[Patch | None]:
    try:
        async with asyncio.TaskGroup() as group:
            grown = [group.create_task(_tree(run, skill, name, side)) for name, side in sides]
    except ExceptionGroup as failures:
        raise first_cause(failures) from failures
    return [task.result() for task in grown]


async def _tree(run: Run, skill: SkillDocument, prompt: str, level: list[Patch]) -> Patch | None:
    """Merge groups of `gradient.merge_batch_size`, level by level, until one patch is left.

    None when no edit is left: an empty patch is not worth a merge.
    """
    size = run.config.gradient.merge_batch_size
    while len(level) > 1:
        async with asyncio.TaskGroup() as tasks:
            merged = [
                tasks.create_task(_merge(run, skill, prompt, group)) for group in cut(level, size)
            ]
        level = [patch for task in merged if (patch := task.result()).edits]
    return level[0] if level else None


async def _merge(run: Run, skill: SkillDocument, prompt: str, group: Sequence[Patch]) -> Patch:
    """One patch of a group; when the optimizer gives none, all its edits without repeats."""
    if len(group) == 1:
        return group[0]
    source = group[0].source if prompt != "merge_final" else "merged"
    user = f"{skill_text(skill)}\n\n{patches_text(group)}"
    mode = mode_of(run)
    question = Question(prompt + mode.suffix, user, mode.merge, "aggregate")
    answer = await ask(run, asking_for_files(question, skill))
    if answer is None:
        return Patch(concatenated(group), "kept all edits: no usable merge", source)
    support = sum(edit.support for patch in group for edit in patch.edits)
    return Patch(answer.proposed(source, support), answer.reasoning, source)


def concatenated(patches: Sequence[Patch]) -> tuple[Edit, ...]:
    """All edits of all patches, in order, each change once."""
    seen: dict[tuple[str, tuple[str, str, str]], Edit] = {}
    for patch in patches:
        for edit in patch.edits:
            seen.setdefault((edit.file, edit.change), edit)
    return tuple(seen.values())
