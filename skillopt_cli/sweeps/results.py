"""Results of a sweep: ranked combinations and the significance of their differences.

Combinations are ranked by selection score and compared by test score: tasks that chose a skill
overestimate it.
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
    """

    settings: Settings
    results: tuple[TrialResult, ...]
    tested: TestScores | None = None
    against: SweepComparison | None = None

    @property
    def complete(self) -> bool:
        """Whether all its runs are finished."""
        return all(result.finished for result in self.results)

    @property
    def before(self) -> float | None:
        """Mean selection score of the seed skill, under the gate metric, over finished runs."""
        return _mean([r.view.baseline.value if r.view.baseline else None for r in self._finished])

    @property
    def best(self) -> float | None:
        """Mean selection score of the best skills, under the gate metric, over finished runs."""
        return _mean([result.view.standing.best for result in self._finished])

    @property
    def _finished(self) -> list[TrialResult]:
        return [result for result in self.results if result.finished]


@dataclass(frozen=True, slots=True)
class SweepResults:
    """The combinations of a sweep, best first, incomplete ones last.

    Attributes:
        incomparable: why combinations are not compared, else empty.
    """

    combinations: Sequence[Combination] = ()
    incomparable: str = ""
    outcome: SweepOutcome = field(default_factory=SweepOutcome)

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
    found = [Combination(settings, tuple(results)) for settings, results in groups.items()]
    found.sort(key=_rank)
    why = _incomparable([c for c in found if c.complete])
    tested = [replace(c, tested=_test_scores(c)) if c.complete else c for c in found]
    return SweepResults(tested if why else _with_comparisons(tested), why, outcome)


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
