"""Appendix: make a step's notes part of the candidate's text, before that text is measured."""

from __future__ import annotations

import json
from collections.abc import Iterable

from skillopt_cli.core.appendix import distinct, notes_of, with_notes
from skillopt_cli.core.events import AppendixWritten, Degraded
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.answer_schemas import Consolidation
from skillopt_cli.stages.ask import Question, ask
from skillopt_cli.stages.prompt_text import notes_text, skill_text
from skillopt_cli.stages.run import Run

STAGE = "appendix_consolidate"


async def write_notes(run: Run, skill: SkillDocument, notes: Iterable[str]) -> SkillDocument:
    """The skill with the step's notes in its appendix; itself when they add nothing new.

    A note that holds a region marker is refused with a `Degraded` fact. An appendix that outgrows
    `optimizer.skill_aware_consolidate_threshold` is shortened by the optimizer.
    """
    if not run.config.optimizer.use_skill_aware_reflection:
        return skill
    proposed = _usable(run, notes)
    if not proposed:
        return skill
    present = notes_of(skill)
    fresh = distinct(proposed, present)
    noted = with_notes(skill, (*present, *fresh)) if fresh else skill
    shorter = await _consolidated(run, noted) if fresh else None
    after = noted if shorter is None else with_notes(noted, shorter)
    total = notes_of(after)
    before = 0 if shorter is None else len(notes_of(noted))
    document = {"step_notes": proposed, "appendix_after": total}
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    run.keep("appendix_notes.json", text)
    run.emit(AppendixWritten(run.number, len(proposed), fresh, len(total), before))
    return after


def _usable(run: Run, notes: Iterable[str]) -> tuple[str, ...]:
    """The notes that a region may hold, each once."""
    kept: tuple[str, ...] = ()
    for note in notes:
        try:
            kept += distinct([note], kept)
        except ValueError as error:
            run.emit(Degraded("update", f"a note was refused: {error}"))
    return kept


async def _consolidated(run: Run, skill: SkillDocument) -> tuple[str, ...] | None:
    """Fewer or shorter notes in the place of the skill's, or None to leave them as they are."""
    threshold = run.config.optimizer.skill_aware_consolidate_threshold
    present = notes_of(skill)
    if not threshold or len(present) <= threshold:
        return None
    if run.optimizer is None:
        run.emit(Degraded(STAGE, "this run has no optimizer model to shorten the notes"))
        return None
    user = f"{skill_text(skill)}\n\n{notes_text(present)}"
    answer = await ask(run, Question("appendix_consolidation", user, Consolidation, STAGE))
    if answer is None:
        return None
    notes = distinct(answer.notes)
    if not notes or len(notes) > len(present):
        run.emit(Degraded(STAGE, f"{len(present)} notes would have become {len(notes)}"))
        return None
    return notes
