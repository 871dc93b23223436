"""Whole runs with the analyst and targets whose habits are known."""

from __future__ import annotations

import pytest
from quiz import Readings, in_sentences, permuted, reader, toy

from skillopt_cli.core.events import EditsChosen, GateDecided, PatchesProposed
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.loop import train
from skillopt_cli.stages import measure_test
from skillopt_cli.testing import EventLog, toy_run

SHORT = r"Give only the answer itself|Answer: "
WHOLE = r"Answer in a full sentence|Answer: "


async def trained(benchmark, target, *settings):
    log = EventLog()
    run = toy_run(toy(benchmark, target, *settings), observers=[Subscriber("log", log)])
    seed = SkillDocument(benchmark.seed_skill)
    state = await train(run, seed)
    before = await measure_test(run, seed, "seed")
    after = await measure_test(run, state.best.skill, "best")
    return log, state, before.hard, after.hard


async def test_a_target_that_rambles_learns_to_be_short():
    log, state, before, after = await trained(Readings(), reader(SHORT, False))
    assert (before, after) == (0.0, 1.0)
    assert "Give only the answer itself" in state.best.skill.text
    assert log.of(GateDecided)[0].decision.verdict == "new_best"


async def test_a_target_that_is_curt_learns_to_write_sentences():
    _, state, before, after = await trained(Readings(in_sentences), reader(WHOLE, True))
    assert (before, after) == (0.0, 1.0)
    assert "Answer in a full sentence" in state.best.skill.text
    assert "Give only the answer" not in state.best.skill.text


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_permuted_references_teach_nothing(seed):
    target = reader(SHORT, False)
    log, state, before, after = await trained(Readings(permuted), target, f"train.seed={seed}")
    assert after == before
    assert state.best_step == 0
    assert sum(e.edits for e in log.of(PatchesProposed)) == 0


async def test_two_runs_of_one_seed_agree():
    runs = [await trained(Readings(), reader(SHORT, False), "train.seed=5") for _ in range(2)]
    first, second = (log.of(EditsChosen) for log, *_ in runs)
    assert first == second
