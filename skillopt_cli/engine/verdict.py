"""The verdict at the end of a training, on the confirmation slice or the test split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from skillopt_cli.benchmarks.kit.labels import (
    labels_of,
    majority_baseline,
    names_label,
    own_references,
)
from skillopt_cli.core.events import VerdictReached
from skillopt_cli.core.majority_baseline import MajorityBaseline
from skillopt_cli.core.run_verdict import VerdictRule, run_verdict
from skillopt_cli.core.score import Measured
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Task
from skillopt_cli.stages import Run, begin_tests, measure_test
from skillopt_cli.stages.attempts import rollout_key


async def reach_verdict(
    run: Run, seed: SkillDocument, best: SkillDocument, tests: Mapping[str, Measured]
) -> None:
    """Compare the best skill with the seed, and state the verdict; none without any tasks.

    Args:
        tests: marks of the skills on the test split, by label, which are used where no
            confirmation slice was set aside.
    """
    identical = seed.sent.digest == best.sent.digest
    if run.confirmation:
        tests = {} if identical else await _confirmed(run, {"seed": seed, "best": best})
    if not (run.confirmation or tests):
        return
    nothing = Measured(seed)
    verdict = run_verdict(
        tests.get("seed", nothing).marks,
        tests.get("best", nothing).marks,
        "confirmation" if run.confirmation else "test",
        VerdictRule(run.metric, run.rule.min_coverage),
        identical=identical,
    )
    run.emit(VerdictReached(verdict, await _majority(run, seed)))


async def _majority(run: Run, seed: SkillDocument) -> MajorityBaseline | None:
    """What one answer to all tasks of the verdict scores; None where answers are no labels."""
    measured = run.confirmation or run.splits["test"]
    tasks = own_references(run.benchmark, {**run.splits, "test": measured})

    async def score(task: Task, answer: str) -> float:
        return run.metric(await run.benchmark.score(task, Attempt(f"<answer>{answer}</answer>")))

    found = await majority_baseline(tasks, measured, score)
    if found is None:
        return None
    labels = labels_of(tasks)
    made = [run.store.recall(rollout_key(run, seed.sent, task, draw=0), task) for task in measured]
    scored = [(one.attempt.answer, one.score) for one in made if one and one.score]
    unlabelled = [
        answer for answer, one in scored if one.hard < 1.0 and not names_label(answer, labels)
    ]
    return replace(found, seed_answers=len(scored), seed_unlabelled=len(unlabelled))


async def _confirmed(run: Run, arms: Mapping[str, SkillDocument]) -> dict[str, Measured]:
    """Marks on the tasks that no step used."""
    apart = replace(run, splits={**run.splits, "test": run.confirmation})
    named = {arm: f"{arm}_confirmation" for arm in arms}
    begin_tests(apart, {named[arm]: skill for arm, skill in arms.items()})
    return {arm: await measure_test(apart, skill, named[arm]) for arm, skill in arms.items()}
