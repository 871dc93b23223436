from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.benchmarks.kit.numbers import (
    Tolerance,
    last_number,
    parse_number,
    parse_tolerance,
    same_number,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", 1234),
        ("1,234,567.5", Fraction("1234567.5")),
        ("1.234.567", 1234567),
        ("twenty-one thousand three hundred and five", 21305),
        ("one million two", 1000002),
        ("12 %", 12),
        ("12%", 12),
        ("3.0e2", 300),
        ("3E-2", Fraction("0.03")),
        ("-5", -5),
        ("\u22125", -5),
        ("+5", 5),
        (".5", Fraction("0.5")),
        ("5.", 5),
        ("$4.50", Fraction("4.5")),
        ("-$4", -4),
        ("3/4", Fraction(3, 4)),
        ("1\u00a0234", 1234),
        ("007", 7),
        ("**42**", 42),
        ("\\boxed{42}", 42),
        ("x=-5", -5),
        ("5km", 5),
        ("the answer is 42", 42),
    ],
)
def test_numbers_are_read(text: str, value: Fraction | int) -> None:
    found = last_number(text)
    assert found is not None
    assert found.value == value
    assert found.percent is ("%" in text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "3,14",
        "one two",
        "twenty hundred",
        "twelve hundred thousand",
        "two hundred hundred",
        "1,23,4",
        "v1.2.3",
        "CO2",
        "5/12/2020",
        "1/0",
        "1e2000",
        "9" * 500,
        "5-7",
        "between 3 and 9.",
        "3 of 9.",
    ],
)
def test_what_could_be_misread_is_not_read(text: str) -> None:
    assert last_number(text) is None


@pytest.mark.parametrize(
    "text",
    ["5 or 6", "CO2: 5", "five or six", "5 or more", "5 or 6 m2", "5-7 m", "> 5", "5 m 20 cm"],
)
def test_a_reference_is_one_number(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("answer", "reference", "tolerance", "same"),
    [
        ("1234", "1,234", "0", True),
        ("1234.0", "1,234", "0", True),
        ("0.3", "0.30000000000000001", "0", False),
        ("12345678901234567890", "12345678901234567891", "0", False),
        ("99", "100", "1", True),
        ("98.99", "100", "1", False),
        ("0.3", "0.2", "0.1", True),
        ("101", "100", "1%", True),
        ("101.1", "100", "1%", False),
        ("-101", "-100", "1%", True),
        ("0.001", "0", "1%", False),
        ("12 %", "12%", "0", True),
        ("12", "12%", "0", True),
        ("0.12", "12%", "0", True),
        ("12%", "0.12", "0", True),
        ("0.12%", "12%", "0", False),
    ],
)
def test_tolerance(answer: str, reference: str, tolerance: str, same: bool) -> None:
    given_number, wanted = parse_number(answer), parse_number(reference)
    assert given_number is not None
    assert wanted is not None
    assert same_number(given_number, wanted, parse_tolerance(tolerance)) is same


@pytest.mark.parametrize("value", ["-1", "a lot", "", "1 or 2", "True"])
def test_a_malformed_tolerance_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="is not an amount"):
        parse_tolerance(value)


def test_tolerances_are_exact() -> None:
    assert parse_tolerance(0.1) == Tolerance(Fraction(1, 10))
    assert parse_tolerance("1%") == Tolerance(Fraction(1, 100), relative=True)


@given(st.integers(-(10**20), 10**20))
def test_whole_numbers_survive_any_spelling(number: int) -> None:
    for text in (str(number), f"{number:,}", f"about {number:,}.", f"{number}.0"):
        found = last_number(text)
        assert found is not None
        assert found.value == number


@given(st.text(st.sampled_from("0123456789.,-+eE%/$ ax"), max_size=40))
def test_any_text_can_be_searched(text: str) -> None:
    last_number(text)
    parse_number(text)
