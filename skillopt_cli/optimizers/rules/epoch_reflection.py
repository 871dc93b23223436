"""Looking back over an epoch without a model: guidance from pairs, notes on what was refused."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.epoch_pairs import Pair
from skillopt_cli.core.score import Trajectory
from skillopt_cli.optimizers.rules.case import read_cases
from skillopt_cli.optimizers.rules.detectors import DETECTORS, patterns
from skillopt_cli.optimizers.rules.rulebook import BY_PATTERN
from skillopt_cli.optimizers.rules.text import words
from skillopt_cli.stages.run import Comparison, Run

LEAST_SUPPORT = 2
"""Pairs a piece of guidance must rest on."""
MOST_POINTS = 4
MOST_NOTES = 40
"""Refused edits remembered, newest first."""
_BLOCK = re.compile(r"```json\n(.*?)\n```", re.DOTALL)

Change = tuple[str, str, str]


async def guide_by_rules(run: Run, comparison: Comparison) -> str | None:
    """Rules for what regressed, then for what still fails, where several pairs show the same.

    Without such evidence there is no guidance: the region keeps what it holds.
    """
    points = [
        *_points(run, comparison.pairs, "regressed", "Take care again"),
        *_points(run, comparison.pairs, "persistent_fail", "Still often missed"),
    ]
    return "\n".join(dict.fromkeys(points[:MOST_POINTS])) or None


def _points(run: Run, pairs: Sequence[Pair], category: str, opening: str) -> list[str]:
    attempts: list[Trajectory] = [pair.after for pair in pairs if pair.category == category]
    cases = [case for case in read_cases(run.benchmark, attempts) if case.consistent]
    counted = Counter(name for case in cases for name in patterns(case))
    longest = max((len(words(case.reference)) for case in cases), default=1)
    ranked = sorted(counted, key=lambda name: (-counted[name], list(DETECTORS).index(name)))
    return [
        f"- {opening}: {_lowered(BY_PATTERN[name].says(0, max(1, longest)))}"
        for name in ranked
        if counted[name] >= LEAST_SUPPORT
    ]


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


async def remember_by_rules(run: Run, comparison: Comparison) -> str | None:
    """What the gate turned down, this epoch's first; the analyst reads it back with `recalled`."""
    fresh = [edit.change for lesson in comparison.lessons for edit in lesson.rejected]
    known = [change for change, n in recalled(run.memory).items() for _ in range(n)]
    if not fresh and not known:
        return None
    kept = Counter([*fresh, *known]).most_common(MOST_NOTES)
    rows = [[*change, n] for change, n in kept]
    listed = json.dumps(rows, ensure_ascii=False, indent=0)
    return f"Edits the gate turned down, and how often:\n```json\n{listed}\n```"


def recalled(memory: str) -> Counter[Change]:
    """The refused changes of earlier epochs with their counts; empty for notes of other origin."""
    found = _BLOCK.search(memory)
    if found is None:
        return Counter()
    try:
        rows = json.loads(found.group(1))
        return Counter({(str(op), str(at), str(text)): int(n) for op, at, text, n in rows})
    except (ValueError, TypeError):
        return Counter()


def refused_for_good(memory: str) -> list[Edit]:
    """Edits turned down in two epochs or more: proposing them a third time is waste."""
    return [Edit(op, text, at) for (op, at, text), n in recalled(memory).items() if n > 1]
