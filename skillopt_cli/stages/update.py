"""Update: turn the chosen patch into a candidate, and account for every edit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from skillopt_cli.core.edits import Candidate, EditOutcome, Patch, Trial, refuse
from skillopt_cli.core.events import CandidateMade
from skillopt_cli.core.formatting import count
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.verification import trials_by_edit
from skillopt_cli.stages.appendix import write_notes
from skillopt_cli.stages.leak_check import checked_rewrite
from skillopt_cli.stages.run import Run, announced
from skillopt_cli.stages.structure import sound


async def update(run: Run, skill: SkillDocument, chosen: Patch) -> Candidate:
    """Make the candidate in the chosen way and write the notes; account for every edit.

    What fell to the budget, or was set aside, is reported as such. What breaks a file of a skill
    folder is refused, and so is a text that grows beyond `optimizer.max_skill_chars`, before
    anything is spent on measuring it.
    """
    with announced(run, "update", len(chosen.edits)):
        made = await run.variants.update(run, skill, chosen)
        made = checked_rewrite(run, skill, made)
        made = await sound(run, skill, made, chosen.edits)
        over = tuple(EditOutcome(edit, "over_budget") for edit in chosen.dropped)
        # A proposal refused as a whole leaves the text alone, and so do its notes.
        noted = skill if made.refused else await write_notes(run, made.skill, chosen.notes)
        outcomes = _with_trials(made.outcomes + chosen.set_aside + over, chosen.trials)
        candidate = replace(made, skill=noted, outcomes=outcomes)
        limit, chars = run.config.optimizer.max_skill_chars, len(noted.text)
        # What guidance or the seed has made too long may still be edited, if it does not grow.
        if limit and chars > max(limit, len(skill.text)):
            reason = f"the candidate has {count(chars, 'character')}, {limit} are allowed"
            candidate = refuse(skill, candidate, reason)
        _keep(run, candidate)
    rewrite = candidate.rewrite
    run.emit(
        CandidateMade(
            step=run.number,
            digest=candidate.skill.digest,
            chars=candidate.skill.chars,
            outcomes=candidate.outcomes,
            changes=rewrite.changes if rewrite else (),
            refused=candidate.refused,
        )
    )
    return candidate


def _with_trials(
    outcomes: Sequence[EditOutcome], trials: Sequence[Trial]
) -> tuple[EditOutcome, ...]:
    """The outcomes, each with the trial of its edit where it was tried on tasks."""
    known = trials_by_edit(trials)
    return tuple(replace(o, trial=o.trial or known.get(o.edit.identity)) for o in outcomes)


def _keep(run: Run, candidate: Candidate) -> None:
    run.keep_skill("candidate_skill", candidate.skill)
    run.keep("edit_report.json", report(candidate.outcomes))
    if candidate.rewrite is not None:
        document = {
            "reasoning": candidate.rewrite.reasoning,
            "change_summary": candidate.rewrite.changes,
            "new_skill": candidate.rewrite.text,
        }
        text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        run.keep("rewrite_result.json", text)


def report(outcomes: Sequence[EditOutcome]) -> str:
    """The edit report: one entry per proposed edit, with the state it ended in."""
    entries = [{"index": i, **outcome.record} for i, outcome in enumerate(outcomes, 1)]
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"
