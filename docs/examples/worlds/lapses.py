"""Lapses: a target that has the rules and does not heed them unless it is reminded."""

from __future__ import annotations

from functools import partial

from worlds import Reading, Setting, World

tasks = partial(Reading, {"train": 32, "selection": 24, "test": 48}, rules=14)

WORLD = World(
    "lapses",
    "skill-aware reflection",
    off=(),
    on=("optimizer.use_skill_aware_reflection=true",),
    settings=(
        Setting("half the tasks lapse", ("model.simulated.lapse_rate=0.5",), tasks),
        Setting("one task in five lapses", ("model.simulated.lapse_rate=0.2",), tasks),
        Setting(
            "half lapse, more than 4 notes are shortened",
            (
                "model.simulated.lapse_rate=0.5",
                "optimizer.skill_aware_consolidate_threshold=4",
            ),
            tasks,
        ),
        Setting("nothing lapses", (), tasks),
    ),
)
