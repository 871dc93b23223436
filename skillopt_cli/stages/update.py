"""Update: turn the chosen patch into a candidate, and account for every edit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from skillopt_cli.core.edits import Candidate, EditOutcome, Patch, apply_edits
from skillopt_cli.core.events import CandidateMade
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.appendix import write_notes
from skillopt_cli.stages.run import Run, announced


async def update(run: Run, skill: SkillDocument, chosen: Patch) -> Candidate:
    """Apply the chosen edits and write the notes; what fell to the budget is reported as such."""
    with announced(run, "update", len(chosen.edits)):
        made = apply_edits(skill, chosen.edits)
        over = tuple(EditOutcome(edit, "over_budget") for edit in chosen.dropped)
        candidate = Candidate(made.skill, made.outcomes + over)
        noted = await write_notes(run, candidate.skill, chosen.notes)
        candidate = replace(candidate, skill=noted)
        run.keep("candidate_skill.md", candidate.skill.text)
        run.keep("edit_report.json", report(candidate.outcomes))
    run.emit(
        CandidateMade(
            run.number, candidate.skill.digest, len(candidate.skill.text), candidate.outcomes
        )
    )
    return candidate


def report(outcomes: Sequence[EditOutcome]) -> str:
    """The edit report: one entry per proposed edit, with the state it ended in."""
    entries = [
        {"index": i, "state": o.state, "reason": o.reason, **asdict(o.edit)}
        for i, o in enumerate(outcomes, 1)
    ]
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"
