"""What to do next where a training has no proven gain: more test tasks, or edits tried together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from skillopt_cli.core.edits import EditOutcome
from skillopt_cli.core.events import RunFinished
from skillopt_cli.runlog.text.format import count
from skillopt_cli.runlog.text.verdict import more_tasks_words
from skillopt_cli.runlog.verdict import verdict_of
from skillopt_cli.runlog.view import RunView


def result_hints(view: RunView) -> tuple[str, ...]:
    """How to go on after a training without a proven gain, each a sentence; else none."""
    verdict = verdict_of(view)
    if verdict is None or verdict.word == "improved" or not isinstance(view.ending, RunFinished):
        return ()
    more = more_tasks_words(view.verdict) if view.verdict is not None else ""
    return tuple(filter(None, (more, _joint_words(view))))


def _joint_words(view: RunView) -> str:
    """That edits which help only together can be tried together; "" where no step hints at such.

    A step does where two of its edits, tried alone on a task in common, solved nothing.
    """
    steps = sum(any(_useless_alone(step.outcomes)) for step in view.steps)
    if not steps:
        return ""
    return (
        f"in {count(steps, 'step')} edits for the same task were refused since each solved nothing"
        " alone; `optimizer.verify=joint` tries the edits of a step together"
    )


def _useless_alone(outcomes: tuple[EditOutcome, ...]) -> Iterator[bool]:
    """Whether two edits have a task in common, for each two that solved nothing alone."""
    trials = [outcome.trial for outcome in outcomes if outcome.state == "unverified"]
    alone = [trial for trial in trials if trial and not (trial.joint or trial.fixed)]
    return (not {*one.tried}.isdisjoint(other.tried) for one, other in combinations(alone, 2))
