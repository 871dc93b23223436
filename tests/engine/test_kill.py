"""`kill -9` at any moment, then `skillopt resume`: the same ending, and no call paid for twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from killing import STAGES, WORKERS, Patient, Reference, facts, in_stage, moments, prepare

from skillopt_cli.backends.simulated.world import FAMILIES, rule
from skillopt_cli.testing import run_model_server

VERIFIED = (
    "gradient.failure_only=true",
    "optimizer.merge=code",
    "optimizer.verify=edits",
    "optimizer.reflect_rounds=2",
    "optimizer.check_passing=true",
    "optimizer.rejected_memory=edit",
    "optimizer.rerun_solved=0.25",
    "evaluation.gate_policy=not_worse",
)
"""What `default` adds to the published method."""


def kill_again_and_again(home: Path, kills: int, need: int) -> Counter[str]:
    """Kill runs `kills` times, and on until every stage was hit `need` times; where it hit."""
    prepare(home)
    hits: Counter[str] = Counter()
    rng = Random(20260131)
    with run_model_server(home / "requests.jsonl", bodies=False, latency_ms=4) as server:
        reference = Reference.make(home, server)
        assert reference.steps == 8
        patient = Patient(home, server, "run-0")
        finished = 0
        planned = moments(rng, kills)
        tries = 30 * need * len(STAGES)
        while True:
            trigger, delay = next(planned, (None, 0.0))
            if trigger is None:
                missing = [stage for stage in STAGES if hits[stage] < need]
                if not missing or tries == 0:
                    break
                tries -= 1
                trigger = in_stage(missing[0])
            life = patient.live(trigger, delay)
            reference.check_calls(life)
            if life.code is None:
                hits[life.stage or "between stages"] += 1
                continue
            assert patient.result() == reference.result
            finished += 1
            patient = Patient(home, server, f"run-{finished}")
        last = patient.live()
        reference.check_calls(last)
        assert patient.result() == reference.result
        lost = sum(life.lost for life in patient.lives)
        assert lost <= WORKERS * sum(life.code is None for life in patient.lives)
    return hits


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_run_killed_thirty_times_in_every_stage(tmp_path: Path) -> None:
    hits = kill_again_and_again(tmp_path, kills=34, need=2)
    assert hits.total() >= 30
    assert all(hits[stage] >= 2 for stage in STAGES), hits


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "changed",
    [(), ("optimizer.verify=joint",), ("optimizer.skill_update_mode=rewrite_from_suggestions",)],
    ids=["edits", "joint", "suggestions"],
)
def test_a_run_killed_while_edits_are_verified_and_checked(
    changed: tuple[str, ...], tmp_path: Path
) -> None:
    extra = tuple(text for setting in (*VERIFIED, *changed) for text in ("--set", setting))
    prepare(tmp_path)
    rules = "".join(f"- {rule(family)}\n" for family in range(FAMILIES) if family % 2)
    (tmp_path / "seed.md").write_text(f"# Reading\n\n{rules}", encoding="utf-8")
    hits: Counter[str] = Counter()
    rng = Random(20260131)
    with run_model_server(tmp_path / "requests.jsonl", bodies=False, latency_ms=4) as server:
        reference = Reference.make(tmp_path, server, extra)
        kinds = Counter(fact["kind"] for fact in facts(Patient(tmp_path, server, "whole").events))
        assert kinds["edits_verified"] > 4
        assert kinds["passing_checked"] > 1
        patient = Patient(tmp_path, server, "run-0", extra)
        for number, stage in enumerate(("verify", "check") * 60):
            if number >= 12 and hits["verify"] >= 2 and hits["check"] >= 1:
                break
            life = patient.live(in_stage(stage, number // 2 % 6), rng.uniform(0, 0.004))
            reference.check_calls(life)
            if life.code == 0:
                assert patient.result() == reference.result
                patient = Patient(tmp_path, server, f"run-{number + 1}", extra)
            else:
                hits[life.stage] += 1
        reference.check_calls(patient.live())
        assert patient.result() == reference.result
    assert hits["verify"] >= 2, hits
    assert hits["check"] >= 1, hits
