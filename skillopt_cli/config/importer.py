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
from skillopt_cli.config.layers import flatten, known_keys, typed
from skillopt_cli.config.scalars import Written, dump_yaml, settle_written
from skillopt_cli.core.errors import ConfigError

FLAT_NAMES = {
    "model_backend": "model.backend",
    "optimizer_model": "model.optimizer.name",
    "teacher_model": "model.optimizer.name",
    "target_model": "model.target.name",
    "student_model": "model.target.name",
    "optimizer_backend": "model.optimizer.backend",
    "teacher_backend": "model.optimizer.backend",
    "target_backend": "model.target.backend",
    "student_backend": "model.target.backend",
    "edit_budget": "optimizer.learning_rate",
    "min_edit_budget": "optimizer.min_learning_rate",
    "env": "env.name",
    "exec_timeout": "model.target.timeout",
    "max_completion_tokens": "model.target.max_completion_tokens",
    "workers": "run.workers",
    "max_api_workers": "run.max_concurrency",
}
STRUCTURED_NAMES = {
    "model.optimizer": "model.optimizer.name",
    "model.teacher": "model.optimizer.name",
    "model.target": "model.target.name",
    "model.student": "model.target.name",
    "model.optimizer_backend": "model.optimizer.backend",
    "model.teacher_backend": "model.optimizer.backend",
    "model.target_backend": "model.target.backend",
    "model.student_backend": "model.target.backend",
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
BACKEND_SPELLINGS = {
    "openai_compatible_chat": "openai_compatible",
    "openai-compatible": "openai_compatible",
    "compat": "openai_compatible",
}
_BACKEND_KEYS = ("model.backend", "model.optimizer.backend", "model.target.backend")


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
    values: dict[str, Any] = {}
    left: list[tuple[str, str]] = []
    for key, written in flatten(_read(path, ())):
        if written is None or written == "":
            continue
        target = _target(key, ours)
        if target is None or _is_secret(key):
            left.append((key, _reason(key)))
            continue
        read = typed(target, written) if isinstance(written, Written) else settle_written(written)
        value = SPELLINGS.get(target, {}).get(str(read), read)
        if target in _BACKEND_KEYS:
            value = _backend(str(read))
            if value not in backends:
                left.append((key, f"there is no backend `{value}` here"))
                continue
        if target == "optimizer.lr_scheduler" and value == "autonomous":
            target = "optimizer.lr_control_mode"
        _put(values, target, value)
    return Imported(values, tuple(left))


def _backend(name: str) -> str:
    """A backend's name as ours, where we have it under another one."""
    name = name.strip().lower()
    return BACKEND_SPELLINGS.get(name, name)


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
