"""What a sweep came to: its combinations ranked, and which differences are more than luck.

Combinations are ranked by their selection scores, and told apart by the test: where the tasks that
choose are also those that judge, the luckiest looks best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from skillopt_cli.compose.comparison import refuse_other_tasks
from skillopt_cli.compose.folder import MANIFEST
from skillopt_cli.compose.manifest import read_manifest
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.events import RunFinished
from skillopt_cli.core.luck import LEVEL, corrected, interval, sign_test
from skillopt_cli.sweeps.grid import Settings
from skillopt_cli.sweeps.schedule import Outcome
from skillopt_cli.sweeps.trials import Trial
from skillopt_cli.ui.summary import status
from skillopt_cli.ui.view import RunView

Verdict = Literal["better", "worse", "within noise"]
Marks = Mapping[str, float]
"""Hard scores on test tasks, by task."""

_DECIMALS = 9
"""Means over seeds are sums of fractions: what differs only beyond these is equal."""


@dataclass(frozen=True, slots=True)
class Result:
    """A run of a sweep, and how it stands.

    Attributes:
        status: as in `summary.json`, or `not_started`, `pruned`.
        message: why it failed, empty where it did not.
    """

    trial: Trial
    view: RunView
    status: str
    message: str = ""

    @property
    def finished(self) -> bool:
        """Whether it came to its end."""
        return isinstance(self.view.ending, RunFinished)


@dataclass(frozen=True, slots=True)
class Tested:
    """Test scores of a combination. A task's mark is its mean over seeds.

    Attributes:
        hard: mean over tasks.
        low, high: where the mean over all such tasks lies, in 95 of 100 cases.
        by_seed: the mean of each run over the same tasks.
    """

    marks: Marks
    hard: float
    low: float
    high: float
    by_seed: tuple[float, ...]

    @property
    def n(self) -> int:
        """Tasks with a score under every seed."""
        return len(self.marks)


@dataclass(frozen=True, slots=True)
class Against:
    """A combination held against the first, on the test tasks both have.

    Attributes:
        difference: of the means, its own minus the first's.
        won, lost: tasks on which its mark is higher, or lower.
        chance: how often luck alone gives this or more, all comparisons taken together.
    """

    difference: float
    won: int
    lost: int
    n: int
    chance: float

    @property
    def verdict(self) -> Verdict:
        """What the difference is worth; a mean that goes against most tasks shows nothing."""
        if self.chance >= LEVEL or (self.won - self.lost) * self.difference <= 0:
            return "within noise"
        return "better" if self.won > self.lost else "worse"


@dataclass(frozen=True, slots=True)
class Combination:
    """Settings, and the runs that were made with them, one per seed.

    Attributes:
        tested: None where a run has no test score yet.
        against: None for the first one, and where there is nothing to compare.
    """

    settings: Settings
    results: tuple[Result, ...]
    tested: Tested | None = None
    against: Against | None = None

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
    def _finished(self) -> list[Result]:
        return [result for result in self.results if result.finished]


@dataclass(frozen=True, slots=True)
class Standings:
    """The combinations of a sweep, the best first and those without a full result last.

    Attributes:
        incomparable: why combinations are not held against each other, empty where they are.
    """

    combinations: Sequence[Combination] = ()
    incomparable: str = ""
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def places(self) -> list[int | None]:
        """Of each combination; equal selection scores share one, None without a full result."""
        places: list[int | None] = []
        for i, combination in enumerate(self.combinations):
            shared = i > 0 and _rank(combination) == _rank(self.combinations[i - 1])
            place = places[-1] if shared else i + 1
            places.append(place if combination.complete else None)
        return places

    @property
    def results(self) -> Iterator[Result]:
        """All runs."""
        for combination in self.combinations:
            yield from combination.results


def standings(
    trials: Sequence[Trial], outcome: Outcome, read: Callable[[Path], RunView]
) -> Standings:
    """What the runs of a sweep came to, by their folders."""
    groups: dict[Settings, list[Result]] = {}
    for trial in trials:
        groups.setdefault(trial.settings, []).append(_result(trial, outcome, read))
    found = [Combination(settings, tuple(results)) for settings, results in groups.items()]
    found.sort(key=_rank)
    why = _incomparable([c for c in found if c.complete])
    tested = [replace(c, tested=_tested(c)) if c.complete else c for c in found]
    return Standings(tested if why else _compared(tested), why, outcome)


def _rank(combination: Combination) -> tuple[bool, float]:
    """The best first; equal ones in the order of the grid."""
    known = combination.complete and combination.best is not None
    return not known, -round(combination.best or 0.0, _DECIMALS)


def _result(trial: Trial, outcome: Outcome, read: Callable[[Path], RunView]) -> Result:
    failed = outcome.failures.get(trial.run_id)
    try:
        view = read(trial.folder)
    except DataError as error:
        return Result(trial, RunView(), "failed", error.message)
    if trial.run_id in outcome.dropped:
        return Result(trial, view, "pruned")
    if view.run is None:
        return Result(trial, view, "failed" if failed else "not_started", _why(failed))
    return Result(trial, view, status(view), _why(failed))


def _why(failed: object) -> str:
    return str(getattr(failed, "message", ""))


def _incomparable(complete: Sequence[Combination]) -> str:
    folders = [result.trial.folder for c in complete for result in c.results]
    try:
        manifests = {folder.name: read_manifest(folder / MANIFEST) for folder in folders}
        if len(manifests) > 1:
            refuse_other_tasks(manifests)
    except (UsageError, DataError) as error:
        return error.message
    return ""


def _tested(combination: Combination) -> Tested | None:
    found = [_marks(result.view) for result in combination.results]
    runs = [marks for marks in found if marks]
    if len(runs) < len(combination.results):
        return None
    common = [task for task in runs[0] if all(task in marks for marks in runs)]
    if not common:
        return None
    marks = {task: math.fsum(run[task] for run in runs) / len(runs) for task in common}
    hard = math.fsum(marks.values()) / len(marks)
    low, high = interval(hard, len(marks))
    by_seed = tuple(math.fsum(run[task] for task in common) / len(common) for run in runs)
    return Tested(marks, hard, low, high, by_seed)


def _marks(view: RunView) -> Marks:
    """Marks of a run's best skill on the test tasks; empty where it was not measured."""
    if "best" not in view.tests:
        return {}
    tried = {made.label: made.outcomes for made in view.rounds if made.stage == "test"}
    # A best skill that reads like the seed is not measured a second time.
    outcomes = tried.get("best") or tried.get("seed", ())
    return {outcome.task: outcome.hard for outcome in outcomes if outcome.hard is not None}


def _compared(combinations: Sequence[Combination]) -> list[Combination]:
    """Each held against the first that has test scores."""
    first = next((c for c in combinations if c.tested), None)
    others = [c for c in combinations if c.tested and c is not first]
    if first is None or first.tested is None:
        return list(combinations)
    pairs = [_against(c.tested, first.tested) for c in others if c.tested]
    chances = corrected([pair.chance for pair in pairs])
    found = {
        id(c): replace(pair, chance=chance)
        for c, pair, chance in zip(others, pairs, chances, strict=True)
    }
    return [replace(c, against=found.get(id(c))) for c in combinations]


def _against(mine: Tested, first: Tested) -> Against:
    common = [task for task in mine.marks if task in first.marks]
    apart = [mine.marks[task] - first.marks[task] for task in common]
    won, lost = (sum(round(sign * d, _DECIMALS) > 0 for d in apart) for sign in (1, -1))
    difference = math.fsum(apart) / len(apart) if apart else 0.0
    return Against(difference, won, lost, len(common), sign_test(won, lost))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None
