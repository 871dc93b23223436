"""Settings as flags of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from skillopt_cli.config.layers import Layer, Strength, leaf_layer
from skillopt_cli.core.caps import FLAGS

FLAG_NAMES = {
    "model.optimizer.name": "--optimizer-model",
    "model.target.name": "--target-model",
    "model.optimizer.backend": "--optimizer-backend",
    "model.target.backend": "--target-backend",
    "train.num_epochs": "--epochs",
    "train.batch_size": "--batch-size",
    "train.seed": "--seed",
    "optimizer.learning_rate": "--learning-rate",
    "optimizer.lr_scheduler": "--lr-scheduler",
    "evaluation.patience": "--patience",
    "env.skill_init": "--skill-init",
    "env.from_scratch": "--from-scratch",
    "env.split_dir": "--split-dir",
    "env.out_root": "--out-root",
    "run.workers": "--workers",
    "run.max_concurrency": "--max-concurrency",
    **{f"run.{cap}": flag for cap, flag in FLAGS.items()},
    "run.display": "--display",
    "run.trackers": "--tracker",
    "run.require_improvement": "--require-improvement",
}
"""The dedicated flags, by the setting each one stands for."""

_OTHERS = {"preset": "--preset", "run_id": "--run-id"}
_SETTINGS = {flag: key for key, flag in (FLAG_NAMES | _OTHERS).items()}
_ASSIGNED = re.compile(r"`([a-z_]+(?:\.[a-z0-9_]+)*)=([^`]*)`")

_FLAGGED = re.compile(r"`--set ([^`]+)`|`(--[a-z-]+)(?: ([^`]*))?`")


def flag_layers(flags: Mapping[str, object]) -> Iterator[Layer]:
    """Settings by dotted key from flags of their own, a layer each; texts are read by their key."""
    for key, value in flags.items():
        if value is not None:
            source = f"flag {FLAG_NAMES.get(key, key)}"
            yield leaf_layer(source, key, value, Strength.FLAG)


def in_shell(text: str) -> str:
    """A hint as a shell needs it.

    Hints speak of settings as `` `train.num_epochs=3` ``, which holds for a file and for a form; on
    the command line that is `` `--epochs 3` ``.
    """
    return _ASSIGNED.sub(_as_flag, text)


def in_form(text: str) -> str:
    """A hint as it was before `in_shell`."""
    return _FLAGGED.sub(_as_setting, text)


def _as_flag(found: re.Match[str]) -> str:
    key, value = found.groups()
    flag = FLAG_NAMES.get(key) or _OTHERS.get(key)
    if flag is None:
        return f"`--set {key}={value}`" if "." in key else found[0]
    return f"`{flag}`" if value == "true" else f"`{flag} {value}`"


def _as_setting(found: re.Match[str]) -> str:
    assignment, flag, value = found.groups()
    if assignment:
        return f"`{assignment}`"
    key = _SETTINGS.get(flag)
    return found[0] if key is None else f"`{key}={'true' if value is None else value}`"
