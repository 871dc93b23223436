"""`config import`: a configuration of the published system, in our keys.

Reads both of its shapes (sections, or one flat mapping), follows its `_base_`, and says what it
could not carry over and why. Sources: the published configuration's key tables and alias tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt_cli.config.files import read_mapping
from skillopt_cli.config.imported_models import Said, import_models, model_key
from skillopt_cli.config.layers import flatten, known_keys, typed
from skillopt_cli.config.scalars import Written, dump_yaml, settle_written
from skillopt_cli.core.errors import ConfigError

FLAT_NAMES = {
    "edit_budget": "optimizer.learning_rate",
    "min_edit_budget": "optimizer.min_learning_rate",
    "env": "env.name",
    "exec_timeout": "model.target.timeout",
    "max_completion_tokens": "model.target.max_completion_tokens",
    "workers": "run.workers",
    "max_api_workers": "run.max_concurrency",
}
STRUCTURED_NAMES = {
    "env.workers": "run.workers",
    "env.max_api_workers": "run.max_concurrency",
    "env.exec_timeout": "model.target.timeout",
    "env.max_completion_tokens": "model.target.max_completion_tokens",
}
REASONS = {
    "gradient.max_analyst_rounds": "retired by its authors",
    "train.steps_per_epoch": "follows from the split and the batch size",
    "optimizer.meta_learning_rate": "its mechanism was removed by its authors",
    "evaluation.use_semantic_density": "a style bonus does not belong in the accept score",
    "evaluation.semantic_density_weight": "a style bonus does not belong in the accept score",
    "evaluation.leading_words": "a style bonus does not belong in the accept score",
    "env.split_output_dir": "ratio splits are not written to disk",
}
SPELLINGS = {
    "optimizer.lr_control_mode": {
        "manual": "fixed",
        "scheduler": "fixed",
        "scheduled": "fixed",
        "off": "none",
        "no_lr": "none",
        "auto": "autonomous",
        "optimizer": "autonomous",
    },
    "optimizer.skill_update_mode": {
        "rewrite": "rewrite_from_suggestions",
        "suggestions": "rewrite_from_suggestions",
        "rewrite_suggestions": "rewrite_from_suggestions",
        "full_rewrite": "full_rewrite_minibatch",
        "minibatch_full_rewrite": "full_rewrite_minibatch",
        "skill_rewrite_minibatch": "full_rewrite_minibatch",
    },
}
_ROLE_BACKENDS = ("model.optimizer.backend", "model.target.backend")
_MODELS_TOO = ("model.backend", "model.reasoning_effort")
"""Keys that mean in both systems almost the same, and depend on who plays the roles there."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A converted configuration: nested values, and what was left behind as (key, reason)."""

    values: Mapping[str, Any]
    left: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """The values as YAML."""
        return dump_yaml(self.values)


def import_config(path: Path, backends: Collection[str]) -> Imported:
    """Convert a published configuration file.

    Args:
        path: the file.
        backends: names of those that exist here; others are left behind.

    Raises:
        ConfigError: the file, or one it is based on, is missing or is no mapping.
    """
    ours = set(known_keys())
    found = {key: value for key, value in flatten(_read(path, ())) if value not in (None, "")}
    models = {key: name for key in found if (name := _about_models(key, ours)) is not None}
    said = {name: Said(key, found[key]) for key, name in models.items()}
    model, left = import_models(said, backends)
    values: dict[str, Any] = {"model": model} if model else {}
    for key, written in found.items():
        if key in models:
            continue
        target = _target(key, ours)
        if target is None or _is_secret(key):
            left.append((key, _reason(key)))
            continue
        read = typed(target, written) if isinstance(written, Written) else settle_written(written)
        value = SPELLINGS.get(target, {}).get(str(read), read)
        if target in _ROLE_BACKENDS and value not in backends:
            left.append((key, f"there is no backend `{value}` here"))
            continue
        if target == "optimizer.lr_scheduler" and value == "autonomous":
            target = "optimizer.lr_control_mode"
        _put(values, target, value)
    order = list(found)
    left.sort(key=lambda one: order.index(one[0]))
    return Imported(values, tuple(left))


def _about_models(key: str, ours: set[str]) -> str | None:
    return None if key in ours and key not in _MODELS_TOO else model_key(key)


def _target(key: str, ours: set[str]) -> str | None:
    renamed = STRUCTURED_NAMES.get(key) or FLAT_NAMES.get(key)
    if renamed:
        return renamed
    if key in ours:
        return key
    if "." not in key:
        homes = [k for k in ours if k.rsplit(".", 1)[-1] == key and k.count(".") == 1]
        return homes[0] if len(homes) == 1 else None
    # The benchmark checks its own keys when the configuration is used.
    return key if key.startswith("env.") and key not in REASONS else None


def _is_secret(key: str) -> bool:
    return key.endswith(("api_key", "token", "secret", "password"))


def _reason(key: str) -> str:
    if _is_secret(key):
        return "keys do not stand in files: export the provider's variable"
    return REASONS.get(key, "no such setting here")


def _put(into: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    for name in path:
        into = into.setdefault(name, {})
    into[last] = value


def _read(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    """The file merged over the one it is based on."""
    path = path.resolve()
    if path in seen:
        raise ConfigError(f"`_base_` of {path} goes round in a circle", "remove one `_base_`")
    if not path.exists():
        named = f"{path}, which {seen[-1].name} is based on," if seen else str(path)
        raise ConfigError(
            f"the configuration file {named} does not exist",
            "put that file where `_base_` says" if seen else "name the file to convert",
        )
    values = read_mapping(path)
    base = values.pop("_base_", None)
    if base is None:
        return values
    return _merged(_read(path.parent / str(base), (*seen, path)), values)


def _merged(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = _merged(old, value) if both and isinstance(old, dict) else value
    return merged
