"""How the share of solved tasks goes on, epoch by epoch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.config.sections import OptimizerConfig
from skillopt_cli.planning.solved_shares import Gain, solved_by_epoch

SHARES = st.floats(0, 1)


def settings(rerun: float, rounds: int = 1) -> OptimizerConfig:
    return OptimizerConfig(rerun_solved=rerun, reflect_rounds=rounds)


def test_what_edits_solve_is_solved_from_the_next_epoch_on() -> None:
    one, two, three = solved_by_epoch(settings(0.2), 3, 0.0, Gain(0.3, 0.9, learns=True))
    assert (one.before, one.left_out, one.attempted) == (0, 0, 0)
    assert (two.before, two.left_out) == (0, 0)
    assert two.attempted == pytest.approx(0.27)
    assert three.before == pytest.approx(0.27)
    # Of the tasks that were solved a fifth is attempted again, and solved again.
    assert three.left_out == pytest.approx(0.8 * 0.27)
    assert three.attempted == pytest.approx((0.2 * 0.27 + 0.73 * 0.27) / (0.2 * 0.27 + 0.73))


def test_what_a_later_round_attempts_again_counts_at_once() -> None:
    _, second = solved_by_epoch(settings(0.2, 2), 2, 0.0, Gain(0.3, 0.9, learns=True))
    assert second.before == pytest.approx(0.27)


@given(first=SHARES, passing=SHARES, accepted=SHARES, rerun=SHARES, learns=st.booleans())
def test_shares_are_shares_and_none_is_forgotten(
    first: float, passing: float, accepted: float, rerun: float, learns: bool
) -> None:
    gain = Gain(passing, accepted, learns)
    shares = list(solved_by_epoch(settings(rerun, 2), 5, first, gain))
    for solved in shares:
        for share in (solved.before, solved.left_out, solved.attempted):
            assert -1e-9 <= share <= 1 + 1e-9
    if learns:
        before = [solved.before for solved in shares[1:]]
        assert before == pytest.approx(sorted(before))
