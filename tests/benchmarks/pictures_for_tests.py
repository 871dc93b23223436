"""Tiny pictures for the benchmark tests, and the scripts that draw the bundled samples."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "samples"


def png(shade: int = 0) -> bytes:
    """A picture of a few pixels; another shade is another picture."""
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.new("L", (2, 2), shade).save(out, "PNG")
    return out.getvalue()


def put(path: Path, shade: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(shade))
    return path


def assert_drawn_by(script: str, sample: Path, folder: Path) -> None:
    """The script gives the files of the sample; letters may be drawn a little differently."""
    image = pytest.importorskip("PIL.Image")
    subprocess.run([sys.executable, str(SAMPLES / script), str(folder)], check=True)
    names = sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    assert names == sorted(p.relative_to(sample) for p in sample.rglob("*") if p.is_file())
    for name in names:
        if name.suffix == ".json":
            ours, drawn = (json.loads((f / name).read_text("utf-8")) for f in (sample, folder))
            assert ours == drawn
            continue
        one, other = (image.open(f / name).convert("RGB") for f in (sample, folder))
        assert one.size == other.size
        if one.tobytes() == other.tobytes():
            continue
        pairs = list(zip(one.tobytes(), other.tobytes(), strict=True))
        assert sum(a != b for a, b in pairs) <= 0.02 * len(pairs), name
