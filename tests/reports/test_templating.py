"""Messages of ours as HTML: escaped whatever they hold, literals as code."""

from __future__ import annotations

import re

import pytest
from dom import parsed, text_of
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.reports.run.html import prose
from skillopt_cli.runlog.text.format import one_line


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("set `a.b`, or `c`", "set <code>a.b</code>, or <code>c</code>"),
        ("`<b>` & more", "<code>&lt;b&gt;</code> &amp; more"),
        ("an odd ` stays", "an odd ` stays"),
        ("none: ``", "none: ``"),
        ("two\n lines `a\nb`", "two lines <code>a b</code>"),
    ],
)
def test_what_stands_in_backticks_is_code(text: str, html: str) -> None:
    assert prose(text) == html


@given(st.text(st.sampled_from("`<>&'\"ab \n"), max_size=30))
def test_no_text_becomes_markup_of_its_own(text: str) -> None:
    shown = prose(text)
    assert set(re.findall(r"<[^>]*>", shown)) <= {"<code>", "</code>"}
    page = parsed(f"<!doctype html><html><body><p>{shown}</p></body></html>")
    (paragraph,) = page.iter("p")
    assert text_of(paragraph).replace("`", "").split() == one_line(text).replace("`", "").split()
