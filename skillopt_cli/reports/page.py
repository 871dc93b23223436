"""A page of blocks, drawn on a terminal, shown by a browser, or written here as GitHub Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, assert_never

from skillopt_cli.runlog.text.format import one_line

if TYPE_CHECKING:
    from markupsafe import Markup

_SPECIAL = re.compile(r"[\\`*\[\]<|~]|(?<!\w)_|_(?!\w)")
_FENCE = re.compile(r"`{3,}")
_ID_LIMIT = 12


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `level` 1 names the page. `aside` follows it in a style of its own."""

    text: str
    level: int = 2
    aside: str = ""
    style: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text; an item of the list below its heading unless `free`.

    Attributes:
        tasks: ids of the tasks that the text counts.
    """

    text: str
    style: str = ""
    free: bool = False
    tasks: Sequence[str] = ()

    @property
    def words(self) -> str:
        """The text, and the first tasks after it."""
        if not self.tasks:
            return self.text
        shown = ", ".join(one_line(task) for task in self.tasks[:_ID_LIMIT])
        left = len(self.tasks) - _ID_LIMIT
        return f"{self.text}: {shown}" + (f" and {left} more" if left > 0 else "")


@dataclass(frozen=True, slots=True)
class Quote:
    """A text of several lines that somebody else wrote."""

    text: str


class Number(str):
    """A number as it is shown, which still knows what it is.

    Attributes:
        value: the number itself.
        key: its name in the JSON documents.
    """

    value: float
    key: str

    def __new__(cls, shown: str, value: float, key: str) -> Self:
        """`shown` with its number."""
        self = super().__new__(cls, shown)
        self.value, self.key = value, key
        return self


@dataclass(frozen=True, slots=True)
class Rows:
    """A table; a cell may be a `Number`.

    Attributes:
        numbers: columns that are aligned to the right.
        caption: what the table shows, where its heading does not.
        diagonal: how many rows, from the first, have the cell of their own column marked.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int] = field(default=())
    caption: str = ""
    diagonal: int = 0


@dataclass(frozen=True, slots=True)
class Abreast:
    """Tables side by side where there is room, else one below the other."""

    tables: Sequence[Rows]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture; where none can be shown, its words.

    Attributes:
        wide, narrow: the picture for a screen, and for a telephone where it must differ.
        legend: a sample of each sign, and what it means.
    """

    words: str
    wide: Markup
    narrow: Markup | None = None
    legend: Sequence[tuple[Markup, str]] = ()


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks that a browser shows when they are asked for."""

    title: str
    blocks: Sequence[Heading | Line | Quote | Rows | Abreast | Figure]


Block = Heading | Line | Quote | Rows | Abreast | Figure | Details


def as_markdown(blocks: Iterable[Block]) -> str:
    """The page as GitHub Markdown, with a line end at its end."""
    lines: list[str] = []
    listed = False
    for block in blocks:
        item = isinstance(block, Line) and not block.free
        if lines and not (item and listed):
            lines.append("")
        lines += _written(block)
        listed = item
    return "".join(f"{line}\n" for line in lines)


def _written(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            aside = f" ({_plain(block.aside)})" if block.aside else ""
            yield f"{'#' * block.level} {_plain(block.text)}{aside}"
        case Line(free=True):
            yield _plain(block.words)
        case Line():
            yield f"- {_plain(block.words)}"
        case Quote():
            text = "\n".join(visible(line) for line in block.text.strip("\n").split("\n"))
            longest = max((len(fence) for fence in _FENCE.findall(text)), default=2)
            fence = "`" * (longest + 1)
            yield from (f"{fence}text", *text.split("\n"), fence)
        case Rows():
            yield from _table(block)
        case Abreast():
            yield as_markdown(block.tables).rstrip("\n")
        case Figure():
            yield _plain(block.words)
        case Details():
            yield from (f"**{_plain(block.title)}**", "", as_markdown(block.blocks).rstrip("\n"))
        case _:
            assert_never(block)


def _table(block: Rows) -> Iterator[str]:
    if block.caption:
        yield from (f"**{_plain(block.caption)}**", "")
    yield f"| {' | '.join(map(_plain, block.titles))} |"
    marks = ("--:" if i in block.numbers else "---" for i in range(len(block.titles)))
    yield f"|{'|'.join(marks)}|"
    for row in block.rows:
        yield f"| {' | '.join(map(_plain, row))} |"


def _plain(text: str) -> str:
    """The text with what Markdown would read as markup escaped."""
    return _SPECIAL.sub(lambda found: f"\\{found.group()}", text)


def visible(line: str) -> str:
    """The line without characters a terminal would obey; tabs stay, indentation means something."""
    return "".join(c if c.isprintable() or c == "\t" else "?" for c in line)
