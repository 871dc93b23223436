"""Compares the manifests of runs: whether they have the same tasks, and which settings differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from skillopt_cli.config.declarations import declared
from skillopt_cli.config.model_section import ModelConfig, RoleConfig
from skillopt_cli.core.errors import ConfigError, UsageError
from skillopt_cli.core.task import Split

MEASURED: tuple[Split, ...] = ("selection", "test")
"""Splits whose scores a comparison shows."""

_ROLES = ("optimizer", "target")
"""Without the judge, which is the optimizer where it has no settings of its own."""
_SHARED = tuple(name for name in RoleConfig.model_fields if name in ModelConfig.model_fields)
"""Settings of a role that stand for both in the section of all models."""

_PARTS = ("benchmark", "target", "optimizer", "seed_skill", "prompts")


def require_same_tasks(manifests: Mapping[str, Mapping[str, Any]]) -> None:
    """Require that the scores of runs are of the same tasks.

    Args:
        manifests: by label; each run is compared with the first one.

    Raises:
        UsageError: a run has another selection or test task set, by id and content.
    """
    (first, base), *others = manifests.items()
    for name, other in others:
        apart = {
            split: (differing, asked)
            for split in MEASURED
            if (differing := _apart(base, other, split)) and (asked := _size(base, other, split))
        }
        if apart:
            counted = " and ".join(f"{n} of {of} {split}" for split, (n, of) in apart.items())
            raise UsageError(
                f"the runs {first} and {name} do not have the same {' and '.join(apart)} tasks",
                f"{counted} tasks are in one only or read differently;"
                " compare runs on the same data, `evaluation.sel_env_num` and"
                " `evaluation.test_env_num`",
            )


def differences(manifests: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """What can alter a text or a score and is not the same in all runs: key to each run's value.

    Settings come with their value, by default where a run sets none of their section; of models,
    prompts, seed skills and train tasks the manifest holds digests, so of those the beginning of a
    digest.
    """
    columns = [_conditions(manifest) for manifest in manifests]
    known = {key: _default(key) for column in columns for key in column}
    values = {
        key: tuple(column.get(key, known[key]) for column in columns) for key in sorted(known)
    }
    found = {key: row for key, row in values.items() if any(v != row[0] for v in row)}
    return {_with_files(key, manifests): row for key, row in found.items()}


def _with_files(key: str, manifests: Sequence[Mapping[str, Any]]) -> str:
    """The key of a part that differs, with those of its files that do, where all have them."""
    part = key.strip("()").replace(" ", "_")
    known = [manifest.get("files", {}).get(part, {}) for manifest in manifests]
    if part not in _PARTS or not all(known):
        return key
    paths = sorted({path for files in known for path in files})
    apart = [path for path in paths if len({files.get(path) for files in known}) > 1]
    return f"({key.strip('()')}: {', '.join(apart)})" if apart else key


def _conditions(manifest: Mapping[str, Any]) -> dict[str, Any]:
    found = _by_role(manifest["config"])
    for part in _PARTS:
        value = manifest[part]
        if isinstance(value, Mapping):
            found |= {f"({part} {name})": str(digest)[:12] for name, digest in value.items()}
        else:
            found[f"({part.replace('_', ' ')})"] = value if part == "benchmark" else value[:12]
    train = json.dumps(manifest["splits"].get("train", {}), sort_keys=True)
    found["(train tasks)"] = hashlib.sha256(train.encode()).hexdigest()[:12]
    return found


def _by_role(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with what the roles share as the value of each of them that has none.

    `model.backend`, and the same backend named for each role, are the same.
    """
    found = dict(config)
    for name in _SHARED:
        shared = found.pop(f"model.{name}", None)
        for role in _ROLES:
            key = f"model.{role}.{name}"
            if found.get(key) is None:
                found[key] = _default(f"model.{name}") if shared is None else shared
    return found


def _default(key: str) -> Any:
    """The value of a setting that nothing sets; None of what has none, or is not known here."""
    try:
        found = declared(key)
    except ConfigError:
        return None  # of a plug-in that cannot be loaded
    if found is None or found.info.is_required():
        return None
    return json.loads(json.dumps(found.info.get_default(call_default_factory=True), default=str))


def _apart(a: Mapping[str, Any], b: Mapping[str, Any], split: Split) -> int:
    """Tasks of a split that are in one run only, or have another content there."""
    mine, theirs = a["splits"].get(split, {}), b["splits"].get(split, {})
    return sum(mine.get(task) != theirs.get(task) for task in {*mine, *theirs})


def _size(a: Mapping[str, Any], b: Mapping[str, Any], split: Split) -> int:
    return len({*a["splits"].get(split, {}), *b["splits"].get(split, {})})
