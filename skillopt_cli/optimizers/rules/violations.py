"""Violations: patterns that still show although the skill has the very rule against them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from skillopt_cli.core.appendix import distinct, notes_of
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.optimizers.rules.case import Case
from skillopt_cli.optimizers.rules.detectors import patterns
from skillopt_cli.optimizers.rules.layout import BULLET, Layout
from skillopt_cli.optimizers.rules.rulebook import BY_PATTERN

LEAST_FAILURES = 2
"""Failures of a step that count as a violation: one may be chance."""


def reminders(
    cases: Sequence[Case], layout: Layout, known: Sequence[str], longest: int
) -> Mapping[str, str]:
    """By pattern, the rule to be re-stated in the appendix, in the words the skill has it in.

    Args:
        cases: of the step; right answers are left out.
        known: notes that are of no use: the appendix holds them, or the gate turned them down. A
            pattern that shows in spite of them needs another rule.
        longest: words of the longest reference; a rule that allows fewer is wrong, not ignored.
    """
    failures = [case for case in cases if case.failed and case.consistent]
    counted = Counter(name for case in failures for name in patterns(case))
    found: dict[str, str] = {}
    for name, n in counted.items():
        own = layout.on(BY_PATTERN[name].topic)
        if n < LEAST_FAILURES or own is None or own.rule.pattern != name or own.limit < longest:
            continue
        sentence = own.line.removeprefix(BULLET).strip()
        if distinct([sentence], known):
            found[name] = sentence
    return found


def known_notes(skill: SkillDocument, lessons: Sequence[Lesson]) -> list[str]:
    """The notes of the skill's appendix, and those the gate turned down in this epoch."""
    refused = [note for lesson in lessons for note in lesson.rejected_notes]
    return [*notes_of(skill), *refused]
