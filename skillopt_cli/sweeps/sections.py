"""The parts of a grid file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from skillopt_cli.config.section import Section
from skillopt_cli.config.wording import clash

Sampler = Literal["tpe", "random"]


class Caps(Section):
    """What all runs of a sweep may use together."""

    max_usd: float | None = Field(None, gt=0)
    """Most US dollars for calls."""
    max_calls: int | None = Field(None, ge=1)
    """Most answered model calls."""
    max_tokens: int | None = Field(None, ge=1)
    """Most tokens read and written."""
    max_rollouts: int | None = Field(None, ge=1)
    """Most attempts at tasks; those recalled from the journal cost nothing."""
    max_minutes: float | None = Field(None, gt=0)
    """Most minutes of work of all runs added up."""


class Search(Section):
    """How settings are chosen where not every combination is tried."""

    sampler: Sampler = "tpe"
    """tpe learns from the trials before, random does not."""
    trials: int = Field(20, ge=1)
    """Combinations to try."""
    seed: int = 0
    """Of the sampler: the same seed and the same scores give the same choices."""
    prune: bool = False
    """Stop a run whose best selection score is below the median of the others at its step."""


class Range(Section):
    """Values between two bounds, for a search."""

    low: float
    """Least value; with `high`, whole where both are."""
    high: float
    """Largest value."""
    log: bool = False
    """Choose the order of magnitude rather than the number."""

    @model_validator(mode="after")
    def _in_order(self) -> Range:
        if self.low >= self.high:
            raise clash("`high` must be above `low`", ("high",), "swap the two bounds")
        if self.log and self.low <= 0:
            raise clash("`low` must be above 0 with `log`", ("low",), "leave `log` out")
        return self

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return self.low == int(self.low) and self.high == int(self.high)


class GridFile(Section):
    """A grid file. Plain scalars in `fixed` and `grid` are texts, read by what their key wants."""

    name: str = ""
    """What the sweep is called; else the file's own name without its ending."""
    benchmark: str = ""
    """What to train on."""
    preset: str = ""
    """Named settings all runs start from."""
    config: Path | None = None
    """Configuration file all runs start from, from the grid file's folder."""
    fixed: dict[str, Any] = Field(default_factory=dict)
    """Settings of all runs, by dotted key."""
    grid: dict[str, Any]
    """Values to try, by dotted key: a list, or in a search bounds as well."""
    seeds: tuple[int, ...] = ()
    """Seeds that every combination is trained with; none takes the one of the configuration."""
    caps: Caps = Caps()
    """What all runs may use together."""
    search: Search | None = None
    """Choose combinations one after the other (extra `sweep`); unset tries every one."""
