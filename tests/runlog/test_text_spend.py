"""What was spent, in words: nothing unknown reads as zero."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core import events as ev
from skillopt_cli.core.ledger import Spent
from skillopt_cli.core.task import Usage
from skillopt_cli.runlog.text.format import dollars
from skillopt_cli.runlog.text.spend import less, role_words, spend_words


def call(usage: Usage, usd: float | None = None) -> Spent:
    return Spent.of(ev.CallMade("target", "rollout", usage, usd))


def failure(usage: Usage | None = None, usd: float | None = None) -> Spent:
    return Spent.of(ev.CallFailed("target", "rollout", "ServerError", usage, usd))


UNKNOWN = call(Usage(1))
UNPRICED = call(Usage(1, 10, 5))
PAID = call(Usage(1, 10, 5), 1.2)
FREE = call(Usage(1, 10, 5), 0.0)


@pytest.mark.parametrize(
    ("spend", "line"),
    [
        (Spent(), "0 calls"),
        (FREE, "1 call, 15 tokens"),
        (PAID, "1 call, 15 tokens, $1.20"),
        (UNPRICED, "1 call, 15 tokens, price unknown"),
        (UNKNOWN, "1 call, tokens unknown, price unknown"),
        (UNKNOWN + UNPRICED, "2 calls, at least 15 tokens, price unknown"),
        (FREE + UNPRICED, "2 calls, 30 tokens, 1 call of unknown price"),
        (PAID + UNPRICED, "2 calls, 30 tokens, at least $1.20 (1 call of unknown price)"),
        (
            PAID + UNKNOWN + UNPRICED,
            "3 calls, at least 30 tokens, at least $1.20 (2 calls of unknown price)",
        ),
        (failure(), "0 calls"),
        (failure(Usage(1, 10, 0), 0.5), "1 call, 10 tokens, $0.50"),
        (
            PAID + failure(Usage(1, 10, 0)),
            "2 calls, 25 tokens, at least $1.20 (1 call of unknown price)",
        ),
    ],
)
def test_a_spend_in_words(spend: Spent, line: str) -> None:
    assert spend_words(spend) == line


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (Usage(1, 100, 5, 57), "105 tokens, $1.20, prompt 57 % cached"),
        (Usage(1, 100, 5, 100), "105 tokens, $1.20, prompt 100 % cached"),
        (Usage(1, 100, 5, 0), "105 tokens, $1.20"),
        (Usage(1, 100, 5), "105 tokens, $1.20"),
        (Usage(1), "tokens unknown, $1.20"),
    ],
)
def test_a_roles_spend_has_the_share_that_came_from_a_cache(usage: Usage, words: str) -> None:
    assert role_words("judge", call(usage, 1.2)) == f"judge 1 call, {words}"


counts = st.none() | st.integers(0, 10**6)
spends = st.builds(
    call,
    st.builds(Usage, st.just(1), counts, counts, counts, counts),
    st.none() | st.integers(0, 1000).map(float),
)


@given(spends, spends)
def test_a_part_can_be_taken_out_again(a: Spent, b: Spent) -> None:
    for left, known in zip(astuple(less(a + b, b)), astuple(a), strict=True):
        assert left == known or (known is None and left in (0, None))


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        (0, "$0.00"),
        (1234.5, "$1,234.50"),
        (0.1, "$0.10"),
        (0.05, "$0.05"),
        (0.0285, "$0.0285"),
        (0.00999996, "$0.01"),
        (0.0000012345, "$0.00000123"),
    ],
)
def test_dollars(usd: float, words: str) -> None:
    assert dollars(usd) == words
