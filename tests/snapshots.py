"""Golden files: text a display must draw, compared exactly.

Run the tests with `UPDATE_SNAPSHOTS=1` to write them anew, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

_FOLDER = Path(__file__).parent / "golden"
_UPDATE = bool(os.environ.get("UPDATE_SNAPSHOTS"))


def assert_golden(name: str, text: str) -> None:
    path = _FOLDER / name
    if _UPDATE:
        _FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
