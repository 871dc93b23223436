"""Dying while edits are verified or checked, in every update mode: the same end, nothing twice."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from capping import ANALYSTS, WORKERS
from dying import Whole, World, check_life_after
from test_capped_verification import COMMON, SIZES
from test_capped_verification import WORLDS as CAPPED

from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.core.companion_files import SKILL_FILE, Companion, Folder
from skillopt_cli.core.events import EditsVerified, RolloutFinished
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.testing import ToyBenchmark

NOTES = "# Notes\n\nTexts are read from top to bottom.\n"
FOLDER = Folder((Companion("references/notes.md", NOTES),), (SKILL_FILE, "references/**"))
SEED = SkillDocument(ToyBenchmark.seed_skill, folder=FOLDER)
IN_FLIGHT = WORKERS + ANALYSTS


def of_mode(mode: str, *settings: str) -> World:
    """A run in which edits pass and fail in two rounds; whole texts are proposed in one."""
    mode_of = f"optimizer.skill_update_mode={mode}"
    return World(
        (*COMMON, mode_of, "gradient.minibatch_size=2", *settings),
        ToyBenchmark(SIZES, seed=6),  # type: ignore[arg-type]
        IN_FLIGHT,
        SimulatedConfig(forget_rate=0.3),
    )


def capped(name: str) -> World:
    world = CAPPED[name]
    return World(world.settings, world.benchmark, IN_FLIGHT, world.model)


SUGGESTED, WHOLE_TEXTS = "rewrite_from_suggestions", "full_rewrite_minibatch"
WORLDS = {
    "edits, with a search": capped("alone"),
    "joint, with edits that are removed": capped("joint"),
    "merged by the model": of_mode("patch", "optimizer.merge=model"),
    "suggestions": of_mode(SUGGESTED),
    "suggestions, joint": of_mode(SUGGESTED, "optimizer.verify=joint"),
    "whole texts": of_mode(WHOLE_TEXTS),
    "whole texts, joint": of_mode(WHOLE_TEXTS, "optimizer.verify=joint"),
    "skill folder": replace(of_mode("patch"), seed=SEED),
}
WHOLES: dict[str, Whole] = {}


def whole_of(name: str) -> Whole:
    if name not in WHOLES:
        WHOLES[name] = Whole(WORLDS[name])
    return WHOLES[name]


@pytest.fixture(params=list(WORLDS))
def whole(request: pytest.FixtureRequest) -> Whole:
    return whole_of(request.param)


def events(whole: Whole, kind: type) -> list[Any]:
    return [fact.event for fact in whole.store.log if isinstance(fact.event, kind)]


def moments(whole: Whole, stage: str, most: int) -> list[tuple[str, int]]:
    """Writes of a stage to die at, spread over it: of the journal and of the log."""
    writes = [(kind, n) for kind, n in whole.writes.during[stage] if kind != "keep"]
    return writes[:: max(1, len(writes) // most)][:most]


def test_edits_pass_and_fail_in_every_mode(whole: Whole) -> None:
    verified = events(whole, EditsVerified)
    passed = {trial.passed for event in verified for trial in event.trials}
    assert passed == {True, False}
    whole_texts = f"optimizer.skill_update_mode={WHOLE_TEXTS}" in whole.world.settings
    assert {event.round for event in verified} == ({1} if whole_texts else {1, 2})
    state = whole.store.load_state()
    assert state is not None
    assert state.current_step > 0


def test_nothing_is_attempted_or_asked_twice(whole: Whole) -> None:
    """Equal texts at work at the same time included."""
    assert len(whole.asked) == len(set(whole.asked))
    made = [event for event in events(whole, RolloutFinished) if not event.recalled]
    assert len(made) == len(whole.store._rollouts)


@pytest.mark.parametrize("stage", ["verify", "check"])
def test_dying_in_a_stage(whole: Whole, stage: str) -> None:
    if stage in whole.writes.during:
        for kind, nth in moments(whole, stage, most=3):
            check_life_after(whole, kind, nth)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("stage", ["verify", "check"])
def test_dying_in_a_stage_again_and_again(whole: Whole, stage: str) -> None:
    if stage in whole.writes.during:
        for kind, nth in moments(whole, stage, most=24):
            check_life_after(whole, kind, nth)


def test_a_file_of_a_skill_folder_stays() -> None:
    state = whole_of("skill folder").store.load_state()
    assert state is not None
    folder = state.best.skill.folder
    assert folder is not None
    assert re.match("# Notes", dict(folder.texts)["references/notes.md"])
