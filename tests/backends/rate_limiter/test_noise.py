"""Which refusals depend on the load."""

import random

import pytest

from skillopt_cli.backends.rate_limiter.noise import RefusalNoise


def counted(noise, pattern):
    """Count calls, "." accepted and "x" refused; whether each refusal suggests a limit."""
    said = []
    for kind in pattern:
        noise.count(refused=kind == "x")
        if kind == "x" and not noise.level:
            said.append(noise.suggests_limit())
    return said


def test_refusals_close_together_suggest_a_limit():
    assert counted(RefusalNoise(), "." * 50 + "xxx") == [False, False, True]


@pytest.mark.parametrize("apart", [8, 50])
def test_refusals_far_apart_are_noise(apart):
    noise = RefusalNoise()
    assert counted(noise, ("." * apart + "x") * 3) == [False] * 3
    assert noise.level > 0
    assert noise.expected


def test_decreases_that_end_no_refusals_prove_noise():
    noise, proven = RefusalNoise(), []
    for _ in range(4):
        counted(noise, "." * 15 + "x")
        proven.append(noise.proven_by_decrease())
    assert proven == [False, False, False, True]


def test_a_decrease_that_ended_the_refusals_is_not_in_vain():
    noise = RefusalNoise()
    for _ in range(10):
        counted(noise, "." * 15 + "x")
        assert not noise.proven_by_decrease()
        noise.effective()


def test_a_share_that_rises_is_not_noise():
    noise = RefusalNoise()
    for accepted in (60, 20, 5, 2, 1):
        counted(noise, "." * accepted + "x" * 3)
        assert not noise.proven_by_decrease()


def test_more_refusals_as_soon_as_the_limit_is_lifted_take_the_proof_back():
    noise = RefusalNoise()
    counted(noise, ("." * 50 + "x") * 3)
    counted(noise, "x" * 8)
    assert not noise.expected
    assert noise.retracted()
    assert noise.level == 0
    assert noise.doubted


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.2])
def test_known_noise_stays_expected_and_a_limit_beyond_it_is_seen(share):
    dice = random.Random(7)
    noise = RefusalNoise()
    counted(noise, ("." * 50 + "x") * 3)
    for _ in range(300):
        noise.share += 0.1 * (share - noise.share)
    noise._declare()
    alarms = 0
    for _ in range(2000):
        noise.count(refused=dice.random() < share)
        alarms += not noise.expected
    assert alarms < 20
    while noise.level and not noise.expected:
        noise.count(refused=False)
    seen = 0
    while noise.expected and seen < 60:
        noise.count(refused=dice.random() < 0.7 + share)
        seen += 1
    assert seen < 60


def test_noise_that_ends_is_forgotten():
    noise = RefusalNoise()
    counted(noise, ("." * 50 + "x") * 3)
    counted(noise, "." * 1000)
    assert noise.level == 0
