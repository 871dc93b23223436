"""A table that never breaks a word: where it would have to, its rows stand one below the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_GAP = 2


@dataclass(frozen=True, slots=True)
class FittedTable:
    """Rows under their titles, a line each where the width allows it.

    Args:
        rows: texts, shown as they are.
        numbers: columns that stand to the right.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Collection[int] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw within `options.max_width`."""
        widths = self._widths(options.max_width)
        if widths is not None:
            yield self._table(widths)
            return
        for row in self.rows:
            first, *others = zip(self.titles, row, strict=True)
            yield Text(first[1], style="bold", overflow="fold")
            for title, cell in others:
                if cell:
                    yield Padding(Text(f"{title}: {cell}", overflow="fold"), (0, 0, 0, 2))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As wide as a row on one line."""
        widest = sum(self._widest(i) + _GAP for i in range(len(self.titles)))
        return Measurement(1, widest).with_maximum(options.max_width)

    def _table(self, widths: Sequence[int]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_edge=False)
        for i, (title, width) in enumerate(zip(self.titles, widths, strict=True)):
            table.add_column(
                Text(title),
                width=width,
                justify="right" if i in self.numbers else "left",
                overflow="fold",
            )
        for row in self.rows:
            # As texts, since brackets in a plain string would be read as markup.
            table.add_row(*map(Text, row))
        return table

    def _widths(self, room: int) -> list[int] | None:
        """The columns' widths, None where a word would have to be broken."""
        columns = range(len(self.titles))
        widths = [self._widest(i) for i in columns]
        least = [max(map(_longest_word, self._column(i))) for i in columns]
        room -= _GAP * len(widths)
        if sum(least) > room:
            return None
        while (over := sum(widths) - room) > 0:
            slack = [width - floor for width, floor in zip(widths, least, strict=True)]
            roomiest = slack.index(max(slack))
            widths[roomiest] -= min(over, max(1, slack[roomiest] // 2))
        return widths

    def _column(self, i: int) -> list[str]:
        return [self.titles[i], *(row[i] for row in self.rows)]

    def _widest(self, i: int) -> int:
        return max(map(cell_len, self._column(i)))


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
