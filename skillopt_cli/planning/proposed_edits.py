"""The edits that a round of analysis proposes, and the failed tasks that they name. Pure."""

from __future__ import annotations

from dataclasses import dataclass

EDITS_PER_PATCH = 2
"""Edits that an analyst proposes, each for its share of the failed tasks that it reads."""
EXAMPLES = 8
"""Worked examples that a skill has room for; an optimizer without a model tries that many."""
PER_RULE = 4
"""Failed tasks of which it makes one rule, beside the examples."""
RULES = 8
"""Rules that it tries in a round, where many tasks fail."""
RULES_AT_MOST = 42
"""Rules that it may try: one for each label, and one for each fault of an answer's form."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """Edits of a round that name about as many failed tasks each.

    Attributes:
        edits: their number, which may be a mean.
        named: failed tasks that each of them names.
    """

    edits: float
    named: float


def proposed_by_model(patches: float, failed: float) -> list[Proposed]:
    """Of so many patches; each failed task is named by one edit."""
    edits = EDITS_PER_PATCH * patches
    return [Proposed(edits, failed / edits if edits else 0.0)]


def proposed_by_rules(failed: float, minibatch: int, passing: float, before: int) -> list[Proposed]:
    """Of an optimizer without a model, after so many other rounds of the run.

    An example names the others of its minibatch, a rule those that show what it is about. Examples
    that pass take up the skill's room for them.

    Args:
        minibatch: tasks that an analyst reads.
        passing: chance that an edit passes.
    """
    examples = min(failed, EXAMPLES * (1 - passing) ** before)
    rules = min(RULES, failed / PER_RULE)
    return [
        Proposed(examples, max(0.0, min(minibatch, failed) - 1)),
        Proposed(rules, failed / rules if rules else 0.0),
    ]
