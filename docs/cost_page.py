"""The cost model of `how-to/cluster.md`, from results of `store_scale.py` and `ray_scale.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "how-to" / "cluster.md"
RESULTS = DOCS / "images" / "speed.json"
SIZES = (10**5, 10**6, 10**7)
"""Attempts."""
BLOCK = 4096
"""Bytes of a disk that a small file takes."""
_DAY = 86_400

Record = Mapping[str, Any]


def cost_page(results: Mapping[str, Sequence[Record]] | None = None) -> str:
    """The page with its table, which follows from the results kept in `docs/images`."""
    results = results or json.loads(RESULTS.read_text(encoding="utf-8"))
    inner = re.compile(r"(?<=<!-- figures: cost -->\n).*?(?=<!-- end of figures -->)", re.S)
    text = "\n".join(_table(results["store"], results["ray_scale"]))
    return inner.sub(lambda _: f"{text}\n", PAGE.read_text(encoding="utf-8"), count=1)


def _table(store: Sequence[Record], ray: Sequence[Record]) -> Iterator[str]:
    small, large = (f(store, key=lambda record: record["attempts"]) for f in (min, max))
    on_ray, alone = (next(r for r in ray if _one_call(r, where)) for where in ("ray", "auto"))
    more = (large["memory"] - small["memory"]) / (large["attempts"] - small["attempts"])
    million = large["attempts"]

    def row(what: str, each: str, cells: Sequence[str]) -> str:
        return f"| {what} | {each} | {' | '.join(cells)} |"

    yield f"| | an attempt | {' | '.join(f'{n:,}' for n in SIZES)} |"
    yield "|---|--:|--:|--:|--:|"
    for what, size in (
        ("journal, with one call an attempt", on_ray["journal"]),
        ("event log", on_ray["events"]),
        ("copies for people, a file an attempt, on a disk", max(on_ray["copies"], BLOCK)),
    ):
        yield row(what, _bytes(size), [_bytes(n * size) for n in SIZES])
    for what, ms in (
        ("driver's processor, attempts on Ray", on_ray["cpu_ms"]),
        ("driver's processor, no cluster", alone["cpu_ms"]),
    ):
        yield row(what, f"{ms:.1f} ms", [_seconds(n * ms / 1000) for n in SIZES])
    memory = [large["memory"] + more * (n - million) for n in SIZES]
    yield row("driver's memory", _bytes(1e6 * more), [_bytes(1e6 * size) for size in memory])
    for what, seconds in (
        ("taking up its log, with a snapshot", large["snapshot_read_s"]),
        ("the same without one", large["folding_s"]),
    ):
        yield row(
            what,
            f"{1e6 * seconds / million:.1f} us",
            [_seconds(n * seconds / million) for n in SIZES],
        )
    rate = on_ray["attempts"] / on_ray["wall"]
    at_most = [_seconds(n / rate) for n in SIZES]
    yield row(f"at the most the driver keeps up with, {rate:.0f} attempts a second", "-", at_most)


def _one_call(record: Record, where: str) -> bool:
    return record["target"] == "simulated" and record["executor"] == where


def _bytes(size: float) -> str:
    for unit, name, digits in ((1e9, "GB", 1), (1e6, "MB", 0), (1e3, "kB", 1)):
        if size >= unit:
            return f"{size / unit:,.{digits}f} {name}"
    return f"{size:.0f} B"


def _seconds(seconds: float) -> str:
    for unit, name in ((_DAY, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"
