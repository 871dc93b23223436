"""What a report is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillopt_cli.ui.view import RunView


@dataclass(frozen=True, slots=True)
class Reported:
    """A run, and what it is called in the report: its id where that is unique."""

    label: str
    view: RunView


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting in which runs differ, with the value each has, in the order of the runs."""

    key: str
    values: Sequence[Any]
