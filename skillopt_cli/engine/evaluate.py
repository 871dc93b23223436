"""Measuring a skill outside the steps: the baseline, and the test split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from skillopt_cli.core.errors import Indecisive
from skillopt_cli.core.events import RolloutFinished, RunStarted
from skillopt_cli.core.score import Measured
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Split
from skillopt_cli.engine.facts import baseline_measured, test_measured
from skillopt_cli.stages import Run, measure, measure_test


async def measure_baseline(run: Run, seed: SkillDocument) -> Measured:
    """The seed skill's marks on the selection split.

    Raises:
        Indecisive: too few of its attempts could be scored to compare anything with it.
    """
    baseline = await measure(run, seed, "selection")
    run.emit(baseline_measured(run, baseline))
    if baseline.coverage < run.rule.min_coverage:
        raise Indecisive(
            f"only {baseline.scored} of {baseline.n} baseline attempts could be scored"
            f" (evaluation.min_coverage is {run.rule.min_coverage:g}){most_often(run)}",
            "mend the cause of the broken attempts, then resume: they are tried again",
        )
    return baseline


async def measure_arms(run: Run, arms: Mapping[str, SkillDocument]) -> dict[str, Measured]:
    """Marks of each named skill on the test split; equal texts are measured once."""
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


async def evaluate(run: Run, skill: SkillDocument, split: Split) -> Measured:
    """Marks of one skill on one split; no optimizer needed."""
    if split == "test":
        return (await measure_arms(run, {"eval": skill}))["eval"]
    measured = await measure(run, skill, split)
    run.emit(test_measured(split, measured))
    return measured


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
