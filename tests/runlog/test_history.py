from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.events import (
    BaselineMeasured,
    BatchScored,
    CallFailed,
    CallMade,
    CandidateMade,
    CheckpointSaved,
    Degraded,
    EditsChosen,
    EditsMerged,
    GateDecided,
    PatchesProposed,
    RolloutFinished,
    RunEvent,
    RunStarted,
    StageFinished,
    StageStarted,
    Stamped,
    StepSkipped,
    StepStarted,
)
from skillopt_cli.core.gate import GateDecision, Verdict
from skillopt_cli.core.task import Usage
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import VOLATILE, history
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.writers import HistoryWriter

KEPT, LOST = Edit("append", "kept", support=3), Edit("replace", "b", "missing", support=2)
DIGEST = "0123456789abcdef" * 4


def stamp(events: Sequence[RunEvent], start: float = 0.0) -> list[Stamped]:
    """One fact a second."""
    return [Stamped(i, start + i, event) for i, event in enumerate(events, 1)]


def started(done: int) -> RunStarted:
    return RunStarted("r", "toy", done, 4, 2, "o", "t", "d", 10, 4, 4, "hard")


def saved(done: int, current: float, current_step: int, best_step: int) -> CheckpointSaved:
    return CheckpointSaved(done, current, current, current_step, best_step, 100 + current_step)


def stage(step: int, name: Any, *inside: RunEvent) -> list[RunEvent]:
    return [StageStarted(step, name, 5, 2), *inside, StageFinished(step, name)]


def opening() -> list[RunEvent]:
    return [
        started(0),
        *stage(0, "measure", CallMade("target", "measure", Usage(1, 10, 1))),
        BaselineMeasured(0.5, 0.5, 0.6, 4, 4),
        saved(0, 0.5, 0, 0),
    ]


def step(number: int, verdict: Verdict = "new_best", score: float = 0.75) -> list[RunEvent]:
    """A whole step up to its gate, without the checkpoint."""
    outcomes = (EditOutcome(KEPT, "applied"), EditOutcome(LOST, "unmatched", "absent"))
    early = verdict == "reject"
    decision = GateDecision(verdict, "hard", score, 0.5, 0.5, 4 - early, 4, early, ("a",), ("b",))
    mean = None if early else score
    return [
        StepStarted(number, 1, number, 4, 3.7, 4, "cosine"),
        *stage(
            number,
            "rollout",
            CallMade("target", "rollout", Usage(1, 100, 10)),
            RolloutFinished(number, "rollout", "x", None, None, "broken", False, "timeout"),
            CallMade("target", "rollout", Usage(1, None, None)),
            BatchScored(number, 1 / 3, 2 / 3, 2, 3, 4),
        ),
        *stage(number, "reflect", PatchesProposed(number, 2, 1, 1, 5)),
        *stage(number, "aggregate", EditsMerged(number, 3), Degraded("aggregate", "no answer")),
        *stage(number, "select", EditsChosen(number, (KEPT, LOST), ())),
        *stage(number, "update", CandidateMade(number, DIGEST, 100 + number, outcomes)),
        *stage(number, "measure"),
        GateDecided(number, decision, mean, mean),
    ]


def stable(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in record.items() if k not in VOLATILE} for record in records]


def test_a_whole_step_becomes_one_record() -> None:
    (record,) = history(fold(stamp([*opening(), *step(1), saved(1, 0.75, 1, 1)])))
    assert record == {
        "step": 1,
        "epoch": 1,
        "step_in_epoch": 0,
        "rollout_hard": 0.333333,
        "rollout_soft": 0.666667,
        "rollout_n": 4,
        "rollout_scored": 3,
        "n_patches": 2,
        "n_failure_patches": 1,
        "n_success_patches": 1,
        "n_edits_merged": 3,
        "n_edits_ranked": 2,
        "edit_budget": 4,
        "lr_control_mode": "fixed",
        "support_counts": [3, 2],
        "candidate_hash": DIGEST[:16],
        "candidate_skill_len": 101,
        "edit_apply_summary": {
            "total": 2,
            "skipped": 1,
            "applied": 1,
            "appended": 0,
            "unmatched": 1,
            "ambiguous": 0,
            "protected": 0,
            "read_only": 0,
            "no_op": 0,
            "invalid": 0,
            "over_budget": 0,
            "not_selected": 0,
            "duplicate": 0,
            "vetoed": 0,
            "unverified": 0,
            "harmful": 0,
            "leak": 0,
            "shortcut": 0,
        },
        "selection_hard": 0.75,
        "selection_soft": 0.75,
        "selection_scored": 4,
        "selection_n": 4,
        "gate_metric": "hard",
        "candidate_gate_score": 0.75,
        "early_rejected": False,
        "action": "accept_new_best",
        "skip_reason": None,
        "fixed": ["a"],
        "broke": ["b"],
        "current_score": 0.75,
        "best_score": 0.75,
        "best_step": 1,
        "current_origin": "step_0001",
        "best_origin": "step_0001",
        "skill_len": 101,
        "broken_attempts": 1,
        "degraded": ["aggregate: no answer"],
        "timing": {
            "rollout_s": 5.0,
            "reflect_s": 2.0,
            "aggregate_s": 3.0,
            "select_s": 2.0,
            "update_s": 2.0,
            "evaluate_s": 1.0,
        },
        "tokens": {
            "rollout": {
                "calls": 2,
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "cached_tokens": None,
                "reasoning_tokens": None,
                "usd": None,
            }
        },
        "wall_time_s": 23.0,
    }


def test_an_early_rejection_gives_the_bound_and_no_means() -> None:
    events = [*opening(), *step(1, "reject", 0.5), saved(1, 0.5, 0, 0)]
    (record,) = history(fold(stamp(events)))
    assert record["action"] == "reject"
    assert record["early_rejected"] is True
    assert (record["selection_scored"], record["selection_n"]) == (3, 4)
    assert record["candidate_gate_score"] == 0.5
    assert record["selection_hard"] is None
    assert record["selection_soft"] is None
    assert record["current_origin"] == "initial_skill"


@pytest.mark.parametrize(
    ("verdict", "action"),
    [
        ("accept", "accept"),
        ("force_accept", "force_accept"),
        ("indecisive", "indecisive"),
        ("no_op", "skip_no_op"),
    ],
)
def test_the_action_names_the_verdict(verdict: Verdict, action: str) -> None:
    (record,) = history(fold(stamp([*opening(), *step(1, verdict), saved(1, 0.5, 0, 0)])))
    assert record["action"] == action


@pytest.mark.parametrize(("patches", "action"), [(0, "skip_no_patches"), (2, "skip_no_op")])
def test_a_skipped_step_says_why(patches: int, action: str) -> None:
    events = [
        *opening(),
        StepStarted(1, 1, 1, None, 4.0, 4, "constant"),
        PatchesProposed(1, 2, patches, 0, patches),
        StepSkipped(1, "nothing to do"),
        saved(1, 0.5, 0, 0),
    ]
    (record,) = history(fold(stamp(events)))
    assert record["action"] == action
    assert record["skip_reason"] == "nothing to do"
    assert record["candidate_hash"] is None
    assert record["edit_budget"] is None
    assert record["tokens"] == {}
    assert record["support_counts"] == []


def test_unknown_token_counts_stay_unknown() -> None:
    events = [
        *opening(),
        StepStarted(1, 1, 1, 4, 4.0, 4, "constant"),
        CallMade("optimizer", "reflect", Usage(1, None, None)),
        saved(1, 0.5, 0, 0),
    ]
    (record,) = history(fold(stamp(events)))
    tokens = record["tokens"]["reflect"]
    assert tokens.pop("calls") == 1
    assert set(tokens.values()) == {None}


def test_a_failed_try_costs_what_it_says() -> None:
    events = [
        *opening(),
        StepStarted(1, 1, 1, 4, 4.0, 4, "constant"),
        CallFailed("optimizer", "reflect", "RateLimited"),
        CallFailed("optimizer", "reflect", "ServerFailed", Usage(1, 30, 2, 20, 1), 0.1),
        CallMade("optimizer", "reflect", Usage(1, 40, 5, 20, 2), 0.2),
        saved(1, 0.5, 0, 0),
    ]
    (record,) = history(fold(stamp(events)))
    assert record["tokens"] == {
        "reflect": {
            "calls": 2,
            "prompt_tokens": 70,
            "completion_tokens": 7,
            "cached_tokens": 40,
            "reasoning_tokens": 3,
            "usd": 0.3,
        }
    }


def test_a_step_without_checkpoint_is_not_in_the_history() -> None:
    facts = stamp([*opening(), *step(1), saved(1, 0.75, 1, 1), *step(2)])
    assert [record["step"] for record in history(fold(facts))] == [1]


def test_what_a_dead_process_left_of_a_step_is_dropped() -> None:
    whole = [*opening(), *step(1), saved(1, 0.75, 1, 1), *step(2, "reject"), saved(2, 0.75, 1, 1)]
    half = step(2, "accept", 1.0)
    for cut in range(len(half)):
        crashed = [
            *opening(),
            *step(1),
            saved(1, 0.75, 1, 1),
            *half[: cut + 1],
            started(1),
            *step(2, "reject"),
            saved(2, 0.75, 1, 1),
        ]
        assert stable(history(fold(stamp(crashed)))) == stable(history(fold(stamp(whole))))


def test_what_was_paid_for_a_step_counts_over_all_tries_of_it() -> None:
    def calls(*events: RunEvent) -> int:
        (record,) = history(fold(stamp([*opening(), *events, saved(1, 0.75, 1, 1)])))
        return sum(spent["calls"] for spent in record["tokens"].values())

    once = calls(*step(1))
    assert once > 0
    assert calls(*step(1), started(0), *step(1), started(0), *step(1)) == 3 * once


def test_costs_of_a_redone_step_do_not_go_to_a_later_one_left_open() -> None:
    whole = [*opening(), *step(1), saved(1, 0.75, 1, 1)]
    crashed = [*whole, *step(2)[:5], started(0), *step(1), saved(1, 0.75, 1, 1)]
    assert history(fold(stamp(crashed))) == history(fold(stamp(whole)))


def test_time_of_a_redone_step_includes_that_of_interrupted_processes() -> None:
    parts = [step(1)[:5], [started(0)], step(1)[:3], [started(0)], step(1)]
    facts = stamp([*opening(), *(event for part in parts for event in part), saved(1, 0.75, 1, 1)])
    (record,) = history(fold(facts))
    first = next(fact.time for fact in facts if isinstance(fact.event, StepStarted))
    idle = sum(
        after.time - before.time
        for before, after in pairwise(facts)
        if before.time >= first
        and any(isinstance(fact.event, RunStarted) for fact in (before, after))
    )
    ended = facts[-1].time
    assert record["wall_time_s"] == round(ended - first - idle, 1)


def test_a_recorded_step_beyond_a_later_start_is_redone() -> None:
    events = [
        *opening(),
        *step(1),
        saved(1, 0.75, 1, 1),
        *step(2, "accept", 1.0),
        saved(2, 1.0, 2, 2),
        started(1),
    ]
    assert [record["step"] for record in history(fold(stamp(events)))] == [1]
    redone = history(fold(stamp([*events, *step(2, "reject"), saved(2, 0.75, 1, 1)])))
    assert [record["action"] for record in redone] == ["accept_new_best", "reject"]


@pytest.mark.parametrize("verdict", ["new_best", "accept", "reject", "indecisive", "force_accept"])
def test_a_start_confirms_a_step_whose_checkpoint_was_not_announced(verdict: Verdict) -> None:
    moved = verdict in ("new_best", "accept", "force_accept")
    best = verdict == "new_best"
    checkpoint = CheckpointSaved(
        1, 0.75 if moved else 0.5, 0.75 if best else 0.5, int(moved), int(best), 100 + moved
    )
    silent = [*opening(), *step(1, verdict), started(1)]
    told = [*opening(), *step(1, verdict), checkpoint, started(1)]
    assert stable(history(fold(stamp(silent)))) == stable(history(fold(stamp(told))))


def test_stable_parts_do_not_depend_on_the_clock() -> None:
    events = [*opening(), *step(1), saved(1, 0.75, 1, 1)]
    slow = [Stamped(f.number, f.time * 7, f.event) for f in stamp(events)]
    assert stable(history(fold(slow))) == stable(history(fold(stamp(events))))
    assert history(fold(slow)) != history(fold(stamp(events)))


def hearing(folder: Path, prior: Sequence[Stamped] = ()) -> Callable[[Stamped], None]:
    """Tells a history writer, and the log it reads, of a fact."""
    log = RunLog(folder)
    for fact in prior:
        log(fact)
    writer = HistoryWriter(folder, log)

    def hear(fact: Stamped) -> None:
        log(fact)
        writer(fact)

    return hear


class TestHistoryWriter:
    WHOLE = (
        *opening(),
        *step(1),
        saved(1, 0.75, 1, 1),
        *step(2, "reject"),
        saved(2, 0.75, 1, 1),
    )

    def read(self, folder: Path, name: str = "history.json") -> Any:
        return json.loads((folder / name).read_text("utf-8"))

    def test_it_writes_at_each_checkpoint(self, tmp_path: Path) -> None:
        writer = hearing(tmp_path)
        for fact in stamp(self.WHOLE):
            writer(fact)
            done = getattr(fact.event, "done", None)
            if isinstance(fact.event, CheckpointSaved):
                assert len(self.read(tmp_path)) == done
        records = history(fold(stamp(self.WHOLE)))
        text = json.dumps(records, ensure_ascii=False, indent=2) + "\n"
        assert (tmp_path / "history.json").read_text("utf-8") == text
        for number in (1, 2):
            name = f"steps/step_{number:04d}/step_record.json"
            assert self.read(tmp_path, name) == records[number - 1]

    def test_it_takes_up_an_earlier_log_wherever_that_ended(self, tmp_path: Path) -> None:
        facts = stamp(self.WHOLE)
        for cut in range(1, len(facts) + 1):
            folder = tmp_path / str(cut)
            prior = facts[:cut]
            done = max(
                (f.event.done for f in prior if isinstance(f.event, CheckpointSaved)), default=0
            )
            writer = hearing(folder, prior)
            rest: list[RunEvent] = [started(done)]
            for number, events in enumerate(([*step(1)], [*step(2, "reject")]), 1):
                if number > done:
                    rest += [*events, saved(number, 0.75, 1, 1)]
            for fact in stamp(rest, start=1000.0):
                writer(fact)
            records = self.read(folder)
            assert stable(records) == stable(history(fold(facts)))
            last = self.read(folder, "steps/step_0002/step_record.json")
            assert last == records[-1]

    def test_it_forgets_steps_that_are_worked_on_again(self, tmp_path: Path) -> None:
        writer = hearing(tmp_path)
        for fact in stamp([*self.WHOLE, started(1)]):
            writer(fact)
        assert [record["step"] for record in self.read(tmp_path)] == [1]

    def test_work_per_fact_does_not_grow(self, tmp_path: Path) -> None:
        """Many facts between two checkpoints cost no writes and no second fold."""
        writer = hearing(tmp_path, stamp(self.WHOLE))
        call = CallMade("target", "rollout", Usage(1, 1, 1))
        for fact in stamp([call] * 1000):
            writer(fact)
        assert list(tmp_path.iterdir()) == []
