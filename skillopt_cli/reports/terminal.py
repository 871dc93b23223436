"""Pages and tables as they are drawn on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from skillopt_cli.reports.arms import Document, arms_rows, matrix_rows, title
from skillopt_cli.reports.page import (
    Abreast,
    Block,
    Details,
    Figure,
    Heading,
    Line,
    Quote,
    Rows,
    visible,
)
from skillopt_cli.ui.fitted_table import FittedTable


def as_rich(blocks: Iterable[Block]) -> Group:
    """The page for a terminal. Foreign texts are shown as they are, never read as markup."""
    parts: list[RenderableType] = []
    for block in blocks:
        if parts and isinstance(block, Rows | Abreast | Heading):
            parts.append(Text())
        parts.append(_drawn(block))
    return Group(*parts)


def _drawn(block: Block) -> RenderableType:
    match block:
        case Heading():
            aside = ("  ", (block.aside, block.style)) if block.aside else ()
            return Text.assemble((block.text, "bold"), *aside)
        case Line(free=True):
            return Text(block.words, style=block.style)
        case Line():
            return Padding(Text(block.words, style=block.style), (0, 0, 0, 2), expand=False)
        case Quote():
            text = "\n".join(visible(line) for line in block.text.strip("\n").split("\n"))
            return Padding(Text(text, style="italic"), (0, 0, 0, 4), expand=False)
        case Rows():
            table = FittedTable(block.titles, block.rows, block.numbers)
            return Group(Text(block.caption), table) if block.caption else table
        case Abreast():
            return as_rich(block.tables)
        case Figure():
            return Text(block.words, style="dim")
        case Details():
            return Group(Text(block.title, style="bold"), *map(_drawn, block.blocks))
    assert_never(block)


def arms_table(document: Document) -> RenderableType:
    """The arms with their scores, and what the pairs of them show."""
    return Group(Text(title(document)), as_rich(arms_rows(document)))


def matrix_table(document: Document) -> RenderableType:
    """The score of every arm with every target, and what the pairs of arms show with each."""
    return Group(Text(title(document)), as_rich(matrix_rows(document)))
