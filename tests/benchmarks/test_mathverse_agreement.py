"""Algebra on answers agrees with math-verify, and with the truth, on generated pairs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from fractions import Fraction
from random import Random

import pytest

from skillopt_cli.benchmarks.mathverse.equivalence import same_mathematics

math_verify = pytest.importorskip("math_verify")

Case = tuple[str, str, bool]


def fraction(value: Fraction, rng: Random) -> str:
    k = rng.randint(1, 4)
    top, below = value.numerator * k, value.denominator * k
    return rng.choice((f"\\frac{{{top}}}{{{below}}}", f"{top}/{below}"))


def cases() -> Iterator[Case]:
    """Pairs of answers of which it is known whether they are equal."""
    rng = Random(3)
    for _ in range(40):
        a, b = (Fraction(rng.randint(1, 20), rng.randint(2, 12)) for _ in range(2))
        yield fraction(a, rng), fraction(a, rng), True
        yield fraction(a, rng), fraction(b, rng), a == b
    for _ in range(26):
        factor, inside = rng.randint(2, 9), rng.choice((2, 3, 5, 6, 7, 10))
        root = f"{factor}\\sqrt{{{inside}}}"
        yield root, f"\\sqrt{{{factor * factor * inside}}}", True
        yield root, f"\\sqrt{{{factor * inside}}}", False
    for _ in range(15):
        n = rng.randint(2, 150)
        yield f"{n}^{{\\circ}}", f"{n}°", True
        yield f"{n}\\pi", f"\\pi \\cdot {n}", True
        yield f"{n}\\pi", f"{n + 1}\\pi", False
    for _ in range(12):
        slope, shift = rng.randint(2, 9), rng.randint(1, 9)
        yield f"y={slope}x+{shift}", f"y={shift}+{slope}x", True
        yield f"y={slope}x+{shift}", f"y={slope}x-{shift}", False


CASES = list(cases())


def test_there_are_enough() -> None:
    assert len(CASES) >= 200


def test_every_pair_is_judged_as_by_the_library_and_rightly() -> None:
    odd = []
    for reference, answer, equal in CASES:
        parsed = [math_verify.parse(f"${text}$") for text in (reference, answer)]
        theirs = math_verify.verify(*parsed)
        ours = same_mathematics(answer, reference)
        if not ours == theirs == equal:
            odd.append((reference, answer, ours, theirs, equal))
    assert odd == []


async def test_it_works_beside_the_main_thread() -> None:
    assert await asyncio.to_thread(same_mathematics, "\\sqrt{12}", "2\\sqrt{3}")
    assert not await asyncio.to_thread(same_mathematics, "\\sqrt{13}", "2\\sqrt{3}")
