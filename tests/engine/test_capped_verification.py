"""Caps in the stages that try edits: verify with its search, check, prune and the confirmation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from capping import (
    ANALYSTS,
    WORKERS,
    Life,
    Whole,
    World,
    check_life_under,
    outcome,
    spent,
)
from test_golden_run import preset_settings

from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.core.events import (
    GateDecided,
    PassingChecked,
    RolloutFinished,
    SkillPruned,
    StoppedEarly,
)
from skillopt_cli.core.ledger import ledger_of
from skillopt_cli.testing import MemoryStore, ToyBenchmark

COMMON = (
    *preset_settings("default"),
    "train.num_epochs=2",
    "train.batch_size=8",
    "optimizer.check_passing=true",
    "optimizer.prune=true",
    "evaluation.confirm_fraction=0.3",
    f"run.workers={WORKERS}",
    f"gradient.analyst_workers={ANALYSTS}",
)
SIZES = {"train": 16, "selection": 7, "test": 3}
WORLDS = {
    "alone": World(
        (*COMMON, "optimizer.verify_tasks=1", "gradient.minibatch_size=3"),
        SimulatedConfig(right_rate=0.4, harmful_rate=0.4, forget_rate=0.5),
        ToyBenchmark(SIZES, seed=4),  # type: ignore[arg-type]
    ),
    "joint": World(
        (*COMMON, "optimizer.verify=joint", "gradient.minibatch_size=2"),
        SimulatedConfig(forget_rate=0.6),
        ToyBenchmark(SIZES, seed=7),  # type: ignore[arg-type]
    ),
}
PARTS = {
    "alone": {"verify:alone", "verify:first", "verify:", "check:together"},
    "joint": {"verify:together", "verify:", "check:together", "check:without", "check:alone"},
}
"""What the attempts of each world are made for, by stage and label."""
ENDS = {"prune:without block", "test:seed_confirmation", "test:best_confirmation"}
WHOLES: dict[str, Whole] = {}


@pytest.fixture(params=list(WORLDS))
def whole(request: pytest.FixtureRequest) -> Whole:
    name = request.param
    if name not in WHOLES:
        WHOLES[name] = Whole(WORLDS[name])
    made = WHOLES[name]
    events = [fact.event for fact in made.store.log]
    assert parts(events) >= PARTS[name] | ENDS
    assert any(isinstance(event, GateDecided) and event.decision.accepted for event in events)
    assert any(isinstance(event, SkillPruned) for event in events)
    if name == "joint":
        assert any(isinstance(event, PassingChecked) and event.removed for event in events)
    return made


def parts(events: Iterable[Any]) -> set[str]:
    """What attempts were made for."""
    made = [event for event in events if isinstance(event, RolloutFinished)]
    return {f"{e.stage}:{re.sub(r'[_ ]?[0-9].*', '', e.label)}" for e in made}


@pytest.mark.parametrize(
    ("cap", "caps"), [("max_rollouts", 16), ("max_calls", 8), ("max_tokens", 8), ("max_usd", 8)]
)
def test_a_cap_anywhere(whole: Whole, cap: str, caps: int) -> None:
    """No cap is exceeded by more than what was in flight, and nothing is asked twice."""
    most = whole.use.of(cap)
    limits = [most * share / (caps + 1) for share in range(1, caps + 1)]
    whole_numbers = cap != "max_usd"
    hits = {
        check_life_under(whole, cap, round(limit) if whole_numbers else round(limit, 3))
        for limit in limits
    }
    assert "verify" in hits
    # Of tokens and money, the optimizer takes most, which is not asked at the end.
    assert "prune" in hits or cap not in ("max_rollouts", "max_calls")


def test_a_cap_is_hit_in_each_part_of_a_stage(whole: Whole) -> None:
    """Rollouts begun and not yet counted are at most those in flight, whatever they are for."""
    hit: set[str] = set()
    for limit in range(8, int(whole.use.of("max_rollouts")), 3):
        store = MemoryStore()
        life = Life(store, f"run.max_rollouts={limit}", world=whole.world)
        assert life.error is not None
        assert spent(store, "max_rollouts") <= limit
        made = [event for event in life.events if isinstance(event, RolloutFinished)]
        hit |= parts([e for e in made if e.stage != "test"][-1:])
    wanted = next(PARTS[name] for name, world in WORLDS.items() if world is whole.world)
    assert hit >= {part for part in wanted if "verify" in part} | {"prune:without block"}
    assert any("check" in part for part in hit)


@pytest.mark.parametrize("more", range(0, 11, 2))
def test_a_cap_in_the_final_test_and_the_confirmation(whole: Whole, more: int) -> None:
    """A run whose training is over is tested as far as the cap goes, and later to its end."""
    store = MemoryStore()
    assert Life(store, world=whole.world, stops_at="test").code is None
    used = ledger_of(store.facts()).rollouts
    need = int(whole.use.of("max_rollouts")) - used
    assert need >= 10
    life = Life(store, f"run.max_rollouts={used + more}", world=whole.world)
    assert life.error is not None or more >= need
    assert used <= spent(store, "max_rollouts") <= used + more
    known = set(store._calls)
    last = Life(store, world=whole.world)
    assert last.code == 0
    assert not known & set(last.model.keys)
    assert outcome(store) == whole.outcome


def test_a_training_that_learned_every_task_is_over_under_a_cap() -> None:
    """It has steps left and would not do them, so a cap that has no room for them ends nothing."""
    more = ("train.num_epochs=6", "train.batch_size=8", "optimizer.rerun_solved=0.0")
    settings = (*preset_settings("default"), *more)
    benchmark = ToyBenchmark({"train": 8, "selection": 9, "test": 3}, seed=2)
    world = World(settings, SimulatedConfig(right_rate=1.0, harmful_rate=0.0), benchmark)
    store = MemoryStore()
    first = Life(store, world=world)
    assert first.code == 0
    assert [e.reason for e in first.of(StoppedEarly) if "train task" in e.reason]
    used = ledger_of(store.facts()).rollouts
    assert Life(store, f"run.max_rollouts={used + 1}", world=world).code == 0
