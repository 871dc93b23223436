"""A quota that a service states."""

from skillopt_cli.backends.rate_limiter.token_bucket import TokenBucket


def test_without_a_stated_quota_it_is_never_empty():
    bucket = TokenBucket()
    for _ in range(1000):
        bucket.take(0.0, 1.0)
    assert bucket.ready_at(1.0) == 0.0


def test_what_is_left_is_used_up_and_comes_back():
    bucket = TokenBucket()
    bucket.state(10.0, 60.0, 2.0, 28.75)  # two a second, half of one rounded down
    for _ in range(2):
        assert bucket.ready_at(1.0) <= 10.0
        bucket.take(10.0, 1.0)
    assert bucket.ready_at(1.0) == 10.5
    bucket.take(10.5, 1.0)
    assert bucket.ready_at(4.0) == 12.5


def test_later_answers_of_earlier_calls_do_not_refill_it():
    bucket = TokenBucket()
    bucket.state(0.0, 60.0, 5.0, 54.5)
    bucket.take(0.0, 5.0)
    bucket.state(0.0, 60.0, 9.0, 50.5)
    assert bucket.ready_at(1.0) == 1.0


def test_it_holds_no_more_than_the_limit():
    bucket = TokenBucket()
    bucket.state(0.0, 10.0, 0.0, 9.5)
    bucket.take(100.0, 10.0)
    assert bucket.ready_at(1.0) == 101.0


def test_incomplete_statements_are_ignored():
    bucket = TokenBucket()
    for limit, left, reset in ((None, 0.0, 9.0), (9.0, None, 9.0), (9.0, 0.0, 0.0)):
        bucket.state(0.0, limit, left, reset)
    assert bucket.ready_at(1.0) == 0.0


def test_a_quota_that_is_hardly_used_does_not_change_its_refill():
    bucket = TokenBucket()
    bucket.state(0.0, 60.0, 10.0, 49.5)  # one a second
    bucket.take(0.0, 10.0)
    for used in (0.0, 1.0, 2.0):
        bucket.state(0.0, 60.0, 60.0 - used, 0.1)
        assert bucket.ready_at(1.0) == 1.0
