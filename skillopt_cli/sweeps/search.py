"""Hyperparameter search with Optuna (extra `sweep`): chooses one combination after another.

The study is stored in the sweep's folder, so that a search continues where it stopped. A choice
depends on the search's seed, its own number and the earlier scores, so a killed search makes the
same choices. Only selection scores are used: test tasks must not choose what they then measure.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import RunFinished
from skillopt_cli.runlog.view import RunView
from skillopt_cli.sweeps.grid import Axis, Search, Settings, ValueRange
from skillopt_cli.sweeps.trials import Trial, TrialFactory

if TYPE_CHECKING:
    import optuna

STUDY = "study.log"
_SETTINGS = "settings"
_BEFORE_LEARNING = 5
"""Random trials before the sampler learns from them."""
_BEFORE_PRUNING = 3
"""Complete trials before pruning starts."""


class SearchSource:
    """Supplies trials that a sampler chooses.

    Args:
        maker: of a grid with a `search`.

    Raises:
        UsageError: Optuna is not installed.
    """

    def __init__(self, factory: TrialFactory) -> None:
        self._optuna = _optuna()
        self._axes = factory.grid.axes
        self._search = factory.grid.search or Search()
        self._factory = factory
        self._trials_of: dict[Settings, list[Trial]] = {}
        self._study = self._open_study(factory)
        self._asked: dict[int, list[Trial]] = {}
        self._values: dict[str, float | None] = {}
        self._reported: dict[int, int] = {}
        self._below_median: set[int] = set()
        self._resumed = self._unfinished()
        self.wants_progress = self._search.prune

    @property
    def trials(self) -> Sequence[Trial]:
        """The trials of every combination chosen so far, without duplicates."""
        numbers = [t.number for t in self._study.trials if _SETTINGS in t.user_attrs]
        chosen = [trial for number in numbers for trial in self._trials(number)]
        return list({trial.run_id: trial for trial in chosen}.values())

    @property
    def pruned(self) -> set[str]:
        """Run ids of pruned combinations."""
        pruned = self._study.get_trials(states=(self._optuna.trial.TrialState.PRUNED,))
        numbers = [trial.number for trial in pruned if _SETTINGS in trial.user_attrs]
        return {t.run_id for number in numbers for t in self._trials(number)}

    def next_trials(self) -> Sequence[Trial]:
        """The trials of one more combination, unfinished ones of an earlier sweep first."""
        number = next(self._resumed, None)
        while number is None:
            if len(self._study.trials) >= self._search.trials:
                return []
            number = self._ask()
            if self._pruned_before(number):
                number = None
        self._asked[number] = self._trials(number)
        return self._asked[number]

    def should_prune(self, trial: Trial, view: RunView) -> bool:
        """Whether the best selection score is below the median of the others at this step."""
        number = self._number(trial)
        best, step = view.standing.best, view.done
        if not self._search.prune or number is None or best is None or step < 1:
            return False
        asked = self._optuna.trial.Trial(self._study, self._study.trials[number]._trial_id)
        if self._reported.get(number, 0) < step:
            self._reported[number] = step
            asked.report(best, step)
        if asked.should_prune():
            self._below_median.add(number)
        return number in self._below_median

    def record_end(self, trial: Trial, view: RunView) -> None:
        """Report the mean score to the sampler, once all seeds of the combination have ended.

        A combination with a failed run is not reported; the next sweep resumes it.
        """
        finished = isinstance(view.ending, RunFinished)
        self._values[trial.run_id] = view.standing.best if finished else None
        for number, trials in list(self._asked.items()):
            if all(t.run_id in self._values for t in trials):
                self._tell(number, [self._values[t.run_id] for t in trials])
                del self._asked[number]

    def _tell(self, number: int, values: Sequence[float | None]) -> None:
        state = self._optuna.trial.TrialState
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            self._study.tell(number, math.fsum(known) / len(known), state.COMPLETE)
        elif number in self._below_median:
            self._study.tell(number, state=state.PRUNED)

    def _ask(self) -> int:
        self._study.sampler = self._sampler(len(self._study.trials))
        trial = self._study.ask()
        settings = [[axis.key, _chosen(trial, axis)] for axis in self._axes]
        trial.set_user_attr(_SETTINGS, settings)
        return int(trial.number)

    def _pruned_before(self, number: int) -> bool:
        """Whether the same combination was pruned before; marks this choice as pruned too."""
        state = self._optuna.trial.TrialState.PRUNED
        pruned = self._study.get_trials(states=(state,))
        given_up = [t.user_attrs[_SETTINGS] for t in pruned]
        if self._study.trials[number].user_attrs[_SETTINGS] not in given_up:
            return False
        self._study.tell(number, state=state)
        return True

    def _sampler(self, number: int) -> optuna.samplers.BaseSampler:
        """The sampler of one choice, whose seed depends on the choice's number."""
        text = f"{self._search.seed} {number}"
        seed = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
        samplers = self._optuna.samplers
        sampler: optuna.samplers.BaseSampler
        if self._search.sampler == "random":
            sampler = samplers.RandomSampler(seed=seed)
        else:
            first = _BEFORE_LEARNING
            sampler = samplers.TPESampler(seed=seed, n_startup_trials=first, constant_liar=True)
        return sampler

    def _open_study(self, factory: TrialFactory) -> optuna.study.Study:
        """Open the study of this grid; a grid with other values has another one."""
        search = self._search.model_dump(exclude={"trials"})
        axes = [
            (a.key, a.values if isinstance(a.values, tuple) else a.values.model_dump())
            for a in self._axes
        ]
        same = json.dumps([factory.base, factory.grid.seeds, search, axes])
        name = hashlib.sha256(same.encode()).hexdigest()[:16]
        storages = self._optuna.storages
        backend = storages.journal.JournalFileBackend(str(factory.home / STUDY))
        study: optuna.study.Study = self._optuna.create_study(
            study_name=name,
            storage=storages.JournalStorage(backend),
            direction="maximize",
            load_if_exists=True,
            pruner=self._optuna.pruners.MedianPruner(_BEFORE_PRUNING, n_warmup_steps=1),
        )
        return study

    def _unfinished(self) -> Iterator[int]:
        state = self._optuna.trial.TrialState
        # A trial without settings belongs to a process killed before it stored them.
        for trial in self._study.get_trials(states=(state.RUNNING, state.WAITING)):
            if _SETTINGS in trial.user_attrs:
                yield trial.number
            else:
                self._study.tell(trial.number, state=state.FAIL)

    def _trials(self, number: int) -> list[Trial]:
        """The trials of a choice, one per seed."""
        written = self._study.trials[number].user_attrs[_SETTINGS]
        settings = tuple((str(key), str(text)) for key, text in written)
        if settings not in self._trials_of:
            self._trials_of[settings] = list(self._factory.of(settings))
        return self._trials_of[settings]

    def _number(self, trial: Trial) -> int | None:
        return next(
            (n for n, ts in self._asked.items() if any(t.run_id == trial.run_id for t in ts)), None
        )


def _chosen(trial: optuna.trial.Trial, axis: Axis) -> str:
    """Sample a value of an axis, as a text."""
    if isinstance(axis.values, tuple):
        return str(trial.suggest_categorical(axis.key, axis.values))
    bounds: ValueRange = axis.values
    if bounds.whole:
        return str(trial.suggest_int(axis.key, int(bounds.low), int(bounds.high), log=bounds.log))
    return f"{trial.suggest_float(axis.key, bounds.low, bounds.high, log=bounds.log):.6g}"


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise UsageError(
            "a search needs the package optuna", "pip install 'skillopt-cli[sweep]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
