"""HTML as text."""

from __future__ import annotations

import pytest

from skillopt_cli.benchmarks.kit.html_text import html_text


def table(*rows: str) -> str:
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain", "plain"),
        ("<p>a</p><p>b</p>", "a\n\nb"),
        ("a<br>b", "a\nb"),
        ("a &amp; b&nbsp;c", "a & b c"),
        ("<head><title>t</title></head><body>b</body>", "b"),
        ("<script>x < 3</script>a<style>p{}</style>", "a"),
        ("one\ntwo", "one two"),
        (
            table("<th>A</th><th>B</th>", "<td>1</td><td>2</td>"),
            "| A | B |\n| --- | --- |\n| 1 | 2 |",
        ),
        (table("<td>a|b</td>"), "| a\\|b |\n| --- |"),
        (table("<td colspan=2>A</td>", "<td>1<td>2"), "| A | A |\n| --- | --- |\n| 1 | 2 |"),
        (
            table("<td rowspan=2>A</td><td>x</td>", "<td>y</td>", "<td>B</td>"),
            "| A | x |\n| --- | --- |\n| A | y |\n| B | |",
        ),
        (table("<td colspan=0>A</td>", "<td rowspan=x>B</td>"), "| A |\n| --- |\n| B |"),
        (table(f"<td>a{table('<td>in</td><td>side</td>')}</td>"), "| ain side |\n| --- |"),
        ("x<table></table>y", "x\n\ny"),
        ("<table><tr><td>open", "| open |\n| --- |"),
        ("<td>stray</td>", "stray"),
        ("<p>unclosed <b>bold", "unclosed bold"),
        ("", ""),
    ],
)
def test_tables_are_markdown_and_the_rest_is_lines(html: str, text: str) -> None:
    assert html_text(html) == text
