"""The verdict of a run, computed again from the results per task that its folder holds."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isclose
from pathlib import Path
from typing import Any

from skillopt_cli.compose.schedule import gate_rule
from skillopt_cli.config.files import file_layers
from skillopt_cli.config.layers import resolve
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.run_verdict import RunVerdict, VerdictRule, run_verdict
from skillopt_cli.core.score import BROKEN, Mark, Score, mark
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.layout import CONFIG


def recomputed(folder: Path, recorded: RunVerdict) -> RunVerdict:
    """The verdict from `results.jsonl` of both arms and the rule in `config.yaml`.

    Raises:
        DataError, ConfigError: one of these files is missing or damaged.
    """
    if recorded.identical:
        return recorded
    suffix = "_confirmation" if recorded.split == "confirmation" else ""
    seed, best = (_marks(folder / "test" / f"{arm}{suffix}") for arm in ("seed", "best"))
    rule = gate_rule(resolve(file_layers(folder / CONFIG)).config)
    return run_verdict(seed, best, recorded.split, VerdictRule(rule.metric, rule.min_coverage))


def disagreements(recorded: RunVerdict, found: RunVerdict) -> list[str]:
    """The fields in which two verdicts differ, with both values."""
    there, here = asdict(recorded), asdict(found)
    return [
        f"{name}: recorded {there[name]}, recomputed {here[name]}"
        for name in there
        if not _alike(there[name], here[name])
    ]


def _alike(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    return bool(left == right)


def _marks(folder: Path) -> dict[str, Mark]:
    path = folder / "results.jsonl"
    try:
        rows = [json.loads(line) for line in read_regular(path).decode().split("\n") if line]
        return {row["id"]: _mark(row["hard"], row["soft"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f"{path} cannot be read, and the verdict rests on it",
            "restore the folder from a copy; `skillopt gate-report RUN` shows what is recorded",
        ) from None


def _mark(hard: float | None, soft: float | None) -> Mark:
    """The mark of a row.

    Raises:
        ValueError: a score is not a number between 0 and 1.
    """
    return BROKEN if hard is None or soft is None else mark(Score(hard, soft))
