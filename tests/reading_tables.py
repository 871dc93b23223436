"""The tables of what is read how: every row is tested, and a page of the docs shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "reading"


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a table."""
    table = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return list(table["rows"])
