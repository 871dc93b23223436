"""Settings of a run that a measurement of its skill does not use, as other tasks are named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillopt_cli.config import RunConfig
from skillopt_cli.config.files import file_layers
from skillopt_cli.config.layers import flatten, resolve
from skillopt_cli.core.formatting import count
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.store.layout import CONFIG

_ALONE = frozenset((
    *("env.name", "env.data_path", "env.split_dir", "env.split_mode", "env.data_root"),
    *("env.out_root", "env.skill_init", "env.from_scratch", "env.editable", "env.limit"),
    "env.seed_skill",
))
"""Settings of every command for itself: which tasks, from which skill, and where runs lie."""
_SHOWN = 3


def unused_note(home: Path, config: RunConfig) -> str:
    """What of a run's settings is not in force, and how to use them; empty where all are.

    Args:
        home: the run folder that the skill is of.
        config: what the measurement is made with.

    Raises:
        ConfigError: the settings of the run cannot be read.
    """
    run = resolve(file_layers(home / CONFIG)).config
    own, used = dict(_measuring(run)), dict(_measuring(config))
    same = run.env.name == config.env.name
    unused = [
        key
        for key, value in own.items()
        if used.get(key) != value and (same or not key.startswith("env."))
    ]
    if not unused:
        return ""
    more = f" and {count(len(unused) - _SHOWN, 'other')}" if unused[_SHOWN:] else ""
    way = f"; `--config {home / CONFIG}` uses them" if same else ""
    return f"of the run {home.name} not used: {', '.join(unused[:_SHOWN])}{more}{way}"


def _measuring(config: RunConfig) -> Iterator[tuple[str, Any]]:
    """The settings that alter a score: of the tasks, and of the models that answer and judge."""
    env = config.env
    values = {name: getattr(env, name) for name in type(env).model_fields} | env.options
    if env.name and (options := load_benchmark(env.name).options) is not None:
        values |= options.model_validate(env.options).model_dump(mode="json")
    found = {"env": values, "model": config.model.model_dump(mode="json")}
    for key, value in flatten(found):
        if key not in _ALONE and not key.startswith("model.optimizer."):
            yield key, value
