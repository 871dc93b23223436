"""The verdict at the end of a training, and what label tasks prove against one answer to all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from skillopt_cli.benchmarks.kit.labels import (
    Referenced,
    labels_of,
    majority_baseline,
    names_label,
    own_references,
)
from skillopt_cli.core.events import VerdictReached
from skillopt_cli.core.majority_baseline import MajorityBaseline
from skillopt_cli.core.run_verdict import RunVerdict, VerdictRule, VerdictSplit, run_verdict
from skillopt_cli.core.score import Mark, Measured, Trajectory, mark
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Task, TaskSet
from skillopt_cli.stages import Run, begin_tests, measure_test
from skillopt_cli.stages.attempts import keep_results, rollout_key


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
    of_seed, of_best = (tests.get(arm, nothing).marks for arm in ("seed", "best"))
    verdict = _verdict(run, of_seed, of_best, identical=identical)
    run.emit(VerdictReached(verdict, await _majority(run, seed, of_best)))


def _verdict(
    run: Run, first: Mapping[str, Mark], best: Mapping[str, Mark], *, identical: bool = False
) -> RunVerdict:
    split: VerdictSplit = "confirmation" if run.confirmation else "test"
    rule = VerdictRule(run.metric, run.rule.min_coverage)
    return run_verdict(first, best, split, rule, identical=identical)


async def _majority(
    run: Run, seed: SkillDocument, best: Mapping[str, Mark]
) -> MajorityBaseline | None:
    """What one answer to all tasks of the verdict scores; None where answers are no labels.

    Args:
        best: marks of the best skill on these tasks, empty where it was not measured.
    """
    measured = run.confirmation or run.splits["test"]
    tasks = own_references(run.benchmark, {**run.splits, "test": measured})
    found, made = await _one_answer(run, tasks, measured)
    if found is None:
        return None
    # `gate-report --recompute` reads it, as it does the results of the skills.
    keep_results(run, f"test/{_arm(run, 'majority')}", made)
    marks = _marks(made)
    unlabelled = _named_no_label(run, seed, measured, labels_of(tasks))
    return replace(
        found,
        seed_answers=len(unlabelled),
        seed_unlabelled=sum(unlabelled),
        verdict=_verdict(run, marks, best) if best else None,
    )


async def against_majority(
    run: Run, split: TaskSet, skills: Mapping[str, Mapping[str, Mark]]
) -> dict[str, MajorityBaseline]:
    """What one answer to all tasks of a split scores, with the verdict on each skill against it.

    Args:
        skills: marks on these tasks, by the name of the skill.

    Returns:
        Nothing where answers are no labels.
    """
    tasks = own_references(run.benchmark, run.splits)
    found, made = await _one_answer(run, tasks, run.tasks(split))
    if found is None:
        return {}
    constant, rule = _marks(made), VerdictRule(run.metric, run.rule.min_coverage)
    return {
        name: replace(found, verdict=run_verdict(constant, marks, split, rule))
        for name, marks in skills.items()
    }


async def _one_answer(
    run: Run, tasks: Sequence[Referenced], measured: Sequence[Task]
) -> tuple[MajorityBaseline | None, Sequence[Trajectory]]:
    """The majority baseline on these tasks, and its attempts at them."""
    scored: dict[str, list[Trajectory]] = {}

    async def score(task: Task, answer: str) -> float:
        attempt = Attempt(f"<answer>{answer}</answer>")
        found = await run.benchmark.score(task, attempt)
        scored.setdefault(answer, []).append(Trajectory(task, attempt, found))
        return run.metric(found)

    found = await majority_baseline(tasks, measured, score)
    return found, scored[found.answer] if found else ()


def _marks(made: Iterable[Trajectory]) -> dict[str, Mark]:
    return {one.task.id: mark(one.score) for one in made}


def _named_no_label(
    run: Run, seed: SkillDocument, measured: Sequence[Task], labels: Iterable[str]
) -> list[bool]:
    """Of each scored answer of the seed, whether it is wrong and names no label."""
    made = [run.store.recall(rollout_key(run, seed.sent, task, draw=0), task) for task in measured]
    return [
        one.score.hard < 1.0 and not names_label(one.attempt.answer, labels)
        for one in made
        if one and one.score
    ]


async def _confirmed(run: Run, arms: Mapping[str, SkillDocument]) -> dict[str, Measured]:
    """Marks on the tasks that no step used."""
    apart = replace(run, splits={**run.splits, "test": run.confirmation})
    named = {arm: _arm(run, arm) for arm in arms}
    begin_tests(apart, {named[arm]: skill for arm, skill in arms.items()})
    return {arm: await measure_test(apart, skill, named[arm]) for arm, skill in arms.items()}


def _arm(run: Run, arm: str) -> str:
    """The label of what attempted the tasks of the verdict."""
    return f"{arm}_confirmation" if run.confirmation else arm
