"""`config import`: a configuration of the published system, in our keys.

Reads both of its shapes (sections, or one flat mapping), follows its `_base_`, and lists what it
could not carry over and why. Sources: the published configuration's key tables and alias tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from skillopt_cli.config.declarations import known_keys
from skillopt_cli.config.files import read_mapping
from skillopt_cli.config.imported_models import ImportedKey, import_models, model_key
from skillopt_cli.config.layers import flatten, put, typed
from skillopt_cli.config.scalars import Written, dump_yaml, settle_written
from skillopt_cli.core.errors import ConfigError

_MOVED = {
    "exec_timeout": "model.target.timeout",
    "max_completion_tokens": "model.target.max_completion_tokens",
    "workers": "run.workers",
    "max_api_workers": "run.max_concurrency",
}
RENAMED = {
    "edit_budget": "optimizer.learning_rate",
    "min_edit_budget": "optimizer.min_learning_rate",
    "env": "env.name",
    **_MOVED,
    **{f"env.{name}": home for name, home in _MOVED.items()},
}
"""Homes here of keys of both shapes that have another name."""
REASONS = {
    "gradient.max_analyst_rounds": "retired by its authors",
    "train.steps_per_epoch": "follows from the split and the batch size",
    "optimizer.meta_learning_rate": "its mechanism was removed by its authors",
    "evaluation.use_semantic_density": "a style bonus does not belong in the accept score",
    "evaluation.semantic_density_weight": "a style bonus does not belong in the accept score",
    "evaluation.leading_words": "a style bonus does not belong in the accept score",
    "env.split_output_dir": "ratio splits are not written to disk",
    "env.max_turns": "an attempt at this benchmark is one reply, or what its tools take",
    "env.judge_retries": "how often a call is tried again is said by model.retry",
    "env.dataset_name": "`skillopt data prepare` gets the data",
    "env.hf_split": "`skillopt data prepare` gets the data",
    "env.eval_workers": "an attempt is tested by the worker that makes it",
    "env.cost_limit": "spend is capped for a whole run, by run.max_usd",
    "env.timeout_per_instance": "its authors wrote it down and never used it",
    "env.use_text_dominant_reference": "no reference texts are shown to anybody",
}
OPTION_NAMES = {
    "judge_model": "model.judge.name",
    "judge_max_completion_tokens": "model.judge.max_completion_tokens",
    "spreadsheetbench.data_root": "env.workbooks",
    "mathverse.data_root": "env.image_root",
    "swebench.step_limit": "env.max_turns",
}
"""Keys of a benchmark's own that have another name here."""
CUT_WHEN_PREPARED = "`skillopt data prepare` cuts the instances of each repository"
_SPLIT_WHEN_PREPARED = {"swebench": ("env.split_mode", "env.split_ratio", "env.split_seed")}
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


Options: TypeAlias = Callable[[str], Collection[str] | None]
"""The option names of a benchmark; None for one that is not known here."""


def import_config(
    path: Path, backends: Collection[str], options: Options = lambda name: None
) -> Imported:
    """Convert a published configuration file.

    Args:
        path: the file.
        backends: names of those that exist here; others are left behind.
        options: what the benchmark of the file takes; anything else of its own is left behind.

    Raises:
        ConfigError: the file, or one it is based on, is missing or is no mapping.
    """
    ours = set(known_keys())
    found = {key: value for key, value in flatten(_read(path, ())) if value not in (None, "")}
    benchmark = str(found.get("env.name", found.get("env", "")))
    own = _Own(benchmark, options(benchmark) if benchmark else None)
    models = {
        key: name
        for key in found
        if (key not in ours or key in _MODELS_TOO) and (name := model_key(key)) is not None
    }
    given = {name: ImportedKey(key, found[key]) for key, name in models.items()}
    model, left = import_models(given, backends)
    values: dict[str, Any] = {"model": model} if model else {}
    for key, written in found.items():
        if key in models:
            continue
        target = own.home(key) or _target(key, ours, own)
        if target is None or _is_secret(key):
            left.append((key, own.reason(key) or _reason(key)))
            continue
        read = typed(target, written) if isinstance(written, Written) else settle_written(written)
        value = SPELLINGS.get(target, {}).get(str(read), read)
        if target in _ROLE_BACKENDS and value not in backends:
            left.append((key, f"there is no backend `{value}` here"))
            continue
        if target == "optimizer.lr_scheduler" and value == "autonomous":
            target = "optimizer.lr_control_mode"
        put(values, target, value, path.name)
    order = list(found)
    left.sort(key=lambda one: order.index(one[0]))
    return Imported(values, tuple(left))


@dataclass(frozen=True, slots=True)
class _Own:
    """The benchmark of a file, and the names of its options; None where these are not known."""

    name: str
    options: Collection[str] | None

    def home(self, key: str) -> str | None:
        """Where a key has another name here."""
        bare = key.removeprefix("env.")
        return OPTION_NAMES.get(f"{self.name}.{bare}") or OPTION_NAMES.get(bare)

    def takes(self, name: str) -> bool:
        """Whether a key is an option; of a benchmark not known here that is checked in use."""
        return f"env.{name}" not in REASONS if self.options is None else name in self.options

    def reason(self, key: str) -> str:
        """Why a key that exists here does not apply to this benchmark; empty where it does."""
        cut = f"env.{key.removeprefix('env.')}" in _SPLIT_WHEN_PREPARED.get(self.name, ())
        return CUT_WHEN_PREPARED if cut else ""


def _target(key: str, ours: set[str], own: _Own) -> str | None:
    if own.reason(key):
        return None
    if key in RENAMED or key in ours:
        return RENAMED.get(key, key)
    if "." not in key:
        homes = [k for k in ours if k.rsplit(".", 1)[-1] == key and k.count(".") == 1]
        if len(homes) == 1:
            return homes[0]
        return f"env.{key}" if own.options is not None and key in own.options else None
    bare = key.removeprefix("env.")
    return key if key != bare and own.takes(bare) else None


def _is_secret(key: str) -> bool:
    return key.endswith(("api_key", "token", "secret", "password"))


def _reason(key: str) -> str:
    if _is_secret(key):
        return "keys do not stand in files: export the provider's variable"
    name = key if "." in key else f"env.{key}"
    return REASONS.get(name, "no such setting here")


def _read(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    """The file merged over the one it is based on."""
    path = path.resolve()
    if path in seen:
        raise ConfigError(f"`_base_` of {path} goes round in a circle", "remove one `_base_`")
    if not path.exists():
        named = f"{path}, which {seen[-1].name} is based on," if seen else str(path)
        raise ConfigError(
            f"the configuration file {named} does not exist",
            "put that file where `_base_` names it" if seen else "name the file to convert",
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
