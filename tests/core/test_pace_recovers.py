"""Whatever happened before, a pace stays sound and a service that is well again is asked."""

import random
from dataclasses import dataclass, field

import pytest
from limiters import Bucket, Load, simulated

from skillopt_cli.core.pace import Begun, Pace

CEILING = 8


@dataclass
class Whim:
    """Refuses a share of all calls, whenever they come."""

    share: float
    dice: random.Random = field(default_factory=lambda: random.Random(5))

    def refuses(self, now, in_flight):
        return 0.0 if self.dice.random() < self.share else None

    def tells(self, now):
        return None


@dataclass
class Outage:
    """Refuses everything from one time to another; otherwise as the limiter inside."""

    begin: float
    end: float
    inner: Bucket

    def refuses(self, now, in_flight):
        if self.begin < now < self.end:
            return 0.0
        return self.inner.refuses(now, in_flight)

    def tells(self, now):
        return None


@pytest.mark.parametrize(("share", "most"), [(0.02, 120), (0.1, 1200), (0.5, 6000)])
def test_refusals_at_random_slow_the_calls_but_never_stop_them(share, most):
    outcome = simulated(Whim(share), Load(24, 0.3, calls=1000))
    assert outcome.seconds < most


def test_after_an_outage_of_ten_minutes_the_rate_comes_back():
    limiter = Outage(5.0, 605.0, Bucket(50.0, 50.0))
    outcome = simulated(limiter, Load(24, 0.3, calls=2400))
    assert outcome.seconds < 605 + 1.2 * 2 * 2400 / 50 + 60
    assert outcome.refused < 200


@pytest.mark.parametrize("retry_after", [None, 0.5, 5.0, 30.0])
def test_a_refusal_of_the_very_first_call_teaches_no_rate(retry_after):
    pace = Pace.open(CEILING)
    first = Begun(0.0, 1)
    pace = pace.began(0.0).limited(first, 0.01, retry_after, 0)
    again = pace.opens_at(0)
    assert again is not None
    assert again >= (retry_after or 0.0)
    pace = pace.began(again).answered(Begun(again, 1), again + 1, None, 0).began(again + 1)
    assert pace.rate is None or pace.rate > 0.1


def test_a_refusal_that_took_long_to_come_does_not_make_the_others_wait_as_long():
    pace = Pace.open(CEILING)
    pace = pace.began(0.0).limited(Begun(0.0, 1), 60.0, None, 0)
    now = 60.0
    for _ in range(20):
        opens = pace.opens_at(0)
        assert opens is not None
        now = max(now, opens)
        call = Begun(now, 1)
        pace, now = pace.began(now), now + 0.1
        pace = pace.answered(call, now, None, 0)
    assert now < 60.0 + 120.0
