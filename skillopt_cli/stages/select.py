"""Select: keep the most useful edits within the step's learning rate."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.core.edits import Patch
from skillopt_cli.core.events import EditsChosen
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.reflect import keep_patch
from skillopt_cli.stages.review import review
from skillopt_cli.stages.run import Run, announced


async def select(run: Run, skill: SkillDocument, merged: Patch, budget: int | None) -> Patch:
    """At most `budget` edits; `budget` None is no limit.

    Edits beyond it are in `dropped`, and those left out for another reason are set aside with it.

    Notes are not edits: all are kept. What a person strikes out then is in `vetoed`.
    """
    with announced(run, "select", len(merged.edits)):
        chosen = await run.variants.select(run, skill, merged, budget)
    chosen = replace(chosen, notes=merged.notes)
    others = (o.edit for o in chosen.set_aside if o.state == "not_selected")
    left_out = (*chosen.dropped, *others)
    keep_patch(run, run.of_round("ranked_edits.json"), replace(chosen, dropped=left_out))
    run.emit(EditsChosen(run.number, chosen.edits, left_out, run.round))
    return await review(run, chosen)
