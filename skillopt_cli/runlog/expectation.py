"""The score to expect of the best skill on fresh tasks: its maximum less the optimism of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from skillopt_cli.core.optimism import graded, optimism
from skillopt_cli.runlog.outcomes import Outcomes
from skillopt_cli.runlog.rounds import Round
from skillopt_cli.runlog.view import RunView


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the best of several texts will likely score on fresh tasks.

    Attributes:
        value: under the gate metric.
        texts: texts measured on the whole selection split, the seed included.
    """

    value: float
    texts: int


def expected_best(view: RunView) -> Expectation | None:
    """The expectation of a training; None for a single text, and where the log lacks the scores.

    It lacks a mixed score, whose weight it does not hold. Texts that were rejected before
    all tasks were attempted are left out, so the correction is rather too small than too large.
    """
    best, base = view.standing.best, view.baseline
    metric = view.run.metric if view.run else ""
    if best is None or base is None or metric not in ("hard", "soft"):
        return None
    texts = [made.outcomes.averaged for made in measured_in_full(view)]
    if len(texts) < 2:
        return None
    return Expectation(max(0.0, best - optimism(_aligned(texts, metric))), len(texts))


def measured_in_full(view: RunView) -> tuple[Round, ...]:
    """The measurements of a text on all selection tasks.

    One that was settled early is none, even if all its attempts were under way by then: how many
    are depends on the number of workers.
    """
    n = view.baseline.n if view.baseline else 0
    steps = {(s.number, False) for s in view.steps if s.decision and s.decision.early}
    ends = {(e.step, True) for e in view.epochs if e.decision and e.decision.early}
    return tuple(
        made
        for made in view.rounds
        if made.stage == "measure"
        and not made.label
        and made.attempts == n
        and (made.step, made.closing) not in steps | ends
    )


def _aligned(texts: Sequence[Outcomes], metric: str) -> list[bytes]:
    """The graded scores of each text on the tasks that all have one for, by the tasks' ids."""
    kind = ("hard", "soft").index(metric)
    scores = [[pair[kind] for pair in text.pairs] for text in texts]
    lists = {text.tasks for text in texts}
    shared = set.intersection(*map(set, lists))
    for text, known in zip(texts, scores, strict=True):
        if None in known:
            pairs = zip(text.tasks, text.codes, strict=True)
            shared -= {task for task, code in pairs if known[code] is None}
    kept = {tasks: [task in shared for task in tasks] for tasks in lists if shared < set(tasks)}
    columns = []
    for text, known in zip(texts, scores, strict=True):
        column = text.coded([graded(score or 0.0) for score in known])
        some = kept.get(text.tasks)
        columns.append(bytes(compress(column, some)) if some else column)
    return columns
