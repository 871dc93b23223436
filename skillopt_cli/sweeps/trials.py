"""Trials of a grid, one run per combination and seed, and where they come from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from skillopt_cli.compose.fingerprint import binding
from skillopt_cli.compose.run_folder import anchored
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.compose.trust import require_consent
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Strength, leaf_layer
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.permissions import FOLDER_MODES
from skillopt_cli.runlog.view import RunView
from skillopt_cli.sweeps.grid import SEED, Axis, Settings, SweepGrid

HOME = "sweeps"
"""Folder below `env.out_root` with a folder per sweep."""
RESULT = "sweep.json"
"""File in the folder of a sweep with its result."""
_RUN_ID = re.compile(r"(?P<sweep>.+)-[0-9a-f]{8}(?:-seed-?\d+)?")


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of a sweep.

    Attributes:
        settings: the values of the grid's axes.
        seed: None for the seed of the configuration.
        config: the effective configuration.
    """

    settings: Settings
    seed: int | None
    run_id: str
    config: RunConfig

    @property
    def folder(self) -> Path:
        """The run folder."""
        return Path(self.config.env.out_root) / self.config.env.name / self.run_id


@dataclass(frozen=True, slots=True)
class TrialFactory:
    """Builds the trials of a grid.

    Args:
        overrides: command-line overrides of all runs; flags take precedence over fixed settings.
    """

    grid: SweepGrid
    overrides: Overrides
    environment: Mapping[str, str]

    def __post_init__(self) -> None:
        keys = [a.key for a in self.grid.axes] + ([SEED] if self.grid.seeds else [])
        for key in self._flags():
            if key in keys:
                raise ConfigError(
                    f"`{key}` is set on the command line and varied by {self.grid.path}",
                    "leave it out of one of them",
                )

    @property
    def home(self) -> Path:
        """The folder of the sweep."""
        return _home(self._base(), self.grid)

    @property
    def mode(self) -> int:
        """The permissions of that folder."""
        return FOLDER_MODES[self._base().run.shared_with]

    @property
    def base(self) -> str:
        """Digest of what all runs have in common."""
        return _digest(self._base(), seeded=bool(self.grid.seeds))

    def all(self) -> list[Trial]:
        """A trial for each combination and seed.

        Raises:
            ConfigError: the settings of a trial are invalid, or two trials are the same run.
            NotTrusted: a file asks for something to which the user does not agree.
        """
        trials = [trial for settings in self.grid.combinations for trial in self.of(settings)]
        by_id: dict[str, Trial] = {}
        for trial in trials:
            if (other := by_id.setdefault(trial.run_id, trial)) is not trial:
                raise ConfigError(
                    f"{self.grid.path}: {trial_label(other)} and {trial_label(trial)}"
                    " are the same run",
                    "vary only what can alter a text or a score",
                )
        return trials

    def of(self, settings: Settings) -> Iterator[Trial]:
        """The trials of one combination, one per seed."""
        for seed in self.grid.seeds or (None,):
            yield self._trial(settings, seed)

    def _base(self) -> RunConfig:
        overrides = replace(self._overrides((), None), roles=())
        return settle(overrides, self.environment).config

    def _trial(self, settings: Settings, seed: int | None) -> Trial:
        overrides = self._overrides(settings, seed)
        resolved = settle(overrides, self.environment)
        config = resolved.config
        if not config.run.cache_dir:
            config = with_run(config, cache_dir=str(_home(config, self.grid).absolute()))
        name = f"{self.grid.name}-{_digest(config, seeded=seed is not None)}"
        run_id = name if seed is None else f"{name}-seed{seed}"
        trial = Trial(settings, seed, run_id, config)
        require_consent(replace(overrides, run_folder=trial.folder), resolved, self.environment)
        return trial

    def _overrides(self, settings: Settings, seed: int | None) -> Overrides:
        layer = partial(
            leaf_layer, self.grid.path.name, strength=Strength.FLAG, file=self.grid.path.resolve()
        )
        pairs = [*self.grid.fixed, *settings]
        pairs += [] if seed is None else [(SEED, str(seed))]
        return replace(
            self.overrides,
            benchmark=self.overrides.benchmark or self.grid.benchmark,
            preset=self.overrides.preset or self.grid.preset,
            config=self.overrides.config or self.grid.config,
            layers=[layer(key, text) for key, text in pairs],
            example="benchmark: searchqa",
        )

    def _flags(self) -> Iterator[str]:
        """Keys of the settings on the command line."""
        yield from self.overrides.flags
        for text in self.overrides.assignments:
            yield text.partition("=")[0].strip().replace("-", "_")


def sweep_of(run_id: str) -> str:
    """The name of the sweep that gives its runs such an id; empty for an id of another form."""
    found = _RUN_ID.fullmatch(run_id)
    return found["sweep"] if found else ""


def trial_label(trial: Trial, axes: tuple[Axis, ...] = ()) -> str:
    """A label such as `learning_rate=4, seed 1`, with full keys where no axes are given."""
    names = {axis.key: axis.name for axis in axes}
    parts = [f"{names.get(key, key)}={value or 'unset'}" for key, value in trial.settings]
    return ", ".join(parts if trial.seed is None else [*parts, f"seed {trial.seed}"])


def with_run(config: RunConfig, **changes: object) -> RunConfig:
    """The configuration with changed settings of `run`, which affect no text and no score."""
    return config.model_copy(update={"run": config.run.model_copy(update=changes)})


def _home(config: RunConfig, grid: SweepGrid) -> Path:
    return Path(config.env.out_root) / HOME / grid.name


def _digest(config: RunConfig, *, seeded: bool) -> str:
    """Digest of the settings that can affect a text or a score.

    Defaults are left out, so that a later version with more settings computes the same digest.
    """
    usual = binding(RunConfig())
    own = {key: value for key, value in binding(config).items() if usual.get(key) != value}
    if config.env.skill_init:
        # A run is bound to what its seed skill holds; trials differ by its path.
        own["env.skill_init"] = anchored(config).env.skill_init
    if seeded:
        own.pop(SEED, None)
    text = json.dumps(own, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


class TrialSource(Protocol):
    """Supplies trials and receives their results."""

    wants_progress: bool
    """Whether `should_prune` is asked about runs at work."""

    @property
    def trials(self) -> Sequence[Trial]:
        """The trials supplied so far, in order, those of earlier sweeps included."""

    @property
    def pruned(self) -> set[str]:
        """Run ids of pruned trials, which are not resumed."""

    def next_trials(self) -> Sequence[Trial]:
        """Further trials; empty when there are none."""

    def should_prune(self, trial: Trial, view: RunView) -> bool:
        """Whether a run at work is to be stopped for its low scores."""

    def record_end(self, trial: Trial, view: RunView) -> None:
        """Receive the result of a run."""


class GridSource:
    """Supplies all trials of a grid at once and prunes none."""

    wants_progress = False
    pruned: set[str] = set()  # noqa: RUF012 - never changed

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._waiting = list(trials)
        self.trials: list[Trial] = []

    def next_trials(self) -> Sequence[Trial]:
        """All of them at the first call."""
        supplied, self._waiting = self._waiting, []
        self.trials += supplied
        return supplied

    def should_prune(self, trial: Trial, view: RunView) -> bool:
        """Never."""
        return False

    def record_end(self, trial: Trial, view: RunView) -> None:
        """No-op: no trial depends on another."""
