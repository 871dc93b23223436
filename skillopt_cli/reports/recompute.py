"""The verdict of a run, computed again from the results per task that its folder holds."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from math import isclose
from pathlib import Path
from typing import Any

from skillopt_cli.compose.schedule import gate_rule
from skillopt_cli.config.files import file_layers
from skillopt_cli.config.layers import resolve
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import VerdictReached
from skillopt_cli.core.run_verdict import RunVerdict, VerdictRule, run_verdict
from skillopt_cli.core.score import BROKEN, Mark, Score, mark
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.layout import CONFIG, SUMMARY


def recomputed(folder: Path, recorded: VerdictReached) -> VerdictReached:
    """The verdict from `results.jsonl` of what it compares and the rule in `config.yaml`.

    Raises:
        DataError, ConfigError: one of these files is missing or damaged.
    """
    verdict, majority = recorded.verdict, recorded.majority
    suffix = "_confirmation" if verdict.split == "confirmation" else ""

    def against(arm: str) -> RunVerdict:
        # A best skill that is the seed was attempted as that alone.
        arms = (arm, "seed" if verdict.identical else "best")
        first, best = (_marks(folder / "test" / f"{name}{suffix}") for name in arms)
        rule = gate_rule(resolve(file_layers(folder / CONFIG)).config)
        return run_verdict(first, best, verdict.split, VerdictRule(rule.metric, rule.min_coverage))

    if majority is not None and majority.verdict is not None:
        majority = replace(majority, verdict=against("majority"))
    return VerdictReached(verdict if verdict.identical else against("seed"), majority)


def disagreements(recorded: VerdictReached, found: VerdictReached) -> list[str]:
    """The fields in which two verdicts differ, with both values."""
    there, here = _fields(recorded), _fields(found)
    return [
        f"{name}: recorded {there[name]}, recomputed {here[name]}"
        for name in there
        if not _alike(there[name], here[name])
    ]


def summary_disagreements(folder: Path, recorded: VerdictReached) -> list[str]:
    """The fields in which `summary.json` differs from the recorded verdict, with both values.

    Fields that the file lacks, as one of an earlier version does, differ in nothing, nor does
    any where there is no file.

    Raises:
        DataError: the file is damaged.
    """
    path = folder / SUMMARY
    if not path.exists():
        return []
    try:
        document = json.loads(read_regular(path))
        written = dict(document["verdict"])
        constant = (document.get("majority_baseline") or {}).get("verdict") or {}
        written |= {f"majority_baseline.{name}": value for name, value in constant.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise DataError(
            f"{path} cannot be read, and the verdict is in it",
            "restore the file from a copy",
        ) from None
    there = json.loads(json.dumps(_fields(recorded)))
    return [
        f"{name}: recorded {there[name]}, {SUMMARY} has {written[name]}"
        for name in there
        if name in written and not _alike(there[name], written[name])
    ]


def _fields(reached: VerdictReached) -> dict[str, Any]:
    """The fields of the verdict, and of the one on the answer that is the majority baseline."""
    constant = reached.majority.verdict if reached.majority else None
    named = {f"majority_baseline.{k}": v for k, v in asdict(constant).items()} if constant else {}
    return asdict(reached.verdict) | named


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
