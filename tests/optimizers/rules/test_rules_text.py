"""What the analyst can tell of an answer by its looks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.optimizers.rules.text import find, number, shape, spelled, words


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("four", 4),
        ("Fifty.", 50),
        ("twenty-one", 21),
        ("two hundred", 200),
        ("8,849", 8849),
        ("42.195", 42.195),
        ("four legs", None),
        ("one two", None),
        ("1.2.3", None),
        ("ten ten", None),
        ("", None),
    ],
)
def test_numbers(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1989", "year"),
        ("In 1989", "phrase"),
        ("8,849", "number"),
        ("twelve", "number"),
        ("3000", "number"),
        ("Alexander Fleming", "name"),
        ("Vincent van Gogh", "name"),
        ("blue whale", "phrase"),
        ("The whale is the largest animal.", "sentence"),
        ("", "phrase"),
    ],
)
def test_shapes(text, expected):
    assert shape(text) == expected


@given(st.integers(0, 19))
def test_small_numbers_are_read_as_they_are_spelled(value):
    assert number(spelled(value)) == value


@given(st.integers(0, 10**6))
def test_grouped_digits_are_one_number(value):
    assert words(f"{value:,}") == (f"{value:,}",)
    assert number(f"{value:,}") == value


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")), st.text("abc"))
def test_a_part_is_found_where_it_first_stands(before, part, after):
    whole = [*before, *part, *after]
    at = find(part, whole)
    if part:
        assert 0 <= at <= len(before)
        assert whole[at : at + len(part)] == part
    else:
        assert at == -1
