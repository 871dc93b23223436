"""Results of a sweep: ranked combinations and the significance of their differences.

Combinations are ranked by selection score and compared by test score: tasks that chose a skill
overestimate it. The selection score is that of the gate, or the hard one where the gates of the
runs have different metrics, whose scores cannot be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from skillopt_cli.compose.fingerprint import read_manifest
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.events import RunFinished
from skillopt_cli.core.paired_statistics import paired_differences
from skillopt_cli.core.score import MetricName
from skillopt_cli.core.statistics import LEVEL, corrected, interval
from skillopt_cli.runlog.best_scores import best_test_scores
from skillopt_cli.runlog.manifest_diff import require_same_tasks
from skillopt_cli.runlog.summary import status
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import MANIFEST
from skillopt_cli.sweeps.grid import Settings
from skillopt_cli.sweeps.scheduler import SweepOutcome
from skillopt_cli.sweeps.trials import Trial

Verdict = Literal["better", "worse", "within noise"]
GateMetric = tuple[MetricName, float | None]
"""Name of a gate's metric, and of a mixed one its weight."""
TaskScores = Mapping[str, float]
"""Hard scores on test tasks, by task."""

_DECIMALS = 9
"""Means over seeds are compared to this precision."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A run of a sweep and its state.

    Attributes:
        status: as in `summary.json`, or `not_started`, `pruned`.
        message: the error of a failed run, else empty.
    """

    trial: Trial
    view: RunView
    status: str
    message: str = ""

    @property
    def finished(self) -> bool:
        """Whether the run is complete."""
        return isinstance(self.view.ending, RunFinished)


@dataclass(frozen=True, slots=True)
class TestScores:
    """Test scores of a combination; a task's score is its mean over seeds.

    Attributes:
        hard: mean over tasks.
        low, high: 95 % confidence interval of the mean.
        by_seed: the mean of each run over the same tasks.
    """

    scores: TaskScores
    hard: float
    low: float
    high: float
    by_seed: tuple[float, ...]

    @property
    def n(self) -> int:
        """Number of tasks with a score for every seed."""
        return len(self.scores)


@dataclass(frozen=True, slots=True)
class SweepComparison:
    """A combination compared with the first, on the test tasks of both.

    Attributes:
        difference: its mean minus the first's.
        won, lost: tasks on which its score is higher, or lower.
        chance: p-value, corrected for the number of comparisons.
    """

    difference: float
    won: int
    lost: int
    n: int
    chance: float

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        if self.chance >= LEVEL:
            return "within noise"
        return "better" if self.difference > 0 else "worse"


@dataclass(frozen=True, slots=True)
class Combination:
    """Settings and their runs, one per seed.

    Attributes:
        tested: None where a run has no test score yet.
        against: None for the first one, and where a comparison is impossible.
        common_metric: whether all runs of the sweep have the same gate metric.
    """

    settings: Settings
    results: tuple[TrialResult, ...]
    tested: TestScores | None = None
    against: SweepComparison | None = None
    common_metric: bool = True

    @property
    def complete(self) -> bool:
        """Whether all its runs are finished."""
        return all(result.finished for result in self.results)

    @property
    def before(self) -> float | None:
        """Mean selection score of the seed skill over finished runs, as `SweepResults.metric`."""
        found = [result.view.baseline for result in self._finished]
        return _mean([
            None if seed is None else seed.value if self.common_metric else seed.hard
            for seed in found
        ])

    @property
    def best(self) -> float | None:
        """Mean selection score of the best skills over finished runs, as `SweepResults.metric`."""
        return _mean([_best_score(r.view, self.common_metric) for r in self._finished])

    @property
    def _finished(self) -> list[TrialResult]:
        return [result for result in self.results if result.finished]


@dataclass(frozen=True, slots=True)
class SweepResults:
    """The combinations of a sweep, best first, incomplete ones last.

    Attributes:
        metrics: the gate metrics of the runs.
        incomparable: why combinations are not compared, else empty.
    """

    combinations: Sequence[Combination] = ()
    incomparable: str = ""
    outcome: SweepOutcome = field(default_factory=SweepOutcome)
    metrics: frozenset[GateMetric] = frozenset()

    @property
    def metric(self) -> MetricName:
        """The metric of the selection scores: that of the gates, hard where they differ."""
        return next(iter(self.metrics))[0] if len(self.metrics) == 1 else "hard"

    @property
    def places(self) -> list[int | None]:
        """Rank of each combination; equal scores share one, incomplete ones have None."""
        places: list[int | None] = []
        for i, combination in enumerate(self.combinations):
            shared = i > 0 and _rank(combination) == _rank(self.combinations[i - 1])
            place = places[-1] if shared else i + 1
            places.append(place if combination.complete else None)
        return places

    @property
    def results(self) -> Iterator[TrialResult]:
        """All runs."""
        for combination in self.combinations:
            yield from combination.results


def sweep_results(
    trials: Sequence[Trial], outcome: SweepOutcome, read: Callable[[Path], RunView]
) -> SweepResults:
    """Read the results of a sweep from its run folders."""
    groups: dict[Settings, list[TrialResult]] = {}
    for trial in trials:
        groups.setdefault(trial.settings, []).append(_result(trial, outcome, read))
    metrics = frozenset(gate_metric(trial) for trial in trials)
    found = [
        Combination(settings, tuple(results), common_metric=len(metrics) < 2)
        for settings, results in groups.items()
    ]
    found.sort(key=_rank)
    why = _incomparable([c for c in found if c.complete])
    tested = [replace(c, tested=_test_scores(c)) if c.complete else c for c in found]
    return SweepResults(tested if why else _with_comparisons(tested), why, outcome, metrics)


def gate_metric(trial: Trial) -> GateMetric:
    """The metric of a run's gate."""
    gate = trial.config.evaluation
    return gate.gate_metric, gate.gate_mixed_weight if gate.gate_metric == "mixed" else None


def _best_score(view: RunView, common_metric: bool) -> float | None:
    """The selection score of the best skill; logs of old versions may not have the hard one."""
    if common_metric:
        return view.standing.best
    means = view.saved.best if view.saved else None
    return means.hard if means else None


def _rank(combination: Combination) -> tuple[bool, float]:
    """Sort key: best first, equal ones in the order of the grid."""
    known = combination.complete and combination.best is not None
    return not known, -round(combination.best or 0.0, _DECIMALS)


def _result(trial: Trial, outcome: SweepOutcome, read: Callable[[Path], RunView]) -> TrialResult:
    failure = outcome.failures.get(trial.run_id)
    message = failure.message if failure else ""
    try:
        view = read(trial.folder)
    except DataError as error:
        return TrialResult(trial, RunView(), "failed", error.message)
    if trial.run_id in outcome.pruned:
        return TrialResult(trial, view, "pruned")
    if view.run is None:
        return TrialResult(trial, view, "failed" if failure else "not_started", message)
    return TrialResult(trial, view, status(view), message)


def _incomparable(complete: Sequence[Combination]) -> str:
    folders = [result.trial.folder for c in complete for result in c.results]
    try:
        manifests = {folder.name: read_manifest(folder / MANIFEST) for folder in folders}
        if len(manifests) > 1:
            require_same_tasks(manifests)
    except (UsageError, DataError) as error:
        return error.message
    return ""


def _test_scores(combination: Combination) -> TestScores | None:
    found = [best_test_scores(result.view) for result in combination.results]
    runs = [scores for scores in found if scores]
    if len(runs) < len(combination.results):
        return None
    common = [task for task in runs[0] if all(task in scores for scores in runs)]
    if not common:
        return None
    scores = {task: math.fsum(run[task] for run in runs) / len(runs) for task in common}
    hard = math.fsum(scores.values()) / len(scores)
    low, high = interval(hard, len(scores))
    by_seed = tuple(math.fsum(run[task] for task in common) / len(common) for run in runs)
    return TestScores(scores, hard, low, high, by_seed)


def _with_comparisons(combinations: Sequence[Combination]) -> list[Combination]:
    """The combinations, each compared with the first that has test scores."""
    first = next((c for c in combinations if c.tested), None)
    others = [c for c in combinations if c.tested and c is not first]
    if first is None or first.tested is None:
        return list(combinations)
    pairs = [_comparison(c.tested, first.tested) for c in others if c.tested]
    chances = corrected([pair.chance for pair in pairs])
    found = {
        id(c): replace(pair, chance=chance)
        for c, pair, chance in zip(others, pairs, chances, strict=True)
    }
    return [replace(c, against=found.get(id(c))) for c in combinations]


def _comparison(mine: TestScores, first: TestScores) -> SweepComparison:
    # A task's score is its mean over seeds already.
    base, own = ({t: [s] for t, s in tested.scores.items()} for tested in (first, mine))
    found = paired_differences(base, own)
    return SweepComparison(found.gain or 0.0, found.won, found.lost, found.n, found.p_value())


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None
