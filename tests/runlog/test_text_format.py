"""How things are said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.edits import Edit
from skillopt_cli.runlog.text.edit import edit_words
from skillopt_cli.runlog.text.format import (
    cut_rate,
    duration,
    one_line,
    out_of,
    p_value,
    p_words,
    pair,
    shorten,
)


@pytest.mark.parametrize(
    ("rate", "shown"), [(7.7716, "7.7"), (7.79, "7.7"), (8.0, "8.0"), (6.9999999999, "7.0")]
)
def test_rates_are_cut_not_rounded(rate: float, shown: str) -> None:
    assert cut_rate(rate) == shown


def test_different_scores_look_different() -> None:
    assert pair(0.68, 0.65) == ("0.68", "0.65")
    assert pair(0.6524, 0.6511) == ("0.652", "0.651")
    assert pair(0.65, 0.65) == ("0.65", "0.65")
    assert pair(None, 0.5) == ("unknown", "0.50")


@pytest.mark.parametrize(
    ("chance", "shown", "words"),
    [
        (1.0, "1.000", "p = 1.000"),
        (0.0625, "0.062", "p = 0.062"),
        (0.0005, "0.001", "p = 0.001"),
        (1e-9, "<0.001", "p < 0.001"),
    ],
)
def test_a_p_value_is_never_zero(chance: float, shown: str, words: str) -> None:
    assert (p_value(chance), p_words(chance)) == (shown, words)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "unknown"), (-3, "0s"), (59.4, "59s"), (60, "1m 00s"), (7500, "2h 05m")],
)
def test_durations(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_counts_of_tasks() -> None:
    assert out_of(40, 40) == "n=40"
    assert out_of(38, 40) == "n=38 of 40"


def test_edits_in_words() -> None:
    assert edit_words(Edit("append", "a\nb")) == 'add "a b"'
    assert edit_words(Edit("insert_after", "x", "y")) == 'insert "x" after "y"'
    assert edit_words(Edit("replace", "x", "y")) == 'replace "y" with "x"'
    assert edit_words(Edit("delete", "", "y")) == 'delete "y"'
    assert edit_words(Edit("", "x")) == '(no operation) "x"'
    assert edit_words(Edit("append", "long " * 50), 20) == 'add "long long long lo..."'


@given(st.text(), st.integers(0, 30))
def test_shortened_text_fits_and_is_printable(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert one_line(text).isprintable()
    assert short == one_line(text) or short.endswith("..."[:limit])
