"""A grid file, read: which settings are tried, and which combinations that makes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from skillopt_cli.config.files import read_mapping
from skillopt_cli.config.layers import known_keys, suggestion
from skillopt_cli.config.scalars import settle_written
from skillopt_cli.config.wording import CLASH, advice, clash_words, fault_words, first_fault
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.sweeps.sections import Caps, GridFile, Range, Search

Settings = tuple[tuple[str, str], ...]
"""Settings by dotted key, each value as the text that follows `--set KEY=`."""

SEED = "train.seed"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}\Z")
_FORM = "docs/how-to/sweep.md shows the form of a grid file"
_ELSEWHERE = {
    SEED: "list them under `seeds`: runs that differ in nothing else are counted together",
    "env.name": "scores on different benchmarks cannot be compared: make a sweep of each",
    "env.out_root": "give it as --out-root",
}
"""Settings that no grid may vary, and what to do instead."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A setting and the values to try: a list of texts, or bounds in a search."""

    key: str
    values: tuple[str, ...] | Range

    @property
    def name(self) -> str:
        """The key without its sections."""
        return self.key.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class Grid:
    """What a grid file says.

    Attributes:
        fixed: settings of all runs.
        seeds: empty for the one of the configuration.
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
        """Every combination, the last axis changing fastest; only without bounds."""
        columns = [[(a.key, v) for v in a.values] for a in self.axes if isinstance(a.values, tuple)]
        return product(*columns)

    @property
    def size(self) -> int:
        """How many combinations are tried, each with every seed."""
        if self.search is not None:
            return self.search.trials
        return prod(len(a.values) for a in self.axes if isinstance(a.values, tuple))


def read_grid(path: Path) -> Grid:
    """The grid of a YAML file.

    Raises:
        ConfigError: it is missing, no YAML, or says something that does not hold.
    """
    if not path.exists():
        raise ConfigError(f"there is no grid file {path}", _FORM)
    written = read_mapping(path, _FORM)
    texts = {key: written.pop(key) for key in ("fixed", "grid") if key in written}
    try:
        file = GridFile.model_validate({**settle_written(written), **texts})
    except ValidationError as error:
        raise _explained(path, error) from None
    name = file.name or path.stem
    if not _PLAIN.match(name):
        raise ConfigError(
            f"{path}: `{name}` is no name for a sweep",
            "use letters, digits, . _ and - in the file's name, or give it a `name`",
        )
    grid = Grid(
        path=path,
        name=name,
        benchmark=file.benchmark,
        preset=file.preset,
        config=None if file.config is None else path.parent / file.config,
        fixed=tuple(_fixed(path, file.fixed)),
        axes=tuple(_axis(path, key, value, file.search) for key, value in file.grid.items()),
        seeds=file.seeds,
        caps=file.caps,
        search=file.search,
    )
    _check(grid)
    return grid


def text_of(value: Any) -> str:
    """A value of a YAML file as the text that follows `--set KEY=`."""
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    return json.dumps(settle_written(value))


def _fixed(path: Path, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        yield _key(path, key), text_of(value)


def _axis(path: Path, key: str, value: Any, search: Search | None) -> Axis:
    key = _key(path, key)
    if reason := _ELSEWHERE.get(key):
        raise ConfigError(f"{path}: `{key}` cannot be part of the grid", reason)
    if isinstance(value, dict):
        if search is None:
            raise ConfigError(
                f"{path}: `{key}` has bounds, and no `search` to choose between them",
                "list the values to try, or add `search: {trials: 20}`",
            )
        try:
            return Axis(key, Range.model_validate(settle_written(value)))
        except ValidationError as error:
            raise _explained(path, error, key) from None
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


def _check(grid: Grid) -> None:
    path, axes = grid.path, [axis.key for axis in grid.axes]
    fixed = [key for key, _ in grid.fixed]
    if not axes:
        raise ConfigError(f"{path}: `grid` names no setting", "such as `train.batch_size: [4, 8]`")
    if both := next((key for key in axes if key in fixed), None):
        raise ConfigError(f"{path}: `{both}` is in `grid` and in `fixed`", "leave one of them out")
    if grid.seeds and SEED in fixed:
        raise ConfigError(f"{path}: `{SEED}` is fixed, and `seeds` are given", "keep the seeds")
    if repeated := _repeated(grid.seeds):
        raise ConfigError(f"{path}: the seed {repeated[0]} stands twice in `seeds`", "once will do")
    if grid.search is not None and grid.search.prune and len(grid.seeds) > 1:
        raise ConfigError(
            f"{path}: `search.prune` cannot judge a combination by one of its {len(grid.seeds)}"
            " seeds",
            "give one seed, or leave `prune` out",
        )


def _repeated(seeds: Sequence[int]) -> list[int]:
    return [seed for i, seed in enumerate(seeds) if seed in seeds[:i]]


def _explained(path: Path, error: ValidationError, prefix: str = "") -> ConfigError:
    """The first fault of a grid file in one sentence."""
    fault = first_fault(error)
    key = ".".join(filter(None, (prefix, *(str(part) for part in fault["loc"]))))
    if fault["type"] == CLASH:
        message, hint = clash_words(fault, lambda _: "")
        return ConfigError(f"{path}: {f'in `{prefix}` ' if prefix else ''}{message}", hint)
    if fault["type"] == "extra_forbidden":
        known = ", ".join(GridFile.model_fields)
        return ConfigError(f"{path}: unknown key `{key}`", f"a grid file holds {known}")
    model = Range if prefix else GridFile
    return ConfigError(f"{path}: `{key}`{fault_words(fault)}", advice(fault, model) or _FORM)
