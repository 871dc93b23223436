"""The page `reference/reading.md`: what is read how, from the tables of the tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

TABLES = Path(__file__).resolve().parents[1] / "tests" / "reading"
_INVISIBLE = re.compile(r"[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def reading_page() -> Iterator[str]:
    """The lines of the page: a section per table, in the order of the files' names."""
    yield "# What is read how\n"
    yield (
        "Every row is a test. Texts are shown as JSON shows them: a line break is `\\n`, and a"
        " backslash is doubled.\n"
    )
    for path in sorted(TABLES.glob("*.yaml")):
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
        yield f"## {table['title']}\n"
        yield f"{table['text']}\n"
        yield from _table(table["columns"], table["rows"])
        yield ""


def _table(columns: Mapping[str, str], rows: list[Mapping[str, Any]]) -> Iterator[str]:
    yield f"| {' | '.join(columns.values())} |"
    yield "|---" * len(columns) + "|"
    for row in rows:
        yield f"| {' | '.join(_cell(row.get(name)) for name in columns)} |"


def _cell(value: object) -> str:
    """A value as code; nothing for what a row leaves out."""
    if value is None:
        return "-"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text[1:-1].replace('\\"', '"') if isinstance(value, str) else text
    text = _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).replace("|", "\\|")
    if not text:
        return "(empty)"
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    gap = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{ticks}{gap}{text}{gap}{ticks}"
