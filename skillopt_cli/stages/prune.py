"""Prune: remove the blocks of a skill that do nothing measurable for it."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.core.blocks import Block, blocks, without
from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.events import BlockTried, SkillPruned
from skillopt_cli.core.gate import EPSILON, GateDecision, gain, gate
from skillopt_cli.core.score import Measured
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.measure import measure
from skillopt_cli.stages.run import Run

_REASONS = {"reject": "worse", "indecisive": "too few scored attempts to compare"}

_ZERO = "no removal scores lower than 0"


async def prune(run: Run, measured: Measured) -> Measured:
    """The skill without the blocks whose removal is not worse on the selection split.

    One block at a time is left out, sections before what is in them, and the rest is measured in
    full. A removal that the gate does not find worse is kept, and what comes after is tried on the
    shorter text. A skill that solves nothing is left as it is: without any of its blocks it would
    score no lower, which shows of none that it does nothing. Emits what became of every block.

    Args:
        measured: the skill with its marks on the selection split.
    """
    rule = replace(run.rule, use_gate=True, policy="not_worse")
    whole, current = measured.skill, measured
    removed: list[Block] = []
    tried: list[BlockTried] = []
    found = _removable(whole)
    if (score := measured.mean(run.metric)) is not None and score <= EPSILON:
        tried = [
            BlockTried(block.kind, block.line, block.end - block.start, removed=False, reason=_ZERO)
            for block in found
        ]
        found = ()
    for number, block in enumerate(found, 1):
        if any(other.holds(block) for other in removed):
            continue
        candidate = without(whole, [*removed, block])
        chars = len(current.skill.text) - len(candidate.text)
        told = BlockTried(block.kind, block.line, chars, removed=False)
        if not candidate.has_instructions:
            tried.append(replace(told, reason="nothing would be left"))
            continue
        apart = replace(run, folder=f"prune/block_{number:03d}/")
        label = f"without block {number} of {len(found)}"
        shorter = await measure(apart, candidate, "selection", label, "prune")
        decision = gate(shorter, current, current, rule)
        tried.append(_outcome(told, decision, gain(shorter.marks, current.marks, run.metric)))
        if decision.accepted:
            removed.append(block)
            current = shorter
    run.emit(_pruned(run, measured, current, tuple(tried)))
    return current


def _removable(skill: SkillDocument) -> tuple[Block, ...]:
    """The blocks that may be removed: none of a folder's SKILL.md that may not be changed."""
    fixed = skill.folder is not None and not skill.folder.may_change(SKILL_FILE)
    return () if fixed else blocks(skill)


def _outcome(block: BlockTried, decision: GateDecision, gained: float) -> BlockTried:
    return replace(
        block,
        removed=decision.accepted,
        reason="" if decision.accepted else _REASONS.get(decision.verdict, decision.verdict),
        gain=gained,
        fixed=decision.fixed,
        broke=decision.broke,
    )


def _pruned(
    run: Run, before: Measured, after: Measured, tried: tuple[BlockTried, ...]
) -> SkillPruned:
    return SkillPruned(
        digest_before=before.skill.digest,
        digest=after.skill.digest,
        before=before.mean(run.metric),
        after=after.mean(run.metric),
        chars_before=len(before.skill.text),
        chars=len(after.skill.text),
        blocks=tried,
    )
