"""`kill -9` at any moment, then `skillopt resume`: the same ending, and no call paid for twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from killing import STAGES, WORKERS, Patient, Reference, in_stage, moments, prepare

from skillopt_cli.testing.model_server import model_server


def kill_again_and_again(home: Path, kills: int, need: int) -> Counter[str]:
    """Kill runs `kills` times, and on until every stage was hit `need` times; where it hit."""
    prepare(home)
    hits: Counter[str] = Counter()
    rng = Random(20260131)
    with model_server(home / "requests.jsonl", bodies=False, latency_ms=4) as server:
        reference = Reference.make(home, server)
        assert reference.steps == 8
        patient = Patient(home, server, "run-0")
        finished = 0
        planned = moments(rng, kills)
        tries = 3 * need * len(STAGES)
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


def test_a_killed_run_ends_like_an_uninterrupted_one(tmp_path: Path) -> None:
    hits = kill_again_and_again(tmp_path, kills=5, need=0)
    assert hits.total() >= 4


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_killed_thirty_times_in_every_stage(tmp_path: Path) -> None:
    hits = kill_again_and_again(tmp_path, kills=34, need=2)
    assert hits.total() >= 30
    assert all(hits[stage] >= 2 for stage in STAGES), hits
