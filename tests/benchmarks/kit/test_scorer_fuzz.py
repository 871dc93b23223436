"""Generated answers: no scorer fails on one, and none gives full marks to a wrong one."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest

from skillopt_cli.benchmarks.kit.scorers import make_scorer

pytestmark = pytest.mark.slow

INPUTS = 20_000
NUMBERS = ["12", "1.2", "-12", "12,000", "0.012", "120"]
SCALES = {"": 1, " thousand": 10**3, " million": 10**6, "k": 10**3}
UNITS = {"": None, " g": Fraction(1), " kg": Fraction(1000), " mg": Fraction(1, 1000)}
JOINTS = [" or ", "-", " to ", "/", "*", " x ", ", ", ":", " \u00b1 ", " and ", " ", "^", "\u2013"]
AROUND = ["{}", "It is {}.", "**{}**", "${}$", "= {}", "<b>{}</b>", "\\boxed{{{}}}", "x = {}"]
PIECES = [
    *(
        "12",
        "5",
        "\u00bd",
        "\u00b2",
        ".",
        ",",
        "-",
        "(",
        ")",
        "$",
        "%",
        "\\frac",
        "{",
        "}",
        "^",
        "e5",
    ),
    *(
        " ",
        "\n",
        "million",
        "kg",
        "\u4e07",
        "\u662f",
        "\u0301",
        "\u200b",
        "\u2019",
        "word",
        "a",
        "<answer>",
        "</answer>",
    ),
]


def quantity(random: Random) -> tuple[str, Fraction, Fraction | None]:
    """A number with its unit, its value, and grams per unit."""
    number, scale, unit = (random.choice(list(part)) for part in (NUMBERS, SCALES, UNITS))
    value = Fraction(Decimal(number.replace(",", ""))) * SCALES[scale]
    return f"{number}{scale}{unit}", value, UNITS[unit]


def same(
    one: tuple[str, Fraction, Fraction | None], two: tuple[str, Fraction, Fraction | None]
) -> bool:
    if one[2] and two[2]:
        return one[1] * one[2] == two[1] * two[2]
    return one[1] == two[1]


def test_a_number_is_right_exactly_when_its_value_is() -> None:
    random, scorer = Random(1), make_scorer("numeric")
    for _ in range(INPUTS):
        reference, answer = quantity(random), quantity(random)
        reply = f"<answer>{random.choice(AROUND).format(answer[0])}</answer>"
        hard = scorer.score({"answers": (reference[0],)}, reply).hard
        assert hard == same(reference, answer), (reference[0], reply)


def test_two_numbers_are_never_the_one() -> None:
    random, scorer = Random(2), make_scorer("numeric")
    for _ in range(INPUTS):
        one, two = quantity(random), quantity(random)
        reply = f"<answer>{one[0]}{random.choice(JOINTS)}{two[0]}</answer>"
        for reference in ("12", "12 kg", "12 million", "1.2", "-12"):
            read = re.sub(r"[ ,]", "", reply[8:-9])
            if scorer.score({"answers": (reference,)}, reply).hard:
                assert read == reference.replace(" ", ""), (reference, reply)


def test_what_is_contained_stands_alone() -> None:
    random, scorer = Random(3), make_scorer("contains")
    for _ in range(INPUTS):
        text = "".join(random.choices(["1", "2", "12", ".", ",", "-", " ", "a", "'"], k=8))
        if scorer.score({"answers": ("12",)}, text).hard:
            assert re.search(r"(?<![\w.-])12(?!\w|[.,'-]\d)", text), text


def test_any_text_is_scored_and_a_right_one_is_the_reference() -> None:
    random = Random(4)
    scorers = [
        make_scorer(name) for name in ("exact", "f1", "contains", "numeric", "json", "judge")
    ]
    for _ in range(INPUTS):
        text = "".join(random.choices(PIECES, k=random.randint(0, 12)))
        for scorer in scorers:
            reference = '{"a": 12}' if scorer.name == "json" else "12 kg"
            score = scorer.score({"answers": (reference,)}, text)
            assert 0.0 <= score.hard <= score.soft <= 1.0 or scorer.name == "judge"
            if score.hard:
                shown = unicodedata.normalize("NFKC", text)
                assert "12" in shown or "5" in shown, (scorer.name, text)
            assert scorer.score({"answers": (reference,)}, "").hard == 0.0
