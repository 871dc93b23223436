"""Verified edits: the preset `default` in the place of the published settings."""

from __future__ import annotations

import json

import forgetting
import lapses
import weak_optimizer
from worlds import World

from skillopt_cli.config.files import preset_layers


def preset(name: str) -> tuple[str, ...]:
    """The settings of a preset's own file, as for `--set`."""
    sections = preset_layers(name)[-1].values
    return tuple(
        f"{section}.{key}={json.dumps(value).strip(chr(34))}"
        for section, values in sections.items()
        for key, value in values.items()
    )


WORLD = World(
    "verified_edits",
    "preset default",
    off=(),
    on=preset("default"),
    settings=(
        weak_optimizer.WORLD.settings[1],
        weak_optimizer.WORLD.settings[0],
        weak_optimizer.WORLD.settings[2],
        forgetting.WORLD.settings[0],
        lapses.WORLD.settings[0],
        weak_optimizer.WORLD.settings[3],
    ),
)
