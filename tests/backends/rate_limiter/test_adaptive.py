"""The learned limits of a model: they find what services allow, and stay within."""

import dataclasses
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limiters import (
    Bucket,
    Changing,
    Crowd,
    FixedWindow,
    Load,
    Noise,
    SlidingWindow,
    simulated,
)

from skillopt_cli.backends.rate_limiter.adaptive import AdaptiveLimits

MOST_REFUSED = 0.03
MOST_RATIO, MOST_RATIO_HARD = 1.15, 1.2

# Each lets in a third of what the workers could send.
LIMITS = {
    "bucket of 1 s": lambda rate: Bucket(rate, rate),
    "bucket of 5 s": lambda rate: Bucket(rate, 5 * rate),
    "bucket of 1 min": lambda rate: Bucket(rate, 60 * rate),
    "fixed window of 10 s": lambda rate: FixedWindow(round(10 * rate), 10.0),
    "fixed window of 1 min": lambda rate: FixedWindow(round(60 * rate), 60.0),
    "sliding window of 5 s": lambda rate: SlidingWindow(round(5 * rate), 5.0),
    "sliding window of 1 min": lambda rate: SlidingWindow(round(60 * rate), 60.0),
    "harsh sliding window of 10 s": lambda rate: SlidingWindow(round(10 * rate), 10.0, harsh=True),
}
TELLING = {
    "Retry-After": {"hint": "exact"},
    "nothing": {"hint": "none"},
    "headers": {"hint": "none", "headers": True},
}
LOADS = {
    "100 per second": Load(24, 0.08),
    "71 per second": Load(64, 0.3),
    "8 per second": Load(24, 1.0),
    "4 per second": Load(48, 4.0),
}
MOST_CALLS = 12_000


def judged(limit, load):
    """Time over the least possible, and the share of refused calls."""
    rate = load.workers / load.latency / 3
    limiter = LIMITS[limit](rate)
    burst = int(limiter.burst) if isinstance(limiter, Bucket) else 11 * limiter.calls
    load = dataclasses.replace(load, calls=max(2400, burst + 2000))
    if load.calls > MOST_CALLS:
        pytest.skip("too many calls")
    outcome = simulated(limiter, load)
    least = max(limiter.least(load.calls), load.calls * load.latency / load.workers)
    return outcome.seconds / (least + load.latency), outcome.share()


@pytest.mark.parametrize("telling", TELLING)
@pytest.mark.parametrize(
    "load",
    [pytest.param(name, marks=() if name[0] == "8" else pytest.mark.slow) for name in LOADS],
)
@pytest.mark.parametrize("limit", LIMITS)
def test_a_third_of_the_possible_rate_is_used_well(limit, load, telling):
    ratio, refused = judged(limit, dataclasses.replace(LOADS[load], **TELLING[telling]))
    hard = "window" in limit or load[0] == "4"
    assert ratio < (MOST_RATIO_HARD if hard else MOST_RATIO)
    assert refused < MOST_REFUSED


# As `bench/rate_limit.py` has them, each with the least possible seconds.
MEASURED = Load(48, 2.0, calls=960, hint="exact", spread=0.01)
SERVICES = {
    "requests": (lambda: Bucket(8, 8), 121.0),
    "calls at a time": (lambda: Crowd(16, 2.0), 120.0),
}
PHASES = 50


@pytest.mark.parametrize("service", SERVICES)
def test_a_limit_is_used_well_in_the_worst_of_many_phases(service):
    limiter, least = SERVICES[service]
    loads = (dataclasses.replace(MEASURED, seed=seed) for seed in range(PHASES))
    outcomes = [simulated(limiter(), load) for load in loads]
    assert max(outcome.seconds for outcome in outcomes) < MOST_RATIO * least
    assert max(outcome.share() for outcome in outcomes) < MOST_REFUSED


def test_a_limit_that_counts_refused_calls_is_used_well_in_nearly_all_phases():
    loads = (dataclasses.replace(MEASURED, seed=seed) for seed in range(PHASES))
    outcomes = [simulated(SlidingWindow(80, 10.0, harsh=True), load) for load in loads]
    assert max(outcome.seconds for outcome in outcomes) < 1.01 * MOST_RATIO * 114.0
    assert sorted(outcome.share() for outcome in outcomes)[-2] < MOST_REFUSED


def test_a_limit_that_answers_state_refuses_next_to_nothing():
    limiter, least = SERVICES["requests"]
    stated = dataclasses.replace(MEASURED, headers=True)
    outcomes = [
        simulated(limiter(), dataclasses.replace(stated, seed=seed)) for seed in range(PHASES)
    ]
    assert max(outcome.seconds for outcome in outcomes) < 1.1 * least
    assert max(outcome.share() for outcome in outcomes) < 0.01


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_a_retry_after_in_whole_seconds_costs_little(load):
    rate = load.workers / load.latency / 3
    outcome = simulated(Bucket(rate, rate), dataclasses.replace(load, hint="up"))
    # A second is four calls' worth for the slowest.
    most = 1.25 if rate < 5 else MOST_RATIO_HARD
    assert outcome.seconds < most * outcome.calls / rate
    assert outcome.share() < MOST_REFUSED


@pytest.mark.parametrize(
    ("at_a_time", "workers", "latency"),
    [(40, 64, 0.3), (21, 64, 0.3), (8, 24, 1), (16, 48, 4), (4, 24, 0.3), (2, 24, 0.3), (1, 9, 1)],
)
@pytest.mark.parametrize("spread", [0.3, 0.9])
def test_a_limit_on_calls_at_a_time_is_found(at_a_time, workers, latency, spread):
    load = Load(workers, latency, spread=spread)
    outcome = simulated(Crowd(at_a_time, latency), load)
    assert outcome.seconds < MOST_RATIO * outcome.calls * latency / at_a_time
    assert outcome.share() < MOST_REFUSED


@pytest.mark.parametrize("hint", ["exact", "none"])
@pytest.mark.parametrize(("first", "second"), [(40, 80), (80, 40), (20, 100), (100, 10)])
def test_a_limit_that_changes_is_found_again(first, second, hint):
    before, calls = 20.0, 20 * first + 60 * second
    limiter = Changing(Bucket(first, first), Bucket(second, second), before)
    outcome = simulated(limiter, Load(24, 0.2, calls=calls, hint=hint))
    assert outcome.seconds < MOST_RATIO * (before + 60)
    assert outcome.share() < MOST_REFUSED


@pytest.mark.parametrize(("share", "most"), [(0.01, 1.15), (0.05, 1.2), (0.1, 1.3), (0.3, 3.0)])
def test_refusals_at_any_load_lower_no_limit_for_long(share, most):
    ratios = []
    for seed in range(6):
        noise = Noise(share)
        noise.random.seed(seed)
        outcome = simulated(noise, Load(24, 0.2, calls=3000, seed=seed))
        ratios.append(outcome.seconds / (3000 * 0.2 / 24 / (1 - share)))
        assert share >= 0.1 or (outcome.limits.rate or 1e9) > 24 / 0.2
    assert sum(ratios) / len(ratios) < most


def test_a_short_run_is_hardly_slowed_down_by_noise():
    ratios = []
    for seed in range(PHASES):
        noise = Noise(0.05)
        noise.random.seed(seed)
        load = Load(48, 2.0, calls=960, spread=0.01, seed=seed)
        outcome = simulated(noise, load)
        ratios.append(outcome.seconds / (load.calls * load.latency / load.workers))
    assert statistics.median(ratios) < 1.15
    assert sum(ratio > 1.2 for ratio in ratios) < PHASES // 3


@pytest.mark.parametrize("wait", [0.2, 1.0])
def test_noise_that_asks_to_wait_holds_up_its_own_calls_alone(wait):
    noise = Noise(0.05, wait=wait)
    outcome = simulated(noise, Load(24, 0.2, calls=3000, hint="exact"))
    assert outcome.seconds < 3000 * 0.2 / 24 / 0.95 + 12 * wait


@pytest.mark.parametrize("share", [0.02, 0.05])
def test_a_limit_is_found_in_spite_of_noise(share):
    outcome = simulated(Noise(share, Bucket(40, 40)), Load(24, 0.2, hint="exact"))
    assert outcome.seconds < 1.25 * 2400 / 40
    assert outcome.share() < 0.15


def test_without_a_limit_nothing_slows_down():
    load = Load(64, 1.0)
    outcome = simulated(Bucket(1e9, 1e9), load)
    assert outcome.limits.rate is None
    assert outcome.seconds < 1.1 * load.calls * load.latency / load.workers


def test_the_ceiling_is_never_passed():
    assert simulated(Bucket(50, 50), Load(100, 0.3, ceiling=5)).most_in_flight == 5


def test_stated_limits_are_kept_without_a_refusal():
    outcome = simulated(Bucket(40, 200), Load(24, 0.2, headers=True))
    assert outcome.refused == 0
    assert outcome.seconds < 1.05 * (2400 - 200) / 40


def test_a_model_used_now_and_then_is_not_thought_slow():
    limits, now = AdaptiveLimits(8), 0.0
    for _ in range(300):
        answer(limits, limits.began(now), now + 0.1)
        now += 10
    assert limits.rate is None


# Step by step


def answer(limits, call, now):
    limits.answered(call, now)
    limits.ended(call)


def refuse(limits, call, now, retry_after=None):
    limits.refused(call, now, retry_after)
    limits.ended(call)


def busy(calls, every, ceiling=4):
    """Limits after so many calls that were answered; when the last one began."""
    limits = AdaptiveLimits(ceiling)
    for n in range(calls):
        answer(limits, limits.began(n * every), n * every + 0.01)
    return limits


def test_nobody_begins_before_retry_after_is_over():
    limits = busy(20, 0.1)
    refuse(limits, limits.began(2.0), 2.01, 30)
    assert limits.opens_at() >= 32.01


def test_a_later_shorter_wish_does_not_shorten_the_wait():
    limits = busy(20, 0.1)
    calls = [limits.began(2.0), limits.began(2.0)]
    refuse(limits, calls[0], 2.01, 30)
    refuse(limits, calls[1], 2.02, 1)
    assert limits.opens_at() >= 32.01


def test_one_goes_ahead_before_the_others():
    limits = busy(20, 0.1)
    refuse(limits, limits.began(2.0), 2.1, 1)
    opens = limits.opens_at()
    ahead = limits.began(opens)
    assert limits.opens_at() >= opens + 0.3  # thrice what a refusal took to come
    refuse(limits, ahead, opens + 0.1)
    assert limits.opens_at() > opens + 0.1


def test_a_lost_call_sent_ahead_does_not_hold_up_the_others():
    limits = busy(20, 0.1)
    refuse(limits, limits.began(2.0), 2.1)
    limits.ended(limits.began(limits.opens_at()))
    assert limits.opens_at() < 3.0


def test_a_refusal_that_took_long_to_come_does_not_make_the_others_wait_as_long():
    limits = AdaptiveLimits(8)
    refuse(limits, limits.began(0.0), 60.0)
    now = 60.0
    for _ in range(20):
        now = max(now, limits.opens_at())
        answer(limits, limits.began(now), now + 0.1)
    assert now < 60.0 + 120.0


@pytest.mark.parametrize("retry_after", [None, 0.5, 5.0, 30.0])
def test_a_refusal_of_the_very_first_call_teaches_no_rate(retry_after):
    limits = AdaptiveLimits(8)
    refuse(limits, limits.began(0.0), 0.01, retry_after)
    again = limits.opens_at()
    assert again >= (retry_after or 0.0)
    answer(limits, limits.began(again), again + 1)
    limits.began(again + 1)
    assert limits.rate is None


# Any service whatever

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["answered", "refused", "failed", "begun", "begun"]),
        st.floats(0.0, 3.0),
        st.one_of(st.none(), st.floats(0.0, 20.0)),
        st.integers(0, 20),
    ),
    max_size=120,
)


@settings(max_examples=200)
@given(CALLS, st.integers(1, 20))
def test_whatever_happens_the_limits_keep_their_promises(happenings, ceiling):
    limits, now, under_way, lowered = AdaptiveLimits(ceiling), 0.0, [], []
    answered = []
    for kind, later, retry_after, which in happenings:
        now += later
        before = limits.decreases
        if kind == "begun" or not under_way:
            opens = limits.opens_at()
            if opens is None:
                assert under_way
                continue
            now = max(now, opens)
            under_way.append(limits.began(now))
            assert len(under_way) == limits.in_flight <= ceiling
        else:
            call = under_way.pop(which % len(under_way))
            if kind == "answered":
                limits.answered(call, now)
                answered.append(call.at)
            elif kind == "refused":
                limits.refused(call, now, retry_after)
                if not limits.refusals.level:
                    assert limits._closed_until >= now + (retry_after or 0.0)
            limits.ended(call)
        assert 1 <= limits.width <= ceiling
        assert limits.rate is None or limits.rate > 0
        if limits.decreases > before:
            # At most one per round trip: a call that began after the last refusal was answered.
            assert limits.decreases == before + 1
            assert not lowered or any(at >= lowered[-1] for at in answered)
            lowered.append(limits._lowered_at)
    # However it went, an idle model takes a call in the end.
    for call in under_way:
        limits.ended(call)
    assert limits.opens_at() is not None
