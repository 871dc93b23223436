"""What a run tells a plan that is to be like it, from its facts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from facts import (
    accepted_step,
    attempts,
    begun,
    opening,
    proposing,
    rejected_step,
    stamp,
    whole_run,
)

from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit, Trial
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.task import Usage
from skillopt_cli.planning.forecast import AttemptCalls, Range
from skillopt_cli.planning.plan_from_run import EarlierRun, earlier_run
from skillopt_cli.runlog.fold import fold

FOLDER = Path("outputs/searchqa/a")


def earlier(facts: list[ev.RunEvent], pace: float = 1.0) -> EarlierRun:
    return earlier_run(FOLDER, fold(stamp(facts, pace=pace)), "searchqa")


def again(facts: list[ev.RunEvent]) -> list[ev.RunEvent]:
    """The facts of a step whose text the journal knows: nobody is called to measure it."""
    kept = []
    for fact in facts:
        if isinstance(fact, ev.RolloutFinished) and fact.stage == "measure":
            fact = replace(fact, recalled=True)
        if not (isinstance(fact, ev.CallMade) and fact.stage == "measure"):
            kept.append(fact)
    return kept


def test_shares_are_over_all_that_was_scored_made_and_measured() -> None:
    told = earlier(whole_run()).known
    # 2 of 4, 2 of 4, and 3 of 3, as a broken attempt is no failure.
    assert told.accuracy == pytest.approx(7 / 11)
    # The third step was skipped; of the others 20 and 6 tasks of 20 were measured.
    assert told.unchanged == pytest.approx(1 / 3)
    assert told.measured == pytest.approx(26 / 40)
    assert told.best_step == 1


def test_a_text_measured_before_is_no_new_one() -> None:
    told = earlier([*opening(), *accepted_step(1), *again(rejected_step(2))]).known
    assert told.unchanged == pytest.approx(1 / 2)
    assert told.measured is None, "what was rejected early cost nothing"


@pytest.mark.parametrize(("known", "share"), [(False, 0), (True, 1 / 3)])
def test_guidance_is_a_text_like_a_candidate(known: bool, share: float) -> None:
    guided = [
        ev.EpochCompared(1, 2, (), 4, 0),
        ev.StageStarted(1, "measure", 20, 4),
        *attempts(1, "measure", 20, wins=16),
        ev.StageFinished(1, "measure"),
        ev.SlowUpdateDecided(1, 2, "force_accept", "- keep it short", None, 0.8, 0.8),
    ]
    steps = [*accepted_step(1)[:-1], *(again(guided) if known else guided), accepted_step(1)[-1]]
    told = earlier([*opening(), *steps, *rejected_step(2)]).known
    assert told.unchanged == pytest.approx(share)


@pytest.mark.parametrize(
    ("action", "share"), [("inject_placeholder", 0), ("no_content", pytest.approx(1 / 2))]
)
def test_no_guidance_is_no_new_text_and_a_placeholder_no_text(
    action: ev.SlowUpdateAction, share: float
) -> None:
    ended = ev.SlowUpdateDecided(1, 1, action)
    steps = [*accepted_step(1)[:-1], ended, accepted_step(1)[-1]]
    assert earlier([*opening(), *steps]).known.unchanged == share


def verified(*fixed: tuple[str, ...], round: int = 1) -> ev.EditsVerified:
    """A round in which edits were tried on two tasks each and solved some of them."""
    trials = tuple(
        Trial(Edit("append", content=f"rule {i}"), ("t2", "t3"), tasks)
        for i, tasks in enumerate(fixed)
    )
    return ev.EditsVerified(1, round, trials, kept=sum(map(bool, fixed)))


def test_verification_is_measured_by_failed_tasks() -> None:
    begun, *rest = proposing(1)
    tried = [
        *attempts(1, "verify", 3, wins=1),
        verified(("t2",), (), ("t2",)),
        verified((), round=2),
    ]
    told = earlier([*opening(), begun, *rest, *tried]).known
    # Two tasks failed, and each of two rounds reads both; one of them is solved, by two edits.
    assert told.trials == pytest.approx(3 / 2)
    assert told.passing == pytest.approx(1 / 4)
    unverified = earlier(whole_run()).known
    assert unverified.trials is None
    assert unverified.passing is None


def test_an_early_end_and_pruned_blocks_are_told_to_a_run_as_long() -> None:
    blocks = (
        ev.BlockTried("item", "- one", 10, removed=True, gain=0.0),
        ev.BlockTried("item", "- two", 10, removed=False, reason="nothing would be left"),
    )
    pruned = ev.SkillPruned("digest-1", "digest-p", 0.8, 0.8, 160, 150, blocks)
    stopped = ev.StoppedEarly("the current skill solves every selection task")
    *steps, ended = whole_run()
    told = earlier([*steps, stopped, pruned, ended])
    assert told.known.last_step == told.known_for(3).last_step == 3
    assert told.known.blocks == 1, "one whose removal was not measured took no attempts"
    assert told.known_for(4).last_step is None
    assert told.known_for(4).blocks is None
    assert earlier(whole_run()).known.last_step is None


def test_a_latency_is_the_time_of_a_wave() -> None:
    # Each attempt is two facts, one of a wave of four: 8 seconds and, at the end, one more.
    told = earlier(opening(), pace=1.0).known
    assert told.latency == pytest.approx(41 / 5, rel=0.01)
    ceiling = [replace(opening()[0], limits=ev.Limits(4, 16, 1)), *opening()[1:]]  # type: ignore[type-var]
    assert earlier(ceiling).known.latency == pytest.approx(41 / 20, rel=0.01)
    assert earlier(again(opening())).known.latency is None


def test_a_best_step_is_told_by_a_run_that_ended_and_to_one_as_long() -> None:
    whole = earlier(whole_run())
    assert earlier(whole_run()[:-1]).known.best_step is None
    assert whole.known_for(3) == whole.known
    assert whole.known.tested == 2
    assert earlier(whole_run()[:-1]).known.tested is None
    assert whole.known_for(4) == replace(whole.known, best_step=None, tested=None)


def test_tokens_are_told_where_a_service_counted_them() -> None:
    calls = earlier(whole_run()).calls("target")
    assert set(calls) == {"measure", "rollout", ""}
    assert calls["rollout"].prompt_tokens == 100 * calls["rollout"].calls
    # The analysts' service said nothing of tokens.
    assert earlier(whole_run()).calls("optimizer") == {}


def test_attempts_of_several_calls_tell_how_many() -> None:
    turns = [ev.CallMade("target", "rollout", Usage(1, 9, 9), turn=i) for i in (0, 1, 2)]
    judged = [ev.CallMade("judge", "rollout", Usage(1, 9, 9))]
    of_three = earlier([begun(), *turns, *judged, *attempts(1, "rollout", 1, wins=0)[:1]])
    course = of_three.attempt_calls(AttemptCalls(Range(1, 5, 9), Range(0, 0.5, 2)))
    assert course == AttemptCalls(Range(1, 3, 9), Range(0, 1, 2))


def test_a_run_without_an_attempt_or_of_another_benchmark_tells_nothing() -> None:
    for facts in ([], [begun()]):
        with pytest.raises(UsageError, match="has made no attempt yet"):
            earlier(facts)
    with pytest.raises(UsageError, match="is one of `searchqa`, not of `docvqa`"):
        earlier_run(FOLDER, fold(stamp(opening())), "docvqa")
