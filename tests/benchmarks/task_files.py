"""Task files for the benchmark tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Records = Sequence[Mapping[str, Any]]


def qa(name: str, answer: str = "", **more: Any) -> dict[str, Any]:
    """A SearchQA record whose content is its own."""
    return {
        "id": name,
        "question": f"What is {name}?",
        "context": f"About {name}.",
        "answers": [answer or f"thing {name}"],
        **more,
    }


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, records: Records) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text(text, encoding="utf-8")
    return path


def write_splits(folder: Path, train: Records, selection: Records, test: Records) -> Path:
    for name, records in (("train", train), ("val", selection), ("test", test)):
        write_json(folder / name / "items.json", list(records))
    return folder
