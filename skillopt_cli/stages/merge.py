"""Aggregate, with a model: merge patches in a tree, failures and successes apart, then both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.core.plan import cut
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.verification import united
from skillopt_cli.stages.ask import Question, ask
from skillopt_cli.stages.concurrency import side_by_side
from skillopt_cli.stages.modes import mode_of
from skillopt_cli.stages.prompt_text import patches_text, skill_text
from skillopt_cli.stages.run import Run
from skillopt_cli.stages.skill_files import asking_for_files, of_files


async def merge_with_model(run: Run, skill: SkillDocument, patches: Sequence[Patch]) -> Patch:
    """One patch. The two trees grow side by side; the last merge lets failures win."""
    failures = [patch for patch in patches if patch.source == "failure"]
    successes = [patch for patch in patches if patch.source != "failure"]
    parts = (("merge_failure", failures), ("merge_success", successes))
    sides = await side_by_side(_tree(run, skill, name, part) for name, part in parts)
    merged = [side for side in sides if side is not None]
    if len(merged) < 2:
        return merged[0] if merged else Patch()
    return await _merge(run, skill, "merge_final", merged)


async def _tree(run: Run, skill: SkillDocument, prompt: str, level: list[Patch]) -> Patch | None:
    """Merge groups of `gradient.merge_batch_size`, level by level, until one patch is left.

    None when no edit is left: an empty patch is not worth a merge.
    """
    size = run.config.gradient.merge_batch_size
    while len(level) > 1:
        groups = cut(level, size)
        merged = await side_by_side(_merge(run, skill, prompt, group) for group in groups)
        level = [patch for patch in merged if patch.edits]
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
    edits = of_files(answer.proposed(source, support), skill)
    if source == "merged":
        edits = _with_sources(edits, group)
    if run.verifies:
        edits = _with_tasks(edits, group)
    return Patch(edits, answer.reasoning, source)


def _with_sources(edits: Sequence[Edit], group: Sequence[Patch]) -> tuple[Edit, ...]:
    """Merged edits, of which those that only analysts of successes proposed are from successes."""
    sides: dict[bool, set[object]] = {True: set(), False: set()}
    for patch in group:
        sides[patch.source == "success"] |= {edit.identity for edit in patch.edits}
    alone = sides[True] - sides[False]
    return tuple(replace(e, source="success") if e.identity in alone else e for e in edits)


def _with_tasks(edits: Sequence[Edit], group: Sequence[Patch]) -> tuple[Edit, ...]:
    """Merged edits with the tasks they are tried on.

    Ids that no edit of the group is for are dropped. An edit without any is for the tasks of the
    edit it repeats, else for those of the whole group.
    """
    before = {edit.identity: edit.tasks for patch in group for edit in patch.edits}
    every = tuple(dict.fromkeys(task for tasks in before.values() for task in tasks))
    return tuple(
        replace(
            edit,
            tasks=tuple(task for task in dict.fromkeys(edit.tasks) if task in every)
            or before.get(edit.identity, every),
        )
        for edit in edits
    )


async def merge_in_code(run: Run, skill: SkillDocument, patches: Sequence[Patch]) -> Patch:
    """One patch without a call: equal edits become one, with all the tasks they are for."""
    reasoning = " ".join(patch.reasoning for patch in patches if patch.reasoning)
    sources = {patch.source for patch in patches}
    source = sources.pop() if len(sources) == 1 else "merged"
    patterns = tuple(dict.fromkeys(name for patch in patches for name in patch.patterns))
    return Patch(united(patches), reasoning, source, patterns)


def concatenated(patches: Sequence[Patch]) -> tuple[Edit, ...]:
    """All edits of all patches, in order, each change once."""
    seen: dict[tuple[str, tuple[str, str, str]], Edit] = {}
    for patch in patches:
        for edit in patch.edits:
            seen.setdefault((edit.file, edit.change), edit)
    return tuple(seen.values())
