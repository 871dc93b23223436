"""Measuring a skill outside the steps: the baseline, and the test split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from skillopt_cli.core.errors import Indecisive
from skillopt_cli.core.events import RolloutFinished, RunStarted
from skillopt_cli.core.gate import EPSILON, gain
from skillopt_cli.core.repeats import Repeated
from skillopt_cli.core.score import Mark, Measured, mark
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import TaskSet
from skillopt_cli.engine.early_work import begin_first_rollout
from skillopt_cli.engine.event_builders import baseline_measured, test_measured
from skillopt_cli.stages import (
    Run,
    begin_tests,
    measure,
    measure_paired,
    measure_seed,
    measure_test,
    prune,
)
from skillopt_cli.stages.attempts import rollout_key


async def measure_baseline(
    run: Run, seed: SkillDocument, seen: Callable[[Mapping[str, Mark]], None] = lambda marks: None
) -> Measured:
    """The seed skill's marks on the selection split; `seen` hears them as they come.

    Raises:
        Indecisive: too few of its attempts could be scored to compare anything with it.
    """
    baseline = await measure_seed(run, seed, seen)
    # Runs of a sweep that wait for it look for its attempts in the shared cache.
    await run.store.flush()
    run.emit(baseline_measured(run, baseline))
    return _comparable(run, baseline, "baseline")


async def untrained(run: Run, seed: SkillDocument) -> TrainState:
    """The state before the first step, which begins beside; raises as `measure_baseline`."""
    baseline = await measure_baseline(run, seed, partial(begin_first_rollout, run, seed))
    return TrainState(current=baseline, best=baseline)


async def measured_again(run: Run, seed: SkillDocument, state: TrainState) -> TrainState:
    """The state with marks under present conditions, and the baseline under them.

    Marks on other tasks, of another target or by another scorer could not be compared with those
    to come. What the journal holds for these conditions costs nothing.

    Raises:
        Indecisive: too few attempts could be scored to compare anything with them.
    """

    async def again(label: str, skill: SkillDocument) -> Measured:
        apart = replace(run, folder=f"measured_again/{label}/")
        return _comparable(run, await measure(apart, skill, "selection", label), label)

    current = await again("current", state.current.skill)
    same = state.best.skill == state.current.skill
    best = current if same else await again("best", state.best.skill)
    baseline = await measure_baseline(run, seed)
    return state.measured_again(baseline, current, best, run.rule)


def _comparable(run: Run, measured: Measured, what: str) -> Measured:
    """What was measured, unless too little of it was for anything to be compared with it."""
    if measured.coverage < run.rule.min_coverage:
        raise Indecisive(
            f"only {measured.scored} of {measured.n} {what} attempts could be scored"
            f" (evaluation.min_coverage is {run.rule.min_coverage:g}){most_often(run)}",
            "remove the cause of the broken attempts, then resume: they are tried again",
        )
    return measured


def beats(run: Run, measured: Measured, seed: SkillDocument) -> bool:
    """Whether a text scored strictly better on the selection split than the seed did.

    Being another text does not say so: guidance is injected whatever its score. The seed's marks
    are those in the journal.
    """
    known = {
        task.id: mark(made.score)
        for task in run.splits["selection"]
        if (made := run.store.recall(rollout_key(run, seed.sent, task, draw=0), task))
    }
    return gain(measured.marks, known, run.metric) > EPSILON


async def measure_arms(run: Run, arms: Mapping[str, SkillDocument]) -> dict[str, Measured]:
    """Marks of each named skill on the test split; equal texts are measured once."""
    texts = [skill.sent.digest for skill in arms.values()]
    firsts = {label for place, label in enumerate(arms) if texts.index(texts[place]) == place}
    begin_tests(run, {label: skill for label, skill in arms.items() if label in firsts})
    by_text: dict[str, Measured] = {}
    results: dict[str, Measured] = {}
    for label, skill in arms.items():
        known = by_text.get(skill.sent.digest)
        # A text that only gained an empty region reads the same to the target, but is another text.
        measured = Measured(skill, known.marks) if known else await measure_test(run, skill, label)
        by_text[skill.sent.digest] = measured
        results[label] = measured
        run.emit(test_measured(label, measured))
    return results


async def evaluate(run: Run, skill: SkillDocument, split: TaskSet) -> Measured:
    """Marks of one skill on one split; no optimizer needed."""
    if split == "test":
        return (await measure_arms(run, {"eval": skill}))["eval"]
    measured = await measure(run, skill, split)
    run.emit(test_measured(split, measured))
    return measured


async def evaluate_arms(
    run: Run, arms: Mapping[str, SkillDocument], split: TaskSet, repeats: int = 1
) -> dict[str, Repeated]:
    """Marks of several skills on one split, measured in one pass."""
    results = await measure_paired(run, arms, split, repeats)
    for name, found in results.items():
        label = name if split == "test" else f"{name}_{split}"
        run.emit(test_measured(label, found.averaged))
    return results


async def prune_measured(run: Run, skill: SkillDocument) -> Measured:
    """A skill without the blocks whose removal is not worse on the selection split.

    Raises:
        Indecisive: too few of its attempts could be scored to compare anything with it.
    """
    measured = _comparable(run, await measure(run, skill, "selection"), "skill")
    pruned = await prune(run, measured)
    for label, found in (("before", measured), ("pruned", pruned)):
        run.emit(test_measured(f"{label}_selection", found))
    return pruned


def most_often(run: Run) -> str:
    """What broke most attempts of this process, to end a sentence with; empty when none broke."""
    reasons: Counter[str] = Counter()
    for fact in run.store.facts():
        if isinstance(fact.event, RunStarted):
            reasons.clear()
        elif isinstance(fact.event, RolloutFinished) and fact.event.ending == "broken":
            reasons[fact.event.error] += 1
    if not reasons:
        return ""
    ((reason, _),) = reasons.most_common(1)
    return f", most often: {reason.rstrip('.') or 'no reason given'}"
