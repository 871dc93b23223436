"""What a plan makes of what it is told: patience, the best step, and which texts are tested."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from skillopt_cli.core.plan import LearningRate, TrainPlan
from skillopt_cli.core.task import Split
from skillopt_cli.planning.forecast import (
    Amount,
    Assumptions,
    AttemptCalls,
    Forecast,
    Range,
    whole_parts,
)
from skillopt_cli.planning.forecaster import ACCEPTED, Forecaster
from skillopt_cli.testing import Toy

SIZES: dict[Split, int] = {"train": 12, "selection": 8, "test": 6}
NO_GUIDANCE = "optimizer.use_slow_update=false"
NO_NOTES = "optimizer.use_meta_skill=false"


def forecast(
    *settings: str,
    best: int | None = None,
    accuracy: float = 0.5,
    unchanged: float | None = None,
    measured: float | None = None,
    epochs: int = 2,
) -> Forecast:
    """Of 3 steps in each of so many epochs, with a batch of 4."""
    config = Toy(("evaluation.early_reject=false", *settings)).config()
    plan = TrainPlan(epochs, 12, 4, 1, 42, LearningRate(4, 2))
    assumed = Assumptions(accuracy, best, unchanged, measured)
    return Forecaster(config, plan, SIZES, asks=True, assumed=assumed).forecast()


@pytest.mark.parametrize("done", [None, 0, 5])
def test_what_the_journal_has_of_the_part_at_work_is_not_forecast_again(done: int | None) -> None:
    config = Toy(("evaluation.early_reject=false",)).config()
    plan = TrainPlan(2, 12, 4, 1, 42, LearningRate(4, 2))
    whole = Forecaster(config, plan, SIZES, asks=True, assumed=Assumptions(0.5), done=done)
    stage = "measure" if done is None else "rollout"
    made = Amount({stage: Range.of(3)}, {} if done is None else {"reflect": Range.of(1)})
    before, left = whole.forecast(), replace(whole, made=made).forecast()
    part = "baseline" if done is None else "training"
    for forecast, fewer in ((before, 0), (left, 3)):
        assert forecast.total.rollouts.point == before.total.rollouts.point - fewer
    assert before.total.asked.point - left.total.asked.point == (done is not None)
    assert getattr(left, part).seconds.point < getattr(before, part).seconds.point
    assert left.steps[1:] == before.steps[1:]
    assert left.test.rollouts == before.test.rollouts


def test_more_than_was_likely_may_be_made_already() -> None:
    made = Amount({"rollout": Range.of(90)}, seconds=Range.of(9))
    left = Amount({"rollout": Range(1, 4, 100)}, seconds=Range(1, 2, 3)).without(made)
    assert left == Amount({"rollout": Range(0, 0, 10)}, seconds=Range(0, 0, 0))


def arms(*settings: str, best: int | None = None, epochs: int = 2) -> float:
    return forecast(*settings, best=best, epochs=epochs).test.rollouts.point / SIZES["test"]


@pytest.mark.parametrize(("best", "steps"), [(0, 2), (1, 3), (3, 5), (5, 6), (6, 6)])
def test_patience_ends_the_run_so_many_steps_after_the_best(best: int, steps: int) -> None:
    assert len(forecast("evaluation.patience=2", best=best).steps) == steps
    assert len(forecast("evaluation.patience=2", "evaluation.use_gate=false", best=best).steps) == 6
    assert len(forecast(best=best).steps) == 6


def test_what_patience_leaves_is_likely_less_and_less_and_may_be_all() -> None:
    patient = forecast("evaluation.patience=2")
    assert patient.reached[:3] == pytest.approx((1, 1, 1 - (1 - ACCEPTED) ** 2))
    assert all(later <= chance for chance, later in pairwise(patient.reached))
    whole = forecast()
    assert set(whole.reached) == {1.0}
    assert patient.total.rollouts.point < whole.total.rollouts.point
    assert patient.total.rollouts.high == whole.total.rollouts.high


def test_the_seed_is_the_only_text_where_nothing_is_better() -> None:
    assert arms(NO_GUIDANCE, best=0) == 1
    assert arms(NO_GUIDANCE, best=2) == 2
    assert 1 < arms(NO_GUIDANCE) < 2


def test_guidance_that_is_injected_makes_another_text() -> None:
    forced = "optimizer.slow_update_gate_with_selection=false"
    assert [arms(forced, best=best) for best in (0, 2)] == [2, 3]
    # Patience ends the run before a second epoch does.
    assert arms(forced, "evaluation.patience=2", best=0) == 1


def test_guidance_that_is_no_better_makes_another_text_where_ties_are_accepted() -> None:
    strict = "optimizer.slow_update_accept_ties=false"
    assert [arms(best=best) for best in (0, 2)] == [2, 3]
    assert [arms(strict, best=best) for best in (0, 2)] == [1, 2]
    assert [arms(NO_GUIDANCE, best=best) for best in (0, 2)] == [1, 2]
    # The best skill of the last step may be its candidate, or the guidance after it.
    assert 2 < arms(best=6) < 3
    # Patience ends the run before a second epoch does, or after the one whose end came first.
    assert arms("evaluation.patience=2", best=0) == 1
    assert arms("evaluation.patience=1", best=5, epochs=3) == 3
    assert arms("evaluation.patience=1", best=7, epochs=3) == 2


def test_guidance_that_ties_is_measured_in_full() -> None:
    early = ("evaluation.early_reject=true", NO_NOTES)
    steps = forecast(*early, NO_GUIDANCE, measured=0.25).training.attempts["measure"]
    for setting, share in (
        ("slow_update_accept_ties=true", 1),
        ("slow_update_accept_ties=false", 0.25),
        ("slow_update_gate_with_selection=false", 1),
    ):
        made = forecast(*early, f"optimizer.{setting}", measured=0.25).training.attempts["measure"]
        assert made.point - steps.point == share * SIZES["selection"]
        assert made.low == steps.low
        assert made.high - steps.high == SIZES["selection"]


def test_without_a_gate_the_last_text_is_another_one_unless_it_is_the_best() -> None:
    ungated = ("evaluation.use_gate=false", NO_GUIDANCE)
    assert [arms(*ungated, best=best) for best in (0, 3, 6)] == [2, 3, 2]
    # Without a gate guidance is injected.
    assert arms("evaluation.use_gate=false", best=0) == 2


@pytest.mark.parametrize("best", [0, 3, 4])
def test_an_epoch_that_accepts_nothing_compares_one_text(best: int) -> None:
    samples = ("optimizer.slow_update_samples=5", NO_GUIDANCE)
    compared = forecast(*samples, best=best).training.rollouts.point
    without = forecast(*samples, NO_NOTES, best=best).training.rollouts.point
    assert compared - without == (10 if best > 3 else 5)


@pytest.mark.parametrize(("accuracy", "tried"), [(0.5, 10), (0.05, 12)])
def test_skills_that_solve_next_to_nothing_seldom_differ(accuracy: float, tried: int) -> None:
    wanted = ("optimizer.slow_update_samples=2", "optimizer.longitudinal_pair_policy=changed")
    compared = forecast(*wanted, accuracy=accuracy).training.rollouts.point
    without = forecast(NO_GUIDANCE, NO_NOTES, accuracy=accuracy).training.rollouts.point
    assert compared - without == 2 * tried + SIZES["selection"]


def test_the_likely_number_of_analysts_is_the_mean_over_the_batches_there_may_be() -> None:
    settings = ("gradient.minibatch_size=4", NO_GUIDANCE, NO_NOTES)
    calls = forecast(*settings, accuracy=0.25).training.calls["reflect"]
    # Both kinds unless all four tasks, or none, are solved.
    both = 1 - 0.25**4 - 0.75**4
    assert calls.point == pytest.approx(6 * (1 + both))
    assert calls.high == 6 * 2 * 2


def test_turns_and_verdicts_are_calls_and_take_their_time() -> None:
    config = Toy().config()
    plan = TrainPlan(2, 12, 4, 1, 42, LearningRate(4, 2))
    course = AttemptCalls(Range(1, 5, 9), Range(0, 0.5, 2))
    one, several = (
        Forecaster(config, plan, SIZES, True, Assumptions(), attempt=how).forecast()
        for how in (AttemptCalls(), course)
    )
    assert several.total.rollouts == one.total.rollouts
    assert several.models == one.models + 1
    rest = one.calls.point - one.total.rollouts.point
    assert several.calls.point == pytest.approx(5.5 * one.total.rollouts.point + rest + 1)
    assert several.baseline.seconds.high == 11 * one.baseline.seconds.high


def test_a_text_that_is_no_new_one_is_not_measured() -> None:
    measured = {
        share: forecast(unchanged=share).training.attempts["measure"] for share in (0.0, 0.5, 1.0)
    }
    # Six candidates, and guidance at the end of the second epoch.
    assert measured[0.0].point == 7 * SIZES["selection"]
    assert measured[0.5].point == measured[0.0].point / 2
    assert measured[1.0].point == 0
    assert len({share.high for share in measured.values()}) == 1


def test_how_much_is_measured_of_a_text_counts_where_some_are_rejected_early() -> None:
    early = "evaluation.early_reject=true"
    whole = forecast(NO_GUIDANCE).training.attempts["measure"].point
    for share in (0.25, 1.0):
        some = forecast(early, NO_GUIDANCE, measured=share).training.attempts["measure"]
        assert some.point == share * whole
        assert forecast(NO_GUIDANCE, measured=share).training.attempts["measure"].point == whole


VERIFIED = (
    "optimizer.verify=edits",
    "optimizer.rerun_solved=0.25",
    "gradient.failure_only=true",
    NO_GUIDANCE,
    NO_NOTES,
)


def verified(
    *settings: str, epochs: int = 3, asks: bool = True, learns: bool = True, **known: float
) -> Forecast:
    """A forecast of verified edits, of 3 steps of 4 tasks in each epoch."""
    config = Toy(("evaluation.early_reject=false", *VERIFIED, *settings)).config()
    plan = TrainPlan(epochs, 12, 4, 1, 42, LearningRate(4, 2))
    assumed = replace(Assumptions(0.5), **known)
    return Forecaster(config, plan, SIZES, asks, assumed, learns=learns).forecast()


def test_a_share_of_all_steps_does_not_grow() -> None:
    rollouts = [step.attempts["rollout"].point for step in verified(learns=False).steps]
    second = 4 * (1 - 0.75 * 0.5)
    third = 4 * (1 - 0.75 * (0.375 + 0.625 * 0.5))
    assert rollouts == pytest.approx([4.0] * 3 + [second] * 3 + [third] * 3)


def test_a_skill_that_solves_nothing_at_first_learns() -> None:
    learning, steady = (verified(accuracy=0.0, learns=learns).steps for learns in (True, False))
    assert learning[0] == steady[0]
    assert learning[3].attempts["verify"].point < steady[3].attempts["verify"].point
    # What it solves later on is not known, whatever it solved at first.
    solving = verified("optimizer.check_passing=true", accuracy=0.0).steps
    assert solving[0].attempts["check"].high == 0 < solving[3].attempts["check"].high


def test_an_optimizer_without_a_model_tries_more_edits_for_as_many_failed_tasks() -> None:
    wide = ("gradient.minibatch_size=8", "optimizer.reflect_rounds=1")
    model, rules = (verified(*wide, asks=asks, accuracy=0.0).steps[0] for asks in (True, False))
    assert rules.attempts["verify"].point > model.attempts["verify"].point
    assert rules.attempts["verify"].high > model.attempts["verify"].high
    assert not rules.calls


def test_tasks_solved_before_are_left_out_but_for_a_share() -> None:
    rollouts = [step.attempts["rollout"] for step in verified().steps]
    # Half of the tasks are solved in the first epoch; three quarters of those are left out. In the
    # second a quarter of them, and of the others what the edits solve.
    second = 4 * (1 - 0.75 * 0.5)
    learned = (0.125 + 0.5 * 0.3 * 0.9) / 0.625
    third = 4 * (1 - 0.75 * (0.375 + 0.625 * learned))
    expected = [4.0] * 3 + [second] * 3 + [third] * 3
    assert [each.point for each in rollouts] == pytest.approx(expected)
    assert {each.high for each in rollouts} == {4}
    again = verified("optimizer.rerun_solved=1").steps
    assert {step.attempts["rollout"].point for step in again} == {4}


def test_a_run_ends_where_every_train_task_is_likely_solved() -> None:
    reached = verified(accuracy=0.9).reached
    assert reached[:3] == (1, 1, 1)
    assert reached[3] == pytest.approx(1 - 0.9**12)
    assert reached[6] < reached[3]
    # The solved tasks are read as well, or attempted again.
    for setting in ("gradient.failure_only=false", "optimizer.rerun_solved=1"):
        assert set(verified(setting, accuracy=0.9).reached) == {1.0}


def test_a_later_round_reads_what_a_round_of_edits_leaves() -> None:
    one, three = (verified(f"optimizer.reflect_rounds={n}", passing=0.25) for n in (1, 3))
    asked = [made.steps[0].calls["reflect"] for made in (one, three)]
    assert asked[0].point < asked[1].point < 3 * asked[0].point
    assert asked[1].high == 3 * asked[0].high
    none = verified("optimizer.reflect_rounds=3", passing=1.0).steps[0].calls["reflect"]
    assert none.point == pytest.approx(asked[0].point)


def test_measured_trials_count_by_failed_task() -> None:
    step = verified(trials=1.5).steps[0].attempts["verify"]
    assert step.point == 1.5 * 2
    assert step.high > 4 * 1.5
    assert verified("optimizer.verify=off", trials=1.5).steps[0].attempts["verify"].high == 0


def test_a_known_end_leaves_out_the_steps_after_it() -> None:
    ended = verified(last_step=4)
    assert len(ended.steps) == 4
    assert set(ended.reached) == {1.0}
    assert len(verified(last_step=0).steps) == 0


def test_pruning_measures_without_each_block_and_edit() -> None:
    assert verified().pruning.rollouts == Range()
    pruned = verified("optimizer.prune=true").pruning.rollouts
    assert pruned.high == SIZES["selection"] * sum(
        LearningRate(4, 2).budget(n, 9) or 0 for n in range(1, 10)
    )
    assert 0 < pruned.point < pruned.high
    assert (
        verified("optimizer.prune=true", blocks=3).pruning.rollouts.point == 3 * SIZES["selection"]
    )


def test_a_pooled_gate_measures_the_current_skill_again() -> None:
    strict, pooled = (
        verified(f"evaluation.gate_policy={policy}").training.attempts["measure"]
        for policy in ("strict", "pooled")
    )
    assert (pooled.point, pooled.high) == (2 * strict.point, 2 * strict.high)


def test_what_is_likely_of_another_forecast_leaves_the_ends() -> None:
    wide = forecast("evaluation.patience=2")
    short = forecast("evaluation.patience=2", best=1, accuracy=0.9)
    both = wide.likely(short)
    assert len(short.steps) < len(wide.steps) == len(both.steps)
    assert both.calls.point == pytest.approx(short.calls.point)
    assert (both.calls.low, both.calls.high) == (wide.calls.low, wide.calls.high)
    assert both.total.seconds.point == pytest.approx(short.total.seconds.point)


def test_what_is_told_wins_over_what_another_says() -> None:
    told, others = Assumptions(accuracy=0.2), Assumptions(0.7, 3, latency=0.5)
    assert told.or_else(others) == Assumptions(0.2, 3, latency=0.5)
    assert others.without(told) == Assumptions(None, 3, latency=0.5)


def test_a_range_is_made_to_hold_what_is_likely() -> None:
    assert Range(1, 5, 9).likely(2) == Range(1, 2, 9)
    assert Range(1, 5, 9).likely(12) == Range(1, 12, 12)
    assert Range(1, 5, 9).likely(None) == Range(1, 5, 9)


def test_parts_in_whole_numbers_add_up_to_their_rounded_sum() -> None:
    parts = [Range(0, 202.4, 300), Range(1.5, 9.3, 20), Range.of(2)]
    assert whole_parts(parts) == [Range(0, 203, 300), Range(2, 9, 20), Range.of(2)]
    assert whole_parts([Range(0.4, 0.4, 0.4)] * 3) == [Range.of(1), Range(), Range()]
    assert whole_parts([]) == []
