"""What services say about waits and limits in their headers."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.backends.rate_limiter.limit_headers import rate_limits, retry_after
from skillopt_cli.core.task import RateLimits

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": format_datetime(NOW.replace(minute=1), usegmt=True)}, 60.0),
        ({"retry-after": format_datetime(NOW.replace(hour=11), usegmt=True)}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
    ],
)
def test_retry_after(headers, expected):
    assert retry_after(headers, NOW.timestamp()) == expected


OPENAI = {
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-limit-tokens": "150000",
    "x-ratelimit-remaining-requests": "59",
    "x-ratelimit-remaining-tokens": "149984",
    "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-reset-tokens": "6m0s",
}
AZURE = {"x-ratelimit-remaining-requests": "119", "x-ratelimit-remaining-tokens": "-1"}
ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "49",
    "anthropic-ratelimit-requests-reset": "2026-01-31T12:00:02Z",
    "anthropic-ratelimit-tokens-limit": "100000",
    "anthropic-ratelimit-tokens-remaining": "90000",
    "anthropic-ratelimit-tokens-reset": "2026-01-31T12:00:10Z",
    "anthropic-ratelimit-input-tokens-limit": "80000",
    "anthropic-ratelimit-input-tokens-remaining": "79000",
    "anthropic-ratelimit-input-tokens-reset": "2026-01-31T12:00:01Z",
    "anthropic-ratelimit-output-tokens-limit": "20000",
    "anthropic-ratelimit-output-tokens-remaining": "1000",
    "anthropic-ratelimit-output-tokens-reset": "2026-01-31T12:00:57+00:00",
}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"content-type": "application/json"}, None),
        (OPENAI, RateLimits(60, 59, 1.0, 150000, 149984, 360.0)),
        (AZURE, RateLimits(requests_left=119)),
        (ANTHROPIC, RateLimits(50, 49, 2.0, 20000, 1000, 57.0)),
        (
            {"anthropic-ratelimit-requests-reset": "2026-01-31T11:00:00Z"},
            RateLimits(requests_reset=0.0),
        ),
        ({"x-ratelimit-limit-tokens": "many", "x-ratelimit-reset-tokens": "soon"}, None),
        ({"anthropic-ratelimit-tokens-reset": "tomorrow"}, None),
    ],
)
def test_limits_are_read_as_far_as_they_are_told(headers, expected):
    assert rate_limits(headers, NOW.timestamp()) == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("120ms", 0.12),
        ("6m0s", 360.0),
        ("1h2m3.5s", 3723.5),
        ("2d", 172800.0),
        ("7", 7.0),
        ("1.5", 1.5),
    ],
)
def test_durations(text, seconds):
    told = rate_limits({"x-ratelimit-reset-requests": text}, 0.0)
    assert told == RateLimits(requests_reset=pytest.approx(seconds))


@pytest.mark.parametrize("text", ["", "6m0", "s", "1x", "m1", "1s nonsense", "nan"])
def test_what_is_no_duration(text):
    assert rate_limits({"x-ratelimit-reset-requests": text}, 0.0) is None


names = st.sampled_from([*OPENAI, *ANTHROPIC, "retry-after", "retry-after-ms"])


@given(st.dictionaries(names, st.text(max_size=25) | st.integers().map(str)))
def test_no_header_makes_trouble(headers):
    told = rate_limits(headers, 0.0)
    wait = retry_after(headers, 0.0)
    assert wait is None or wait >= 0
    values = [] if told is None else [v for v in vars_of(told) if v is not None]
    assert all(value >= 0 for value in values)


def vars_of(limits):
    return [getattr(limits, name) for name in RateLimits.__dataclass_fields__]
