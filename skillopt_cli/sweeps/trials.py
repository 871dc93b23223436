"""From a grid to runs: one per combination and seed, each with a run id that says what it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from skillopt_cli.compose.manifest import binding
from skillopt_cli.compose.settings import Wishes, settle
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Strength, leaf_layer
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.sweeps.grid import SEED, Axis, Grid, Settings

HOME = "sweeps"
"""Folder below `env.out_root` that holds a folder per sweep."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of a sweep.

    Attributes:
        settings: its place in the grid.
        seed: None for the one of the configuration.
        config: the effective configuration.
    """

    settings: Settings
    seed: int | None
    run_id: str
    config: RunConfig

    @property
    def folder(self) -> Path:
        """Its run folder."""
        return Path(self.config.env.out_root) / self.config.env.name / self.run_id


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the trials of a grid.

    Args:
        wishes: what the command line asks of all runs; flags win over what the grid fixes.
    """

    grid: Grid
    wishes: Wishes
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
    def base(self) -> str:
        """What all runs have in common, in eight letters."""
        return _digest(self._base(), seeded=bool(self.grid.seeds))

    def all(self) -> list[Trial]:
        """A trial for each combination and seed.

        Raises:
            ConfigError: one of them cannot be, or two of them are the same run.
        """
        trials = [trial for settings in self.grid.combinations for trial in self.of(settings)]
        by_id: dict[str, Trial] = {}
        for trial in trials:
            if (other := by_id.setdefault(trial.run_id, trial)) is not trial:
                raise ConfigError(
                    f"{self.grid.path}: {words(other)} and {words(trial)} are the same run",
                    "vary only what can alter a text or a score",
                )
        return trials

    def of(self, settings: Settings) -> Iterator[Trial]:
        """The trials of one combination, one per seed."""
        for seed in self.grid.seeds or (None,):
            yield self._trial(settings, seed)

    def _base(self) -> RunConfig:
        wishes = replace(self._wishes((), None), roles=())
        return settle(wishes, self.environment).config

    def _trial(self, settings: Settings, seed: int | None) -> Trial:
        wishes = self._wishes(settings, seed)
        config = settle(wishes, self.environment).config
        if not config.run.cache_dir:
            config = with_run(config, cache_dir=str(_home(config, self.grid).absolute()))
        name = f"{self.grid.name}-{_digest(config, seeded=seed is not None)}"
        run_id = name if seed is None else f"{name}-seed{seed}"
        return Trial(settings, seed, run_id, config)

    def _wishes(self, settings: Settings, seed: int | None) -> Wishes:
        layer = partial(leaf_layer, self.grid.path.name, strength=Strength.FLAG)
        said = (*self.grid.fixed, *_seeded(settings, seed))
        return replace(
            self.wishes,
            benchmark=self.wishes.benchmark or self.grid.benchmark,
            preset=self.wishes.preset or self.grid.preset,
            config=self.wishes.config or self.grid.config,
            layers=[layer(key, text) for key, text in said],
            example="benchmark: searchqa",
        )

    def _flags(self) -> Iterator[str]:
        """The settings that the command line names."""
        yield from self.wishes.flags
        for text in self.wishes.assignments:
            yield text.partition("=")[0].strip().replace("-", "_")


def words(trial: Trial, axes: tuple[Axis, ...] = ()) -> str:
    """A trial in words: `learning_rate=4, seed 1`; keys in full where no axes are given."""
    names = {axis.key: axis.name for axis in axes}
    said = [f"{names.get(key, key)}={value or 'unset'}" for key, value in trial.settings]
    return ", ".join(said if trial.seed is None else [*said, f"seed {trial.seed}"])


def with_run(config: RunConfig, **changes: object) -> RunConfig:
    """The configuration with other settings of `run`, which alter no text and no score."""
    return config.model_copy(update={"run": config.run.model_copy(update=changes)})


def _home(config: RunConfig, grid: Grid) -> Path:
    return Path(config.env.out_root) / HOME / grid.name


def _seeded(settings: Settings, seed: int | None) -> Settings:
    return settings if seed is None else (*settings, (SEED, str(seed)))


def _digest(config: RunConfig, *, seeded: bool) -> str:
    """What the run is, in eight letters: of the settings that can alter a text or a score.

    Defaults are left out, so that a later version with more settings finds the run again.
    """
    usual = binding(RunConfig())
    own = {key: value for key, value in binding(config).items() if usual.get(key) != value}
    if seeded:
        own.pop(SEED, None)
    text = json.dumps(own, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
