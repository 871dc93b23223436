"""Tables: a row per line where words fit, else one below the other; never a broken word."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from skillopt_cli.ui.fitted_table import FittedTable

TITLES = ("backend", "needs", "n")
ROWS = [("simulated", "", "1"), ("openai_compatible", "an address or a key", "12")]


def drawn(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    console.print(FittedTable(TITLES, ROWS, numbers=(2,)))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_a_wide_screen_gets_a_line_per_row() -> None:
    assert drawn(60) == [
        "backend            needs                 n",
        "simulated                                1",
        "openai_compatible  an address or a key  12",
    ]


def test_a_narrower_one_wraps_between_words() -> None:
    assert drawn(38) == [
        "backend            needs           n",
        "simulated                          1",
        "openai_compatible  an address or  12",
        "                   a key",
    ]


def test_where_a_word_would_break_rows_stand_one_below_the_other() -> None:
    assert drawn(28) == [
        "simulated",
        "  n: 1",
        "openai_compatible",
        "  needs: an address or a key",
        "  n: 12",
    ]


@pytest.mark.parametrize("width", range(20, 60))
def test_no_word_is_broken_at_any_width(width: int) -> None:
    words = " ".join(drawn(width)).split()
    assert "openai_compatible" in words
    assert max(map(len, drawn(width))) <= width
