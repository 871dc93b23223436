"""Aggregate: merge the step's patches into one, failures first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt_cli.core.edits import Patch
from skillopt_cli.core.events import EditsMerged
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.reflect import keep_patch
from skillopt_cli.stages.run import Run, announced


async def aggregate(run: Run, skill: SkillDocument, patches: Sequence[Patch]) -> Patch:
    """One patch, without edits when there is nothing to merge. It has the notes of every patch."""
    with announced(run, "aggregate", len(patches)):
        proposed = [patch for patch in patches if patch.edits]
        merged = await run.variants.aggregate(run, skill, proposed) if proposed else Patch()
    notes = dict.fromkeys(note for patch in patches for note in patch.notes)
    refused = tuple(outcome for patch in patches for outcome in patch.set_aside)
    merged = replace(merged, notes=tuple(notes), set_aside=refused)
    keep_patch(run, run.of_round("merged_patch.json"), merged)
    run.emit(EditsMerged(run.number, len(merged.edits), run.round))
    return merged
