"""Compares the manifests of runs: whether they have the same tasks, and which settings differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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

_DIGESTED = {"target": "target", "optimizer": "optimizer", "seed_skill": "seed skill"}
"""Parts of a manifest that are one digest, with their names for people."""
_SHOWN = 12
"""Characters of a digest in a difference."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not the same in all runs.

    Attributes:
        key: of a setting; in brackets what else the manifest has.
        values: of each run, in their order; None where a run has none.
        digests: whether the values are digests, which show no more than who has the same.
    """

    key: str
    values: tuple[Any, ...]
    digests: bool = False


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
                " compare runs on the same data, cut alike (`env.split_seed`, `env.split_ratio`,"
                " `evaluation.sel_env_num`, `evaluation.test_env_num`)",
            )


def differences(manifests: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """What can alter a text or a score and is not the same in all runs, sorted by key.

    Settings come with their value, by default where a run sets none of their section; of models,
    prompts, seed skills and train tasks the manifest holds digests, so of those the beginning of a
    digest.
    """
    found = [*_settings(manifests), *_digests(manifests)]
    differing = [one for one in found if any(value != one.values[0] for value in one.values)]
    return sorted(differing, key=lambda one: one.key)


def _settings(manifests: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    yield Difference("(benchmark)", tuple(manifest["benchmark"] for manifest in manifests))
    columns = [_by_role(manifest["config"]) for manifest in manifests]
    known = {key: _default(key) for column in columns for key in column}
    for key, default in known.items():
        yield Difference(key, tuple(column.get(key, default) for column in columns))


def _digests(manifests: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    for part, name in _DIGESTED.items():
        found = [manifest[part] for manifest in manifests]
        yield _digest(f"({name}{_files(part, manifests)})", found)
    for prompt in {name for manifest in manifests for name in manifest["prompts"]}:
        found = [manifest["prompts"].get(prompt) for manifest in manifests]
        yield _digest(f"(prompts {prompt})", found)
    tasks = [manifest["splits"].get("train", {}) for manifest in manifests]
    lists = [json.dumps(found, sort_keys=True).encode() for found in tasks]
    yield _digest("(train tasks)", [hashlib.sha256(listed).hexdigest() for listed in lists])


def _digest(key: str, digests: Sequence[str | None]) -> Difference:
    shown = tuple(None if digest is None else digest[:_SHOWN] for digest in digests)
    return Difference(key, shown, digests=True)


def _files(part: str, manifests: Sequence[Mapping[str, Any]]) -> str:
    """The files of a part that differ, after a comma; empty where not all manifests have them."""
    known = [manifest.get("files", {}).get(part, {}) for manifest in manifests]
    if not all(known):
        return ""
    paths = sorted({path for files in known for path in files})
    apart = [path for path in paths if len({files.get(path) for files in known}) > 1]
    return f", content of {', '.join(apart)}" if apart else ""


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
