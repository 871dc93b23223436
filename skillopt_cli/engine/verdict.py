"""The verdict at the end of a training, and what label tasks prove against one answer to all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from skillopt_cli.benchmarks.kit.labels import (
    Referenced,
    given_label,
    majority_baselines,
    never_right,
    own_references,
)
from skillopt_cli.core.events import VerdictReached
from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.labels import Labels
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
) -> LabelDiagnostics | None:
    """What one answer to all tasks of the verdict scores; None where answers are no labels.

    Args:
        best: marks of the best skill on these tasks, empty where it was not measured.
    """
    measured = run.confirmation or run.splits["test"]
    tasks = own_references(run.benchmark, {**run.splits, "test": measured})
    constants = await _one_answer(run, tasks, measured)
    if not constants:
        return None
    compared = [
        (replace(found, verdict=_verdict(run, _marks(made), best) if best else None), made)
        for found, made in constants
    ]
    found, made = max(compared, key=lambda one: one[0].difficulty)
    # `gate-report --recompute` reads it, as it does the results of the skills.
    keep_results(run, f"test/{_arm(run, 'majority')}", made)
    names = {one.label: one.expected[0] for one in tasks}
    unlabelled = _gave_no_label(run, seed, measured, Labels(tuple(names.values())))
    return replace(
        found,
        seed_answers=len(unlabelled),
        seed_unlabelled=sum(unlabelled),
        never_right=never_right((one for one in tasks if one.split == "test"), best),
    )


async def against_majority(
    run: Run, split: TaskSet, skills: Mapping[str, Mapping[str, Mark]], repeats: int = 1
) -> dict[str, LabelDiagnostics]:
    """What one answer to all tasks of a split scores, with the verdict on each skill against it.

    Args:
        skills: marks on these tasks, by the name of the skill.
        repeats: most attempts that a mark is the mean of.

    Returns:
        Nothing where answers are no labels.
    """
    tasks = own_references(run.benchmark, run.splits)
    constants = await _one_answer(run, tasks, run.tasks(split))
    if not constants:
        return {}
    rule = VerdictRule(run.metric, run.rule.min_coverage)
    compared = {
        name: [
            replace(found, verdict=run_verdict(_marks(made), marks, split, rule))
            for found, made in constants
        ]
        for name, marks in skills.items()
    }
    own = [one for one in tasks if split in ("all", one.split)]
    return {
        name: replace(
            max(found, key=lambda one: one.difficulty),
            never_right=never_right(own, skills[name], repeats),
        )
        for name, found in compared.items()
    }


async def _one_answer(
    run: Run, tasks: Sequence[Referenced], measured: Sequence[Task]
) -> list[tuple[LabelDiagnostics, Sequence[Trajectory]]]:
    """The majority baselines on these tasks, each with its attempts at them."""
    scored: dict[str, list[Trajectory]] = {}

    async def score(task: Task, answer: str) -> float:
        attempt = Attempt(f"<answer>{answer}</answer>")
        found = await run.benchmark.score(task, attempt)
        scored.setdefault(answer, []).append(Trajectory(task, attempt, found))
        return run.metric(found)

    found = await majority_baselines(tasks, measured, score)
    return [(one, scored[one.answer]) for one in found]


def _marks(made: Iterable[Trajectory]) -> dict[str, Mark]:
    return {one.task.id: mark(one.score) for one in made}


def _gave_no_label(
    run: Run, seed: SkillDocument, measured: Sequence[Task], labels: Labels
) -> list[bool]:
    """Of each scored answer of the seed, whether it is wrong and no label."""
    made = [run.store.recall(rollout_key(run, seed.sent, task, draw=0), task) for task in measured]
    return [
        one.score.hard < 1.0 and given_label(one.attempt.answer, labels) is None
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
