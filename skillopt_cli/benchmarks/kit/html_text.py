"""HTML as text for a model: tables as Markdown, everything else as lines."""

from __future__ import annotations

from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = ("p", "div", "section", "article", "header", "footer", "blockquote", "pre")
_BREAKS = frozenset((*_HEADINGS, *_BLOCKS, "br", "hr", "li", "ul", "ol", "dd", "dt"))
_WIDEST = 200
"""Columns a cell may claim; more is a mistake in the page."""


def html_text(html: str) -> str:
    """The text of a page or a piece of one, without scripts and marks."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_tables()
    lines = (" ".join(line.split()) for line in "".join(reader.text).split("\n"))
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).strip()


class _Table:
    """A table while it is read; a cell over several columns or rows is repeated in each."""

    def __init__(self) -> None:
        self.rows: list[dict[int, str]] = []
        self._below: dict[int, tuple[int, str]] = {}
        self.cell: list[str] | None = None
        self._span = (1, 1)

    def row(self) -> None:
        self.end_cell()
        held = {column: text for column, (_, text) in self._below.items()}
        self._below = {c: (n - 1, text) for c, (n, text) in self._below.items() if n > 1}
        self.rows.append(held)

    def begin_cell(self, columns: int, rows: int) -> None:
        self.end_cell()
        if not self.rows:
            self.row()
        self.cell, self._span = [], (columns, rows)

    def end_cell(self) -> None:
        if self.cell is None:
            return
        text = " ".join("".join(self.cell).split()).replace("|", "\\|")
        row, (columns, rows) = self.rows[-1], self._span
        at = 0
        for _ in range(columns):
            while at in row:
                at += 1
            row[at] = text
            if rows > 1:
                self._below[at] = (rows - 1, text)
        self.cell = None

    def words(self) -> str:
        self.end_cell()
        return " ".join(text for row in self.rows for text in row.values() if text)

    def markdown(self) -> str:
        self.end_cell()
        rows = [row for row in self.rows if row]
        if not rows:
            return ""
        width = max(max(row) for row in rows) + 1
        lines = ["| " + " | ".join(row.get(c, "") for c in range(width)) + " |" for row in rows]
        lines.insert(1, "|" + " --- |" * width)
        return "\n".join(lines)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self._tables: list[_Table] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        table = self._tables[-1] if self._tables else None
        if tag in _SILENT:
            self._silent += 1
        elif tag == "table":
            self._tables.append(_Table())
        elif table is not None and tag == "tr":
            table.row()
        elif table is not None and tag in {"td", "th"}:
            given = dict(attrs)
            table.begin_cell(_count(given.get("colspan")), _count(given.get("rowspan")))
        elif tag in _BREAKS:
            self._say(" " if table else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "table" and self._tables:
            self._end_table()
        elif tag in {"td", "th"} and self._tables:
            self._tables[-1].end_cell()
        elif tag in _BREAKS:
            self._say(" " if self._tables else "\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._say(data if self._tables else data.replace("\n", " "))

    def end_tables(self) -> None:
        while self._tables:
            self._end_table()

    def _end_table(self) -> None:
        table = self._tables.pop()
        # Within a cell of another table, only its words are of use.
        self._say(table.words() if self._tables else f"\n\n{table.markdown()}\n\n")

    def _say(self, text: str) -> None:
        cell = self._tables[-1].cell if self._tables else None
        if cell is not None:
            cell.append(text)
        elif not self._tables:
            self.text.append(text)


def _count(value: str | None) -> int:
    return (
        min(int(value), _WIDEST)
        if value and value.isascii() and value.isdigit() and int(value)
        else 1
    )
