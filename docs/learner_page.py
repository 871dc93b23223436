"""The tables of `explanation/learner-measured.md`, from the results of `bench/learner.py`."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

from simulation.systems import SYSTEMS
from simulation.world import WORLDS

DOCS = Path(__file__).resolve().parent

RESULTS = DOCS / "images" / "learner.json"
PAGE = DOCS / "explanation" / "learner-measured.md"
START, END = "<!-- figures: learner -->", "<!-- end of figures -->"

OURS = ("default", "quick")
BASELINES = tuple(name for name in SYSTEMS if name not in OURS)
HEAD = (
    "| system | accuracy | sd | worst | target calls | optimizer calls | tokens | waits | seconds"
    " | right | harmful | useless |"
)
ERRORS = 2
"""Standard errors that a difference needs to be more than chance."""

Record = Mapping[str, Any]


def learner_page(records: Sequence[Record] | None = None) -> str:
    """The page with its tables, which follow from the results kept in `docs/images`."""
    if records is None:
        records = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    tables = "\n".join(_tables(records)) if records else "No runs are recorded yet.\n"
    page = PAGE.read_text(encoding="utf-8")
    inner = re.compile(rf"(?<={re.escape(START)}\n).*?(?={re.escape(END)})", re.DOTALL)
    return inner.sub(lambda _: tables, page)


def _tables(records: Sequence[Record]) -> Iterator[str]:
    yield from _comparison(records)
    for name, world in WORLDS.items():
        here = [record for record in records if record["world"] == name]
        if not here:
            continue
        before, ceiling = (mean(r[key] for r in here) for key in ("before", "ceiling"))
        yield f"### {name}\n"
        yield f"Here {world.summary}. Seed skill {before:.2f}, best possible {ceiling:.2f}.\n"
        yield HEAD
        yield "|---" * 12 + "|"
        for system in SYSTEMS:
            runs = [record for record in here if record["system"] == system]
            if runs:
                yield _row(system, runs)
        yield ""


def _row(system: str, runs: Sequence[Record]) -> str:
    scores = [run["accuracy"] for run in runs]
    average, error = mean(scores), _error(scores)
    cells = [
        f"{system} ({len(runs)})",
        f"{average:.3f} ± {error:.3f}",
        f"{stdev(scores) if len(scores) > 1 else 0:.2f}",
        f"{min(scores):.2f}",
        *(f"{mean(run[key] for run in runs):,.0f}" for key in ("target_calls", "optimizer_calls")),
        f"{mean(run['tokens'] for run in runs) / 1000:,.0f} k",
        f"{mean(run['waits'] for run in runs):.0f}",
        f"{mean(run['seconds'] for run in runs):.0f}",
        *(f"{mean(run[key] for run in runs):.1f}" for key in ("right", "harmful", "useless")),
    ]
    return f"| {' | '.join(cells)} |"


def _comparison(records: Sequence[Record]) -> Iterator[str]:
    """What our presets gain over each other system, on the same seeds, and what they cost."""
    measured = {record["system"] for record in records}
    others = [name for name in BASELINES if name in measured]
    gained = [f"over {name}" for name in others]
    yield f"| world | preset | {' | '.join(gained)} | target calls | without the tests |"
    yield "|---" * (len(others) + 4) + "|"
    for world in WORLDS:
        theirs = {name: _by_seed(records, world, name) for name in others}
        for preset in OURS:
            if ours := _by_seed(records, world, preset):
                cells = [_gain(ours, theirs[name]) for name in others]
                cells += [_share(ours, theirs.get("paper", {}), tests) for tests in (True, False)]
                yield f"| {world} | {preset} | {' | '.join(cells)} |"
    yield ""


def _gain(ours: Mapping[int, Record], theirs: Mapping[int, Record]) -> str:
    gains = [ours[seed]["accuracy"] - theirs[seed]["accuracy"] for seed in ours if seed in theirs]
    if not gains:
        return "-"
    average, error = mean(gains), _error(gains)
    verdict = "no difference"
    if len(gains) > 1 and abs(average) > ERRORS * error:
        verdict = "**better**" if average > 0 else "**worse**"
    return f"{average:+.3f} ± {error:.3f}, {verdict}"


def _share(ours: Mapping[int, Record], theirs: Mapping[int, Record], tests: bool) -> str:
    """Our target calls as a share of those of the published method, with the tests or without."""
    seeds = [seed for seed in ours if seed in theirs]
    if not seeds:
        return "-"
    spent, others = (sum(_calls(runs[s], tests) for s in seeds) for runs in (ours, theirs))
    return f"{spent / others:.0%}"


def _calls(run: Record, tests: bool) -> int:
    calls: int = run["target_calls"]
    return calls if tests else calls - run["test_calls"]


def _by_seed(records: Sequence[Record], world: str, system: str) -> dict[int, Record]:
    return {r["seed"]: r for r in records if r["world"] == world and r["system"] == system}


def _error(values: Sequence[float]) -> float:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
