"""The results of the benches of speed, which are kept in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "images" / "speed.json"
Record = Mapping[str, Any]


def keep(section: str, records: Sequence[Record]) -> None:
    """Write the records of a bench to the file, in the place of its earlier ones."""
    read = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    read[section] = records
    parts = []
    for name in sorted(read):
        lines = ",\n".join(f"  {json.dumps(record)}" for record in read[name])
        parts.append(f' "{name}": [\n{lines}\n ]')
    RESULTS.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
