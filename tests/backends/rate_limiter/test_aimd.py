"""A limit that grows step by step and falls to what was accepted."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.backends.rate_limiter.aimd import AimdLimit


def climb(limit, calls, stretch=10):
    for _ in range(calls):
        limit.accepted(stretch)
    return limit.value


def test_it_grows_by_a_call_after_a_stretch_and_then_by_two():
    limit = AimdLimit(8.0, calls=True)
    assert climb(limit, 9) == 8.0
    assert climb(limit, 1) == 9.0
    assert climb(limit, 10) == 11.0


def test_it_climbs_faster_the_longer_nothing_is_refused():
    limit = AimdLimit(10.0)
    steps = [limit.value, *(climb(limit, 10) for _ in range(6))]
    growth = [after / before for before, after in itertools.pairwise(steps)]
    assert growth == sorted(growth)
    assert growth[-1] > 1.3


def test_below_the_value_last_refused_it_goes_half_the_way():
    limit = AimdLimit(100.0)
    limit.decrease(90.0)
    assert climb(limit, 10) == 95.0


def test_a_value_refused_again_is_tested_more_seldom():
    limit = AimdLimit(10.0, calls=True)
    limit.decrease(9.0)
    assert climb(limit, 10) == 10.0
    limit.decrease(9.0)
    assert climb(limit, 39) == 9.0
    assert climb(limit, 1) == 10.0
    limit.decrease(9.0)
    assert climb(limit, 79) == 9.0
    assert climb(limit, 1) == 10.0


def test_the_value_before_the_last_step_was_kept():
    limit = AimdLimit(10.0, refused=12.0)
    assert limit.kept == 0.0
    assert climb(limit, 10) == 11.0
    assert limit.kept == 10.0
    limit.decrease(8.0)
    assert limit.kept == 0.0


@given(st.lists(st.one_of(st.none(), st.floats(0.1, 0.99)), max_size=300), st.booleans())
def test_it_falls_only_when_it_is_lowered(happenings, calls):
    limit = AimdLimit(50.0, calls=calls)
    for share in happenings:
        before = limit.value
        if share is None:
            limit.accepted(5)
            assert before <= limit.value <= 2 * before + 1 or limit.climbed > 4
        else:
            limit.decrease(share * before)
            assert limit.value == share * before
