"""`kill -9` with every mechanism on, at an epoch's end too: the same ending, no call twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from killing import (
    STAGES,
    Patient,
    Reference,
    Trigger,
    after_lines,
    facts,
    in_stage,
    prepare,
    seed_skill,
)

from skillopt_cli.backends.simulated.world import FAMILIES, rule
from skillopt_cli.testing import run_model_server

ENDINGS = ("slow_update", "meta_skill")
"""The stages of an epoch's end. The notes of the second are asked for beside the guidance of the
first, and are mostly there when its turn comes: it is hit when their call is answered."""
EVERYTHING = (
    "optimizer.use_slow_update=true",
    "optimizer.slow_update_gate_with_selection=true",
    "optimizer.slow_update_samples=8",
    "optimizer.use_meta_skill=true",
    "optimizer.use_skill_aware_reflection=true",
    "optimizer.skill_aware_consolidate_threshold=1",
    "optimizer.lr_control_mode=autonomous",
)
TOOK_PART = {"slow_update_decided", "memory_written", "appendix_written", "epoch_compared"}
"""What the log of such a run tells of, besides what every log does."""


def switched_on(mode: str) -> tuple[str, ...]:
    settings = (*EVERYTHING, f"optimizer.skill_update_mode={mode}")
    return tuple(text for setting in settings for text in ("--set", setting))


def answered(line: str) -> bool:
    """Whether a line of the log is the answer to the call for notes."""
    return '"kind":"call_made"' in line and '"stage":"meta_skill"' in line


def moment(rng: Random, stage: str, passed: int) -> tuple[Trigger, float]:
    """When to kill: in a stage that began `passed` times before, "" for anywhere."""
    if not stage:
        return after_lines(rng.randint(5, 80)), rng.uniform(0, 0.01)
    if stage == "meta_skill":
        return answered, rng.uniform(0, 0.004)
    return in_stage(stage, passed), 0.0 if stage == "update" else rng.uniform(0, 0.004)


def result(patient: Patient) -> dict[str, object]:
    """What must be equal, with what an epoch's end leaves for people.

    How many attempts are in flight when a measurement is settled is chance, so they are left out.
    """
    ends = {
        str(path.relative_to(patient.folder)): path.read_bytes()
        for name in ENDINGS
        for path in sorted((patient.folder / name).rglob("*.*"))
        if path.parent.name != "selection"
    }
    assert len(ends) > len(ENDINGS)
    return {**patient.result(), "ends": ends}


def check_part(whole: Patient) -> None:
    """Every mechanism did something in the uninterrupted run."""
    told = list(facts(whole.events))
    assert {fact["kind"] for fact in told} >= TOOK_PART
    assert any(fact["kind"] == "appendix_written" and fact["consolidated"] for fact in told)


def kill_in(home: Path, mode: str, stages: tuple[str, ...]) -> Counter[str]:
    """Kill runs in each of the stages until each was hit as often as it is listed; where it hit."""
    prepare(home)
    rules = "".join(f"- {rule(family)}\n" for family in range(FAMILIES) if family % 2)
    # Only an update needs a long skill to be hit in.
    begin = seed_skill() if "update" in stages else "# Reading\n\nAnswer the question.\n\n"
    (home / "seed.md").write_text(begin + rules, encoding="utf-8")
    wanted, hits, rng = Counter(stages), Counter[str](), Random(20260131)
    extra = switched_on(mode)
    with run_model_server(
        home / "requests.jsonl", bodies=False, latency_ms=4, lapse_rate=0.5
    ) as server:
        reference = Reference.make(home, server, extra)
        whole = Patient(home, server, "whole", extra)
        check_part(whole)
        expected = result(whole)
        patient = Patient(home, server, "run-0", extra)
        passed = 0
        for nth in range(40 * len(stages)):
            left = list((wanted - hits).elements())
            if not left:
                break
            life = patient.live(*moment(rng, left[0], passed))
            reference.check_calls(life)
            if life.code == 0:
                assert result(patient) == expected
                patient, passed = Patient(home, server, f"run-{nth + 1}", extra), 0
                continue
            by_call = left[0] in ("", "meta_skill")
            where = left[0] if by_call else life.stage or "between stages"
            hits[where] += 1
            # What the journal answers is over too soon to be hit; a later step's is not there yet.
            passed = 0 if where == left[0] else passed + 1
        reference.check_calls(patient.live())
        assert result(patient) == expected
    return hits


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_run_killed_at_an_epochs_end_ends_like_an_uninterrupted_one(tmp_path: Path) -> None:
    hits = kill_in(tmp_path, "rewrite_from_suggestions", ENDINGS)
    assert all(hits[stage] >= 1 for stage in ENDINGS), hits


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions"])
def test_a_run_killed_twice_in_every_stage_that_asks(tmp_path: Path, mode: str) -> None:
    # An optimizer that sets the rate leaves select hardly anything to ask.
    stages = (*ENDINGS, "", *(stage for stage in STAGES if stage != "select")) * 2
    hits = kill_in(tmp_path, mode, stages)
    assert all(hits[stage] >= 2 for stage in stages), hits
