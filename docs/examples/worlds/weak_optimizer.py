"""A weak optimizer: nine lessons in ten do harm, and only the gate stands in their way."""

from __future__ import annotations

from functools import partial

from worlds import Reading, Setting, World

tasks = partial(Reading, {"train": 32, "selection": 24, "test": 48}, rules=8)


def inclined(right: float, harmful: float) -> tuple[str, ...]:
    """An optimizer of these shares, for three epochs."""
    shares = (f"model.simulated.right_rate={right}", f"model.simulated.harmful_rate={harmful}")
    return ("train.num_epochs=3", *shares)


WORLD = World(
    "weak_optimizer",
    "gate",
    off=("evaluation.use_gate=false",),
    on=(),
    settings=(
        Setting("9 lessons in 10 do harm", inclined(0.1, 0.9), tasks),
        Setting("half of them do", inclined(0.5, 0.5), tasks),
        Setting("2 in 10 do", inclined(0.6, 0.2), tasks),
        Setting("all of them are right", inclined(1.0, 0.0), tasks),
    ),
)
