"""The pace of a model: it finds what services allow, and stays within."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limiters import Bucket, Crowd, FixedWindow, Load, SlidingWindow, simulated

from skillopt_cli.core.pace import Begun, Pace
from skillopt_cli.core.task import RateLimits
from skillopt_cli.core.tempo import stated_rate

MOST_REFUSED = 0.03
# Of the exact least a limit allows, which lets the first window's calls go in no time.
MOST_RATIO, MOST_RATIO_HARSH = 1.2, 1.25

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
    hard = "harsh" in limit or ("sliding" in limit and telling == "nothing")
    assert ratio < (MOST_RATIO_HARSH if hard else MOST_RATIO)
    assert refused < MOST_REFUSED


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_a_retry_after_in_whole_seconds_costs_little(load):
    rate = load.workers / load.latency / 3
    outcome = simulated(Bucket(rate, rate), dataclasses.replace(load, hint="up"))
    assert outcome.seconds < MOST_RATIO * outcome.calls / rate
    assert outcome.share() < MOST_REFUSED


@pytest.mark.parametrize(
    ("at_a_time", "workers", "latency"), [(21, 64, 0.3), (8, 24, 1), (16, 48, 4)]
)
def test_a_limit_on_calls_at_a_time_is_found(at_a_time, workers, latency):
    outcome = simulated(Crowd(at_a_time, latency), Load(workers, latency))
    assert outcome.seconds < MOST_RATIO_HARSH * outcome.calls * latency / at_a_time
    assert outcome.share() < MOST_REFUSED


def test_without_a_limit_nothing_slows_down():
    load = Load(64, 1.0)
    outcome = simulated(Bucket(1e9, 1e9), load)
    assert outcome.pace.rate is None
    assert outcome.seconds < 1.1 * load.calls * load.latency / load.workers


def test_the_ceiling_is_never_passed():
    assert simulated(Bucket(50, 50), Load(100, 0.3, ceiling=5)).most_in_flight == 5


def test_a_lane_used_now_and_then_is_not_thought_slow():
    pace, now = Pace.open(8), 0.0
    for _ in range(300):
        pace = pace.began(now)
        pace = pace.answered(Begun(now, 1), now + 0.1, None, 0)
        now += 10
    assert pace.rate is None


# Step by step


def refused(pace, at, heard, in_flight=1, retry_after=None, left=0):
    return pace.began(at).limited(Begun(at, in_flight), heard, retry_after, left)


def busy(pace, calls, every, since=0.0):
    """So many calls let in and answered."""
    for n in range(calls):
        at = since + n * every
        pace = pace.began(at).answered(Begun(at, 1), at + 0.01, None, 0)
    return pace


def test_nobody_begins_before_retry_after_is_over():
    pace = refused(busy(Pace.open(4), 20, 0.1), 2.0, 2.01, retry_after=30)
    assert pace.opens_at(0) >= 32.01


def test_a_later_shorter_wish_does_not_shorten_the_wait():
    pace = busy(Pace.open(4), 20, 0.1).began(2.0)
    pace = refused(pace, 2.0, 2.01, retry_after=30)
    pace = pace.limited(Begun(2.0, 2), 2.02, 1, 0)
    assert pace.opens_at(0) >= 32.01


def test_one_goes_ahead_before_the_others():
    pace = refused(busy(Pace.open(4), 20, 0.1), 2.0, 2.1, retry_after=1)
    opens = pace.opens_at(0)
    pace = pace.began(opens)
    assert pace.opens_at(1) >= opens + 0.3  # thrice what a refusal took to come
    vain = pace.limited(Begun(opens, 1), opens + 0.1, None, 0)
    assert vain.opens_at(0) > opens + 0.1


def test_a_burst_of_refusals_is_one():
    pace = busy(Pace.open(16), 40, 0.1)
    for n in range(8):
        pace = pace.began(4.0 + n / 1000)
    for n in range(8):
        pace = pace.limited(Begun(4.0 + n / 1000, n + 1), 4.1 + n / 1000, None, 7 - n)
    opens = pace.opens_at(0)
    pace = pace.began(opens).answered(Begun(opens, 1), opens + 0.1, None, 0)
    assert pace.cuts == 1


def test_a_failure_of_the_service_stops_growth_for_a_while():
    pace = busy(Pace.open(64), 8, 0.01)
    full = Begun(1.0, pace.breadth.width)
    assert pace.answered(full, 1.1, None, 0).breadth.width > pace.breadth.width
    calm = pace.failed(1.05)
    assert calm.answered(full, 1.1, None, 0).breadth.width == pace.breadth.width
    assert calm.answered(full, 9.0, None, 0).breadth.width > pace.breadth.width


def test_a_lost_call_sent_ahead_does_not_hold_up_the_others():
    pace = refused(busy(Pace.open(4), 20, 0.1), 2.0, 2.1)
    pace = pace.began(pace.opens_at(0)).failed(3.0)
    assert pace.opens_at(0) is not None
    assert pace.began(pace.opens_at(0)).shut is None


@pytest.mark.parametrize(
    ("limits", "rate"),
    [
        (RateLimits(60, 0, 60), 1.0),
        (RateLimits(60, 30, 30), 1.0 + 6.0),
        (RateLimits(requests_left=9), None),
        (RateLimits(60, 60, 0), None),
        (RateLimits(tokens=6000, tokens_left=0, tokens_reset=60), 1.0),
        (RateLimits(60, 0, 60, 1200, 0, 60), 0.2),
    ],
)
def test_what_a_service_says_becomes_a_rate(limits, rate):
    assert stated_rate(limits, 100.0, 0.5) == (None if rate is None else pytest.approx(rate))


# Any service whatever

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["answered", "limited", "failed", "begun"]),
        st.floats(0.0, 3.0),
        st.one_of(st.none(), st.floats(0.0, 20.0)),
        st.integers(0, 20),
    ),
    max_size=80,
)


@settings(max_examples=150)
@given(CALLS, st.integers(1, 20))
def test_whatever_happens_the_pace_keeps_its_promises(happenings, ceiling):
    pace, now, under_way = Pace.open(ceiling), 0.0, []
    for kind, later, retry_after, which in happenings:
        now += later
        if kind == "begun" or not under_way:
            opens = pace.opens_at(len(under_way))
            if opens is None:
                continue
            now = max(now, opens)
            pace = pace.began(now)
            under_way.append(Begun(now, len(under_way) + 1))
            assert len(under_way) <= ceiling
            continue
        call = under_way.pop(which % len(under_way))
        before = pace
        if kind == "answered":
            pace = pace.answered(call, now, None, 0)
        elif kind == "failed":
            pace = pace.failed(now)
        else:
            pace = pace.limited(call, now, retry_after, len(under_way))
            assert pace.opens_at(0) >= now + (retry_after or 0.0)
            assert pace.breadth.width <= before.breadth.width or pace.shut is not None
        assert 1 <= pace.breadth.width <= ceiling
        assert pace.rate is None or pace.rate > 0
    # However it went, an idle model takes a call in the end.
    assert pace.opens_at(0) is not None


@settings(max_examples=60)
@given(st.floats(1.0, 200.0), st.integers(0, 5))
def test_each_refusal_that_teaches_a_rate_lowers_it(every, rounds):
    pace, now = busy(Pace.open(64), 50, 1 / every), 50 / every
    for _ in range(rounds + 2):
        faster = pace.rate
        pace = refused(pace, now, now + 0.01)
        now = pace.opens_at(0)
        pace = pace.began(now).answered(Begun(now, 1), now + 0.01, None, 0)
        now = max(now + 0.01, pace.opens_at(0))
        assert faster is None or pace.rate < faster


@settings(max_examples=30)
@given(st.floats(1.0, 200.0))
def test_the_rate_recovers(every):
    pace, now = busy(Pace.open(64), 50, 1 / every), 50 / every
    pace = refused(pace, now, now + 0.01)
    rates = []
    for _ in range(400):
        now = max(now, pace.opens_at(0))
        pace = pace.began(now).answered(Begun(now, 1), now + 0.001, None, 0)
        rates.append(pace.rate or 0.0)
    assert rates[-1] > 2 * min(rate for rate in rates if rate)
