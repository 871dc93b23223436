"""The manifest: everything that can alter a text or a score of a run, and what changed of it."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillopt_cli import __version__
from skillopt_cli.compose.folder import anchored
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import flatten
from skillopt_cli.core.errors import DataError, DriftRefused
from skillopt_cli.core.regular import read_regular
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.words import count
from skillopt_cli.stages import Run
from skillopt_cli.stages.skill_files import PROMPT as SKILL_FILES

FREE = (
    "run.",
    "model.retry.",
    "model.prices",
    "gradient.analyst_workers",
    "env.out_root",
    "env.data_root",
    "env.split_dir",
    "env.data_path",
    "optimizer.prompts_dir",
)
FREE_ENDS = (".api_key_env", ".timeout")
"""Keys that alter no text and no score; where data and prompts lie does not matter."""

_LATER = frozenset(["env.editable"])
"""Keys that are left out where they are unset: the manifests of runs without them stay the same."""

_PARTS = {"config", "benchmark", "target", "optimizer", "seed_skill", "prompts", "splits"}


def manifest(run: Run, seed: SkillDocument) -> dict[str, Any]:
    """Versions, configuration, prompt hashes, split ids with content hashes, seed-skill digest."""
    return {
        "schema": 1,
        "versions": {"skillopt": __version__, "python": platform.python_version()},
        "config": binding(run.config),
        "benchmark": f"{run.benchmark.name}/{run.benchmark.version}",
        "target": _digest(run.target.fingerprint),
        "optimizer": _digest(run.optimizer.fingerprint if run.optimizer else ""),
        **({"judge": _digest(run.judge.fingerprint)} if run.judge else {}),
        "seed_skill": seed.digest,
        "prompts": {
            name: _digest(text)
            for name, text in sorted(run.prompts.items())
            if name != SKILL_FILES or seed.folder is not None
        },
        "splits": {
            split: {task.id: task.digest[:16] for task in tasks}
            for split, tasks in run.splits.items()
        },
    }


def read_manifest(path: Path) -> dict[str, Any]:
    """A run's manifest.

    Raises:
        DataError: it is damaged.
    """
    try:
        found = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        found = None
    if not (isinstance(found, dict) and found.keys() >= _PARTS):
        raise DataError(f"{path} cannot be read", "restore it from a copy, or start a new run")
    return found


def drift(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What changed between two manifests, a line each; versions may change freely."""
    changes = config_drift(old, new["config"])
    for key in ("benchmark", "target", "optimizer", "judge", "seed_skill"):
        if old.get(key) != new.get(key):
            changes.append(f"{key.replace('_', ' ')} is another one")
    for name in sorted({*old["prompts"], *new["prompts"]}):
        if old["prompts"].get(name) != new["prompts"].get(name):
            changes.append(f"prompt {name} reads differently")
    for split, tasks in new["splits"].items():
        changes += _split_changes(split, old["splits"].get(split, {}), tasks)
    return changes


def config_drift(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The settings in which `new`, as `binding` gives them, differs from an old manifest."""
    before = {key: value for key, value in old["config"].items() if not _free(key)}
    return [
        f"{key}: {json.dumps(before.get(key))} -> {json.dumps(new.get(key))}"
        for key in sorted({*before, *new})
        if before.get(key) != new.get(key)
    ]


def refuse_drift(changes: list[str]) -> None:
    """Stop a resume under changed conditions.

    Raises:
        DriftRefused: something changed; the message lists it.
    """
    if changes:
        listed = "".join(f"\n  {change}" for change in changes)
        raise DriftRefused(
            f"the run cannot go on under changed conditions:{listed}",
            "undo the changes, or add --allow-drift to go on and have it recorded",
        )


def binding(config: RunConfig) -> dict[str, Any]:
    """The settings that can alter a text or a score, by dotted key."""
    values = flatten(anchored(config).model_dump(mode="json"))
    return {
        key: value for key, value in values if not (_free(key) or (key in _LATER and value is None))
    }


def _free(key: str) -> bool:
    return key.startswith(FREE) or key.endswith(FREE_ENDS)


def _split_changes(split: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    if old == new and list(old) == list(new):
        return []
    changed = sorted(t for t in {*old, *new} if old.get(t) != new.get(t))
    shown = ", ".join(changed[:5]) + (", ..." if len(changed) > 5 else "")
    if not changed:
        return [f"the {split} split has another order"]
    return [f"the {split} split differs in {count(len(changed), 'task')}: {shown}"]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
