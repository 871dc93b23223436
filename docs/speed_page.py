"""The tables of `explanation/speed-measured.md`, from the results of `bench/speed.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
RESULTS, WALL, COLD = (IMAGES / f"{name}.json" for name in ("speed", "wall", "cold_start"))
PAGE = DOCS / "explanation" / "speed-measured.md"
BARE = "httpx"
"""The bare SDK that calls are compared with, over its own transport."""

Record = Mapping[str, Any]


def speed_page(results: Mapping[str, Sequence[Record]] | None = None) -> str:
    """The page with its tables, which follow from the results kept in `docs/images`."""
    if results is None:
        results = _read(RESULTS) or {}
        results = {**results, "wall": _read(WALL) or (), "cold_start": _read(COLD) or ()}
    page = PAGE.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        inner = re.compile(rf"(?<=<!-- figures: {name} -->\n).*?(?=<!-- end of figures -->)", re.S)
        records = results.get(name, ())
        text = "\n".join(table(records)) if records else "No runs are recorded yet."
        page = inner.sub(lambda _, text=text: f"{text}\n", page, count=1)
    return page


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _wall(rows: Sequence[Record]) -> Iterator[str]:
    yield "| preset | workers | latency | n | calls | wall | schedule | ratio | bare SDK |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        runs = row["runs"]
        cells = [_middle([run[key] for run in runs]) for key in ("calls", "wall", "schedule")]
        ratio = _spread([run["ratio"] for run in runs])
        bare = _spread([run["bare"] / run["schedule"] for run in runs])
        yield (
            f"| {row['preset']} | {row['workers']} | {1000 * row['latency']:,.0f} ms | {len(runs)}"
            f" | {cells[0]} | {cells[1]} s | {cells[2]} s | {ratio} | {bare} |"
        )


def _trainings(records: Sequence[Record]) -> Iterator[str]:
    yield "| training | n | wall, s | allowed, s | same result | faults | CPU per call | memory |"
    yield "|---|--:|--:|--:|---|--:|--:|--:|"
    for name in dict.fromkeys(record["case"] for record in records):
        runs = [record for record in records if record["case"] == name]
        allowed = [run["allowed"] for run in runs if "allowed" in run]
        same = [run["same"] for run in runs if "same" in run]
        each = [1000 * run["cpu"] / run["calls"] for run in runs]
        yield (
            f"| {name} | {len(runs)} | {_spread([run['wall'] for run in runs], 1)}"
            f" | {_spread(allowed, 1) if allowed else '-'}"
            f" | {f'{sum(same)} of {len(same)}' if same else '-'}"
            f" | {_middle([run['faults'] for run in runs])} | {_middle(each, 1)} ms"
            f" | {_middle([run['memory'] for run in runs])} MB |"
        )


def _limits(records: Sequence[Record]) -> Iterator[str]:
    yield "| service | n | least, s | took, s | ratio | allowed | refused | allowed |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for name in dict.fromkeys(record["service"] for record in records):
        runs = [record for record in records if record["service"] == name]
        most = runs[0]["most_refused"]
        yield (
            f"| {name} | {len(runs)} | {runs[0]['least']:.1f}"
            f" | {_spread([run['took'] for run in runs], 1)}"
            f" | {_spread([run['ratio'] for run in runs])} | {runs[0]['most']:.2f}"
            f" | {_spread([100 * run['refused'] for run in runs], 1)} %"
            f" | {'-' if most is None else f'{100 * most:.0f} %'} |"
        )


def _cpu(records: Sequence[Record]) -> Iterator[str]:
    bare = median(next(record["ms"] for record in records if record["system"] == BARE))
    yield "| | n | CPU per call, ms | above the bare SDK |"
    yield "|---|--:|--:|--:|"
    for record in records:
        name = record["system"] if record["system"] == "skillopt" else f"SDK, {record['system']}"
        above = median(record["ms"]) - bare
        yield f"| {name} | {len(record['ms'])} | {_spread(record['ms'])} | {above:+.2f} |"


def _cold(records: Sequence[Record]) -> Iterator[str]:
    yield "| start | n | CPU, ms | beyond the interpreter | allowed | memory |"
    yield "|---|--:|--:|--:|--:|--:|"
    for record in records:
        ms, most = record["cpu_ms"], record["most_ms"]
        yield (
            f"| {record['command']} | {len(ms)} | {_spread(ms, 0)} | {record['beyond_ms']}"
            f" | {'-' if most is None else most} | {record['peak_mb']} MB |"
        )


def _scale(records: Sequence[Record]) -> Iterator[str]:
    yield "| tasks | wall, s | CPU, s | CPU per task | memory |"
    yield "|--:|--:|--:|--:|--:|"
    for record in records:
        each = 1000 * record["cpu"] / record["tasks"]
        yield (
            f"| {record['tasks']:,} | {record['wall']:.1f} | {record['cpu']:.1f} | {each:.1f} ms"
            f" | {record['memory']} MB |"
        )


def _store(records: Sequence[Record]) -> Iterator[str]:
    sizes = [f"{record['attempts']:,}" for record in records]
    yield f"| attempts in the journal | {' | '.join(sizes)} |"
    yield f"|---|{'--:|' * len(records)}"
    for what, cell in (
        ("storing one", lambda r: f"{r['insert_us']} us"),
        ("recalling one", lambda r: f"{r['recall_us']} us"),
        ("journal", lambda r: f"{r['journal_mb']:,} MB"),
        ("facts in the log", lambda r: f"{r['facts']:,}"),
        ("log", lambda r: f"{r['log_mb']:,} MB"),
        ("folding the log from its start", lambda r: f"{r['folding_s']:.0f} s"),
        (
            "writing its snapshot, reading it",
            lambda r: f"{r['snapshot_written_s']:.2f} s, {r['snapshot_read_s']:.2f} s",
        ),
        (
            "from `skillopt resume` to its first new call",
            lambda r: f"{r['first_call']:.1f} s",
        ),
        ("memory of that run", lambda r: f"{r['memory']} MB"),
    ):
        yield f"| {what} | {' | '.join(map(cell, records))} |"
    if all("page_ms" in record for record in records):
        pages = [f"{r['page_first_ms']:.0f} ms, {r['page_ms']:.0f} ms" for r in records]
        yield f"| its slowest page, by processor time: at first, then | {' | '.join(pages)} |"


def _ray(records: Sequence[Record]) -> Iterator[str]:
    yield (
        "| attempts | by | workers | wall, s | a second | ratio | driver: CPU per attempt | memory"
        " | grown |"
    )
    yield "|--:|---|--:|--:|--:|--:|--:|--:|--:|"
    for record in records:
        kind = f"a program of {record['seconds']:g} s" if "seconds" in record else "one call"
        where = "Ray" if record["executor"] == "ray" else "no cluster"
        rate = record["attempts"] / record["wall"]
        ratio = f"{record['ratio']:.2f}" if "ratio" in record else "-"
        yield (
            f"| {record['attempts']:,} | {kind}, {where} | {record['workers']}"
            f" | {record['wall']:.1f} | {rate:.0f} | {ratio} | {record['cpu_ms']:.1f} ms"
            f" | {record['memory']} MB | {record['grown']} MB |"
        )


TABLES = {
    "wall": _wall,
    "trainings": _trainings,
    "limits": _limits,
    "cpu_per_call": _cpu,
    "cold_start": _cold,
    "scale": _scale,
    "store": _store,
    "ray_scale": _ray,
}


def _spread(values: Sequence[float], digits: int = 2) -> str:
    """The median, with the least and the most of several."""
    if len(values) == 1:
        return _middle(values, digits)
    return f"{_middle(values, digits)} ({min(values):,.{digits}f} - {max(values):,.{digits}f})"


def _middle(values: Sequence[float], digits: int = 0) -> str:
    return f"{median(values):,.{digits}f}"
