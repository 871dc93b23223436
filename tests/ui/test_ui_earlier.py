"""What a run tells a plan that is to be like it, from its facts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from facts import accepted_step, attempts, begun, opening, rejected_step, stamp, whole_run

from skillopt_cli.core import events as ev
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.task import Usage
from skillopt_cli.engine.earlier import Earlier
from skillopt_cli.engine.forecast import Course, Range
from skillopt_cli.ui.earlier import earlier_run
from skillopt_cli.ui.folding import fold

FOLDER = Path("outputs/searchqa/a")


def earlier(facts: list[ev.RunEvent], pace: float = 1.0) -> Earlier:
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
    told = earlier(whole_run()).told
    # 2 of 4, 2 of 4, and 3 of 3, as a broken attempt is no failure.
    assert told.accuracy == pytest.approx(7 / 11)
    # The third step was skipped; of the others 20 and 6 tasks of 20 were measured.
    assert told.unchanged == pytest.approx(1 / 3)
    assert told.measured == pytest.approx(26 / 40)
    assert told.best_step == 1


def test_a_text_measured_before_is_no_new_one() -> None:
    told = earlier([*opening(), *accepted_step(1), *again(rejected_step(2))]).told
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
    told = earlier([*opening(), *steps, *rejected_step(2)]).told
    assert told.unchanged == pytest.approx(share)


@pytest.mark.parametrize(
    ("action", "share"), [("inject_placeholder", 0), ("no_content", pytest.approx(1 / 2))]
)
def test_no_guidance_is_no_new_text_and_a_placeholder_no_text(
    action: ev.SlowUpdateAction, share: float
) -> None:
    ended = ev.SlowUpdateDecided(1, 1, action)
    steps = [*accepted_step(1)[:-1], ended, accepted_step(1)[-1]]
    assert earlier([*opening(), *steps]).told.unchanged == share


def test_a_latency_is_the_time_of_a_wave() -> None:
    # Each attempt is two facts, one of a wave of four: 8 seconds and, at the end, one more.
    told = earlier(opening(), pace=1.0).told
    assert told.latency == pytest.approx(41 / 5, rel=0.01)
    ceiling = [replace(opening()[0], limits=ev.Limits(4, 16, 1)), *opening()[1:]]  # type: ignore[type-var]
    assert earlier(ceiling).told.latency == pytest.approx(41 / 20, rel=0.01)
    assert earlier(again(opening())).told.latency is None


def test_a_best_step_is_told_by_a_run_that_ended_and_to_one_as_long() -> None:
    whole = earlier(whole_run())
    assert earlier(whole_run()[:-1]).told.best_step is None
    assert whole.told_of(3) == whole.told
    assert whole.told_of(4) == replace(whole.told, best_step=None)


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
    course = of_three.course(Course(Range(1, 5, 9), Range(0, 0.5, 2)))
    assert course == Course(Range(1, 3, 9), Range(0, 1, 2))


def test_a_run_without_an_attempt_or_of_another_benchmark_tells_nothing() -> None:
    for facts in ([], [begun()]):
        with pytest.raises(UsageError, match="has made no attempt yet"):
            earlier(facts)
    with pytest.raises(UsageError, match="is one of `searchqa`, not of `docvqa`"):
        earlier_run(FOLDER, fold(stamp(opening())), "docvqa")
