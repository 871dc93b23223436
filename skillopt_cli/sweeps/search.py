"""Choosing combinations one after the other, with Optuna (extra `sweep`).

The study lies in the sweep's folder, so that a search goes on where it was. A choice follows from
the search's seed, its own number and the scores before it, so a search that was killed makes the
choices it would have made. It looks at selection scores only: what chose may not judge.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import RunFinished
from skillopt_cli.sweeps.grid import Axis, Settings
from skillopt_cli.sweeps.sections import Range, Search
from skillopt_cli.sweeps.trials import Maker, Trial
from skillopt_cli.ui.view import RunView

if TYPE_CHECKING:
    import optuna

STUDY = "study.log"
_SETTINGS = "settings"
_BEFORE_LEARNING = 5
"""Trials chosen at random before the sampler learns from them."""
_BEFORE_PRUNING = 3
"""Trials that go to their end before any is held against them."""


class Searched:
    """Trials that a sampler chooses.

    Args:
        maker: of a grid with a `search`.

    Raises:
        UsageError: Optuna is not installed.
    """

    def __init__(self, maker: Maker) -> None:
        self._optuna = _optuna()
        self._axes = maker.grid.axes
        self._search = maker.grid.search or Search()
        self._maker = maker
        self._made: dict[Settings, list[Trial]] = {}
        self._study = self._opened(maker)
        self._asked: dict[int, list[Trial]] = {}
        self._values: dict[str, float | None] = {}
        self._seen: dict[int, int] = {}
        self._below: set[int] = set()
        self._again = self._unfinished()
        self.watches = self._search.prune

    @property
    def trials(self) -> Sequence[Trial]:
        """Those of every combination chosen so far; a combination chosen twice stands once."""
        chosen = [trial for trials in self._known() for trial in trials]
        return list({trial.run_id: trial for trial in chosen}.values())

    @property
    def abandoned(self) -> set[str]:
        """Runs of combinations that were not worth going on with."""
        pruned = self._study.get_trials(states=(self._optuna.trial.TrialState.PRUNED,))
        numbers = [trial.number for trial in pruned if _SETTINGS in trial.user_attrs]
        return {t.run_id for number in numbers for t in self._trials(number)}

    def more(self) -> Sequence[Trial]:
        """The trials of one more combination: one left unfinished first, then one newly chosen."""
        number = next(self._again, None)
        while number is None:
            if len(self._study.trials) >= self._search.trials:
                return []
            number = self._ask()
            if self._given_up(number):
                number = None
        self._asked[number] = self._trials(number)
        return self._asked[number]

    def dropped(self, trial: Trial, view: RunView) -> bool:
        """Whether its best selection score is below the median of the others at its step."""
        number = self._number(trial)
        best, step = view.standing.best, view.done
        if not self._search.prune or number is None or best is None or step < 1:
            return False
        asked = self._optuna.trial.Trial(self._study, self._study.trials[number]._trial_id)
        if self._seen.get(number, 0) < step:
            self._seen[number] = step
            asked.report(best, step)
        if asked.should_prune():
            self._below.add(number)
        return number in self._below

    def ended(self, trial: Trial, view: RunView) -> None:
        """Tell the sampler, once all seeds of the combination have ended.

        It is told nothing of one with a run that failed, which the next sweep takes up.
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
        elif number in self._below:
            self._study.tell(number, state=state.PRUNED)

    def _ask(self) -> int:
        self._study.sampler = self._sampler(len(self._study.trials))
        trial = self._study.ask()
        settings = [[axis.key, _chosen(trial, axis)] for axis in self._axes]
        trial.set_user_attr(_SETTINGS, settings)
        return int(trial.number)

    def _given_up(self, number: int) -> bool:
        """Whether the same combination was not worth going on with; then the choice is told so."""
        state = self._optuna.trial.TrialState.PRUNED
        pruned = self._study.get_trials(states=(state,))
        given_up = [t.user_attrs[_SETTINGS] for t in pruned]
        if self._study.trials[number].user_attrs[_SETTINGS] not in given_up:
            return False
        self._study.tell(number, state=state)
        return True

    def _sampler(self, number: int) -> optuna.samplers.BaseSampler:
        """A sampler with a seed of this number's own."""
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

    def _opened(self, maker: Maker) -> optuna.study.Study:
        """The study of this grid; with other values to choose from it is another one."""
        search = self._search.model_dump(exclude={"trials"})
        axes = [
            (a.key, a.values if isinstance(a.values, tuple) else a.values.model_dump())
            for a in self._axes
        ]
        same = json.dumps([maker.base, maker.grid.seeds, search, axes])
        name = hashlib.sha256(same.encode()).hexdigest()[:16]
        storages = self._optuna.storages
        backend = storages.journal.JournalFileBackend(str(maker.home / STUDY))
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
        # One without settings was killed between being asked for and being written down.
        for trial in self._study.get_trials(states=(state.RUNNING, state.WAITING)):
            if _SETTINGS in trial.user_attrs:
                yield trial.number
            else:
                self._study.tell(trial.number, state=state.FAIL)

    def _trials(self, number: int) -> list[Trial]:
        """The trials of a choice."""
        written = self._study.trials[number].user_attrs[_SETTINGS]
        settings = tuple((str(key), str(text)) for key, text in written)
        if settings not in self._made:
            self._made[settings] = list(self._maker.of(settings))
        return self._made[settings]

    def _known(self) -> Iterator[Sequence[Trial]]:
        for trial in self._study.trials:
            if _SETTINGS in trial.user_attrs:
                yield self._trials(trial.number)

    def _number(self, trial: Trial) -> int | None:
        return next(
            (n for n, ts in self._asked.items() if any(t.run_id == trial.run_id for t in ts)), None
        )


def _chosen(trial: optuna.trial.Trial, axis: Axis) -> str:
    """A value of an axis, as a text."""
    if isinstance(axis.values, tuple):
        return str(trial.suggest_categorical(axis.key, axis.values))
    bounds: Range = axis.values
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
