"""Runs under caps: never passed, tested with what is kept, taken up as if there had been none."""

from __future__ import annotations

import asyncio

import pytest
from capping import (
    BENCHMARK,
    IN_FLIGHT,
    SETTINGS,
    Life,
    Metering,
    Whole,
    World,
    check_life_under,
    outcome,
    price,
    spent,
)

from skillopt_cli.core.caps import Use
from skillopt_cli.core.errors import BackendUnusable, BudgetExhausted
from skillopt_cli.core.events import (
    BUDGET,
    BudgetSpent,
    Degraded,
    GateDecided,
    RolloutFinished,
    RunFailed,
    RunFinished,
    StageStarted,
    Stamped,
    TestMeasured,
)
from skillopt_cli.core.ledger import ledger_of
from skillopt_cli.core.task import Usage
from skillopt_cli.engine.session import evaluate_session, train_session
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import history
from skillopt_cli.testing import FunctionChat, MemoryStore, Toy, ToyBenchmark, toy_session


@pytest.fixture(scope="module")
def whole() -> Whole:
    made = Whole()
    verdicts = {
        f.event.decision.verdict for f in made.store.log if isinstance(f.event, GateDecided)
    }
    assert len(verdicts) > 1
    assert {"rollout", "reflect", "aggregate", "measure", "slow_update", "meta_skill", "test"} <= (
        made.stages
    )
    return made


def test_a_cap_on_calls_anywhere(whole: Whole) -> None:
    most = int(whole.use.of("max_calls"))
    hits = {check_life_under(whole, "max_calls", n) for n in range(2, most, 4)}
    assert hits >= {"rollout", "reflect", "measure", "slow_update"}


def test_a_cap_on_calls_with_calls_that_fail(whole: Whole) -> None:
    most = int(whole.use.of("max_calls"))
    for n in range(3, most, 7):
        check_life_under(whole, "max_calls", n, faulty=True)


def test_a_cap_on_tokens_anywhere(whole: Whole) -> None:
    most = int(whole.use.of("max_tokens"))
    hits = {check_life_under(whole, "max_tokens", n) for n in range(50, most, most // 12)}
    assert hits >= {"rollout", "reflect", "measure"}


@pytest.mark.parametrize("faulty", [False, True], ids=["sound", "faulty"])
def test_a_cap_on_money_anywhere(whole: Whole, faulty: bool) -> None:
    most = whole.use.of("max_usd")
    # The attempts of a step cost little of the whole, so the caps are close to each other.
    caps = [round(most * share / 26, 3) for share in range(1, 26)]
    hits = {check_life_under(whole, "max_usd", usd, faulty=faulty) for usd in caps}
    assert hits >= {"rollout", "reflect", "measure"}


def test_money_that_is_raised_too_little_stops_again_and_again(whole: Whole) -> None:
    store, most = MemoryStore(), whole.use.of("max_usd")
    done: list[int] = []
    paid = 0.0
    # The limits leave out `most` itself: calls in flight decide whether that is enough.
    for share in range(5, 41, 2):
        limit = round(most * share / 20, 3)
        life = Life(store, f"run.max_usd={limit}")
        paid += sum(map(price, life.model.paid))
        assert spent(store, "max_usd") == pytest.approx(paid)
        over = spent(store, "max_usd") - limit
        assert over <= IN_FLIGHT * ledger_of(store.facts()).most_usd
        if life.code == 0:
            break
        state = store.load_state()
        done.append(state.done if state else -1)
    assert life.code == 0
    assert share > 20
    assert done == sorted(done)
    assert len(done) >= 8
    assert len(set(done)) >= 3
    assert outcome(store) == whole.outcome


def test_a_cap_on_rollouts_anywhere(whole: Whole) -> None:
    most = int(whole.use.of("max_rollouts"))
    hits = {check_life_under(whole, "max_rollouts", n) for n in range(1, most, 4)}
    assert hits == {"rollout", "measure", "slow_update"}


@pytest.mark.parametrize("minutes", [0.0001, 0.0002, 0.0004])
def test_a_cap_on_time(whole: Whole, minutes: float) -> None:
    store = MemoryStore()
    first = Life(store, f"run.max_minutes={minutes}")
    assert first.error is not None
    assert first.error.message.startswith(f"max_minutes of {minutes}")
    assert Life(store).code == 0
    assert outcome(store) == whole.outcome


def test_what_is_said_of_caps_is_in_no_record_of_a_step(whole: Whole) -> None:
    store = MemoryStore()
    store.append(Stamped(1, 0.0, Degraded(BUDGET, "nothing is kept")))
    facts = [fact.event for fact in whole.store.facts()]
    for number, event in enumerate(facts, 2):
        store.append(Stamped(number, 0.0, event))
        if isinstance(event, StageStarted):
            store.append(Stamped(number, 0.0, Degraded(BUDGET, "nothing is kept")))
    assert all(record["degraded"] == [] for record in history(fold(store.facts())))


def test_exactly_what_a_run_needs_is_enough(whole: Whole) -> None:
    caps = {cap: int(whole.use.of(cap)) for cap in ("max_calls", "max_tokens", "max_rollouts")}
    # Best and final skill could have been two texts that need a test each, so that much is kept.
    evaluation = "evaluation.eval_test=false"
    store = MemoryStore()
    assert Life(store, evaluation).code == 0
    need = Use(ledger_of(store.facts()))
    for cap in caps:
        assert Life(MemoryStore(), evaluation, f"run.{cap}={need.of(cap):.0f}").code == 0


def test_the_kept_part_goes_into_a_test_of_the_last_checkpoint(whole: Whole) -> None:
    store = MemoryStore()
    life = Life(store, "run.max_rollouts=30")
    assert life.error is not None
    assert life.error.message == (
        "max_rollouts of 30, less 9 kept for the final test, was reached after 2 steps"
    )
    assert life.error.hint == "`skillopt resume toy --max-rollouts N` goes on up to a higher N"
    assert [event.label for event in life.of(TestMeasured)] == ["seed", "best", "final"]
    state = store.load_state()
    assert state is not None
    assert life.of(TestMeasured)[1].digest == state.best.skill.digest
    assert isinstance(life.events[-1], RunFailed)
    assert life.of(RunFinished) == []
    assert life.of(Degraded) == []


@pytest.mark.parametrize("cap", ["max_usd", "max_tokens"])
def test_the_kept_part_is_enough_for_the_whole_test(cap: str) -> None:
    tasks = ToyBenchmark({"train": 6, "selection": 5, "test": 40}, seed=27)
    large = Whole(World(benchmark=tasks))
    kept = 0
    for share in range(10, 20):
        limit = round(large.use.of(cap) * share / 20, 3 if cap == "max_usd" else None)
        life = Life(MemoryStore(), f"run.{cap}={limit}", world=large.world)
        if life.error is None or "kept for the final test" not in life.error.message:
            continue
        kept += 1
        assert [(e.label, e.scored) for e in life.of(TestMeasured)] == [
            ("seed", 40),
            ("best", 40),
            ("final", 40),
        ]
        assert life.of(Degraded) == []
    assert kept >= 3


def test_a_cap_too_small_for_a_step_and_the_test_keeps_nothing() -> None:
    store = MemoryStore()
    life = Life(store, "run.max_rollouts=10")
    assert life.error is not None
    said = [event.reason for event in life.of(Degraded) if event.where == "budget"]
    assert said == [
        "max_rollouts of 10 cannot pay for baseline, one step and final test:"
        " nothing is kept for the test"
    ]
    assert life.events.index(life.of(Degraded)[0]) < life.events.index(life.of(RolloutFinished)[0])
    assert spent(store, "max_rollouts") == 10
    assert life.of(TestMeasured) == []


@pytest.mark.parametrize(
    ("cap", "limit"), [("max_calls", 40), ("max_rollouts", 30), ("max_calls", 1)]
)
def test_the_same_cap_again_is_refused_without_a_call(cap: str, limit: int) -> None:
    store = MemoryStore()
    first = Life(store, f"run.{cap}={limit}")
    again = Life(store, f"run.{cap}={limit}")
    assert again.model.asked == []
    assert again.error is not None and first.error is not None
    for message in (first.error.message, again.error.message):
        assert message.startswith(f"{cap} of {limit}")
    # The seed is tested by now, so less is kept.
    tails = {
        life.error.message.partition(" was reached ")[2] for life in (first, again) if life.error
    }
    assert len(tails) == 1
    assert again.of(BudgetSpent) == []


def test_a_run_killed_before_its_test_may_still_use_what_was_kept_for_it() -> None:
    store = MemoryStore()
    settings = ("run.max_rollouts=30", "evaluation.eval_test=false")
    assert Life(store, *settings[:1], "evaluation.eval_test=false").error is not None
    # As if the process had died where it would have begun to test.
    life = Life(store, "run.max_rollouts=40")
    assert life.error is not None
    assert [event.label for event in life.of(TestMeasured)] == ["seed", "best", "final"]


def test_a_cap_raised_too_little_stops_again_further_on(whole: Whole) -> None:
    store, seen = MemoryStore(), []
    for limit in range(12, 400, 9):
        life = Life(store, f"run.max_calls={limit}")
        assert spent(store, "max_calls") <= limit
        if life.code == 0:
            break
        state = store.load_state()
        seen.append(state.done if state else -1)
    assert life.code == 0
    assert outcome(store) == whole.outcome
    assert seen == sorted(seen)
    assert len(set(seen)) >= 4


def test_the_ledger_equals_what_the_model_was_paid_for_faults_included() -> None:
    store = MemoryStore()
    life = Life(store, faulty=True)
    assert life.code == 0
    total = ledger_of(store.facts()).total
    assert total.calls == len(life.model.paid)
    assert total.calls + total.failed - unusable(life) == len(life.model.asked)
    assert total.prompt_tokens == sum(usage.prompt_tokens or 0 for usage in life.model.paid)
    assert total.completion_tokens == sum(u.completion_tokens or 0 for u in life.model.paid)


def unusable(life: Life) -> int:
    return sum(usage == Usage(1, 3, 0) for usage in life.model.paid)


def test_a_training_that_is_over_is_not_refused_its_end() -> None:
    """Its last step was done when the process died, and the cap has room for the test alone."""
    store = MemoryStore()
    assert Life(store, "evaluation.eval_test=false").code == 0
    used = int(spent(store, "max_rollouts"))
    life = Life(store, f"run.max_rollouts={used + 9}")
    assert life.code == 0
    assert [event.label for event in life.of(TestMeasured)] == ["seed", "best", "final"]


@pytest.mark.parametrize("cap", ["max_tokens", "max_usd"])
def test_a_model_that_tells_no_tokens_cannot_be_capped_by_them(cap: str) -> None:
    mute = FunctionChat(lambda request: "ok")
    toy = Toy((*SETTINGS, f"run.{cap}=1000"), mute, mute, BENCHMARK)
    with pytest.raises(BackendUnusable, match="does not say how many tokens") as caught:
        asyncio.run(train_session(toy_session(toy)))
    assert caught.value.exit_code == 4
    assert len(mute.requests) == 1


async def test_an_evaluation_heeds_caps_and_keeps_nothing() -> None:
    session = toy_session(Toy((*SETTINGS, "run.max_calls=3"), benchmark=BENCHMARK))
    with pytest.raises(BudgetExhausted) as caught:
        await evaluate_session(session, "selection")
    assert caught.value.message.startswith("max_calls of 3 was reached")


async def test_two_runs_in_one_process_never_mix_budgets() -> None:
    stores = [MemoryStore() for _ in range(3)]
    caps = [("run.max_calls=20",), ("run.max_rollouts=12",), ()]
    models = [Metering() for _ in stores]
    sessions = [
        toy_session(Toy((*SETTINGS, *cap), model, model, BENCHMARK), store)
        for cap, model, store in zip(caps, models, stores, strict=True)
    ]
    ended = await asyncio.gather(*map(train_session, sessions), return_exceptions=True)
    assert [type(end) for end in ended] == [BudgetExhausted, BudgetExhausted, int]
    assert "max_calls of 20" in str(ended[0])
    assert "max_rollouts of 12" in str(ended[1])
    for store, model in zip(stores, models, strict=True):
        assert ledger_of(store.facts()).total.calls == len(model.paid)
    assert spent(stores[0], "max_calls") == 20
    assert spent(stores[1], "max_rollouts") == 12


def test_a_test_for_which_nothing_is_left_is_not_begun() -> None:
    settings = ("evaluation.test_env_num=3", "run.max_rollouts=14")
    life = Life(MemoryStore(), *settings)
    assert life.error is not None
    assert [event for event in life.of(StageStarted) if event.stage == "test"] == []
    (said,) = [event.reason for event in life.of(Degraded) if event.where == "test"]
    assert said == "it is not complete: max_rollouts of 14 was reached"
