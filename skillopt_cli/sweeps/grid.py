"""Schema and content of a grid file: the settings a sweep varies and their combinations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from skillopt_cli.config.declarations import declared, known_keys
from skillopt_cli.config.files import read_mapping
from skillopt_cli.config.scalars import settle_written
from skillopt_cli.config.section import SettingsSection
from skillopt_cli.config.suggestions import suggestion
from skillopt_cli.config.validation_messages import (
    CLASH,
    advice,
    clash,
    clash_words,
    fault_words,
    first_fault,
    names_within,
)
from skillopt_cli.core.errors import ConfigError

Settings = tuple[tuple[str, str], ...]
"""Settings by dotted key, each value as the text that follows `--set KEY=`."""

SEED = "train.seed"
_METRIC = "evaluation.gate_metric"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}\Z")
_HINT = "it is YAML, such as `{benchmark: searchqa, grid: {optimizer.learning_rate: [4, 8]}}`"
Sampler = Literal["tpe", "random"]


class Caps(SettingsSection):
    """Caps on what all runs of a sweep use together."""

    max_usd: float | None = Field(None, gt=0)
    """Most US dollars for calls."""
    max_calls: int | None = Field(None, ge=1)
    """Most answered model calls."""
    max_tokens: int | None = Field(None, ge=1)
    """Most tokens read and written."""
    max_rollouts: int | None = Field(None, ge=1)
    """Most attempts at tasks; those recalled from the journal do not count."""
    max_minutes: float | None = Field(None, gt=0)
    """Most minutes of run time, summed over all runs."""


class Search(SettingsSection):
    """How a search chooses combinations."""

    sampler: Sampler = "tpe"
    """tpe learns from earlier trials, random does not."""
    trials: int = Field(20, ge=1)
    """Combinations to try."""
    seed: int = 0
    """Seed of the sampler: the same seed and the same scores give the same choices."""
    prune: bool = False
    """Stop a run whose best selection score is below the median of the others at its step."""


class ValueRange(SettingsSection):
    """Values between two bounds, for a search."""

    low: float
    """Smallest value; only whole numbers are chosen where both bounds are whole."""
    high: float
    """Largest value."""
    log: bool = False
    """Sample on a logarithmic scale."""

    @model_validator(mode="after")
    def _in_order(self) -> ValueRange:
        if self.low >= self.high:
            raise clash("`high` must be above `low`", ("high",), "swap the two bounds")
        if self.log and self.low <= 0:
            raise clash("`low` must be above 0 with `log`", ("low",), "leave `log` out")
        return self

    @property
    def whole(self) -> bool:
        """Whether both bounds are whole numbers."""
        return self.low == int(self.low) and self.high == int(self.high)


class GridFile(SettingsSection):
    """A grid file; scalars in `fixed` and `grid` are texts, parsed by the type of their key."""

    name: str = ""
    """Name of the sweep; default: the file's name without its ending."""
    benchmark: str = ""
    """Benchmark to train on."""
    preset: str = ""
    """Preset of all runs."""
    config: Path | None = None
    """Configuration file of all runs, relative to the grid file's folder."""
    fixed: dict[str, Any] = Field(default_factory=dict)
    """Settings of all runs, by dotted key."""
    grid: dict[str, Any]
    """Values to try, by dotted key: a list, or bounds in a search."""
    seeds: tuple[int, ...] = ()
    """Seeds of every combination; default: the seed of the configuration."""
    caps: Caps = Caps()
    """Caps over all runs together."""
    search: Search | None = None
    """Search settings (extra `sweep`); default: try every combination."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A setting and its values: a list of texts, or bounds in a search."""

    key: str
    values: tuple[str, ...] | ValueRange

    @property
    def name(self) -> str:
        """The key without its sections."""
        return self.key.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class SweepGrid:
    """The content of a grid file.

    Attributes:
        fixed: settings of all runs.
        seeds: empty for the seed of the configuration.
    """

    path: Path
    name: str
    benchmark: str
    preset: str
    config: Path | None
    fixed: Settings
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    caps: Caps
    search: Search | None

    @property
    def combinations(self) -> Iterator[Settings]:
        """Every combination of listed values, the last axis changing fastest."""
        columns = [[(a.key, v) for v in a.values] for a in self.axes if isinstance(a.values, tuple)]
        return product(*columns)

    @property
    def size(self) -> int:
        """Number of combinations; each is run with every seed."""
        if self.search is not None:
            return self.search.trials
        return prod(len(a.values) for a in self.axes if isinstance(a.values, tuple))


def read_grid(path: Path) -> SweepGrid:
    """Read the grid of a YAML file.

    Raises:
        ConfigError: it is missing, is not YAML, or has an invalid value.
    """
    if not path.exists():
        raise ConfigError(f"there is no grid file {path}", _HINT)
    written = read_mapping(path, _HINT)
    texts = {key: written.pop(key) for key in ("fixed", "grid") if key in written}
    try:
        file = GridFile.model_validate({**settle_written(written), **texts})
    except ValidationError as error:
        raise _grid_error(path, error) from None
    name = file.name or path.stem
    if not _NAME.match(name):
        raise ConfigError(
            f"{path}: `{name}` is not a valid name for a sweep",
            "use letters, digits, . _ and - in the file's name, or give it a `name`",
        )
    grid = SweepGrid(
        path=path,
        name=name,
        benchmark=file.benchmark,
        preset=file.preset,
        config=None if file.config is None else path.parent / file.config,
        fixed=tuple((_key(path, key), text_of(value)) for key, value in file.fixed.items()),
        axes=tuple(_axis(path, key, value, file.search) for key, value in file.grid.items()),
        seeds=file.seeds,
        caps=file.caps,
        search=file.search,
    )
    _check(grid)
    return grid


def text_of(value: Any) -> str:
    """Format a value of a YAML file as the text that follows `--set KEY=`."""
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    return json.dumps(settle_written(value))


def _axis(path: Path, key: str, value: Any, search: Search | None) -> Axis:
    key = _key(path, key)
    if (found := declared(key)) and found.setting.instead_of_sweep:
        instead = found.setting.instead_of_sweep
        raise ConfigError(f"{path}: `{key}` cannot be part of the grid", instead)
    if isinstance(value, dict):
        if search is None:
            raise ConfigError(
                f"{path}: `{key}` has bounds, and no `search` to choose between them",
                "list the values to try, or add `search: {trials: 20}`",
            )
        try:
            return Axis(key, ValueRange.model_validate(settle_written(value)))
        except ValidationError as error:
            raise _grid_error(path, error, key) from None
    if not isinstance(value, list) or not value:
        raise ConfigError(f"{path}: `{key}` needs a list of values", f"such as `{key}: [1, 2]`")
    texts = tuple(text_of(v) for v in value)
    if twice := next((t for t in texts if texts.count(t) > 1), None):
        raise ConfigError(f"{path}: `{key}` lists `{twice}` twice", "leave one of them out")
    return Axis(key, texts)


def _key(path: Path, key: object) -> str:
    name = str(key).strip().replace("-", "_")
    if "." not in name:
        raise ConfigError(
            f"{path}: `{name}` is not of the form section.key", suggestion(name, known_keys())
        )
    return name


def _check(grid: SweepGrid) -> None:
    path, axes = grid.path, [axis.key for axis in grid.axes]
    fixed = [key for key, _ in grid.fixed]
    if not axes:
        raise ConfigError(f"{path}: `grid` names no setting", "such as `train.batch_size: [4, 8]`")
    if both := next((key for key in axes if key in fixed), None):
        raise ConfigError(f"{path}: `{both}` is in `grid` and in `fixed`", "leave one of them out")
    if grid.seeds and SEED in fixed:
        raise ConfigError(f"{path}: `{SEED}` is fixed, and `seeds` are given", "keep the seeds")
    if repeated := [seed for i, seed in enumerate(grid.seeds) if seed in grid.seeds[:i]]:
        raise ConfigError(f"{path}: `seeds` lists the seed {repeated[0]} twice", "list it once")
    if grid.search is not None and _METRIC in axes:
        raise ConfigError(
            f"{path}: a search cannot choose `{_METRIC}`, under which it compares scores",
            "list its values without `search`, which ranks all combinations by the hard score",
        )
    if grid.search is not None and grid.search.prune and len(grid.seeds) > 1:
        raise ConfigError(
            f"{path}: `search.prune` cannot judge a combination by one of its {len(grid.seeds)}"
            " seeds",
            "give one seed, or leave `prune` out",
        )


def _grid_error(path: Path, error: ValidationError, prefix: str = "") -> ConfigError:
    """The error for the first fault of a grid file."""
    fault, model = first_fault(error), ValueRange if prefix else GridFile
    key = ".".join(filter(None, (prefix, *(str(part) for part in fault["loc"]))))
    if fault["type"] == CLASH:
        message, hint = clash_words(fault, lambda _: "")
        return ConfigError(f"{path}: {f'in `{prefix}` ' if prefix else ''}{message}", hint)
    if fault["type"] == "extra_forbidden":
        begun = key.removesuffix(str(fault["loc"][-1]))
        known = [f"{begun}{name}" for name in names_within(model, fault["loc"][:-1])]
        hint = suggestion(key, known, f"a grid file holds {', '.join(known)}")
        return ConfigError(f"{path}: unknown key `{key}`", hint)
    return ConfigError(f"{path}: `{key}`{fault_words(fault)}", advice(fault, model) or _HINT)
