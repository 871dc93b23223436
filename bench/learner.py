"""Trains skills in simulated worlds with this program and with GEPA: `python bench/learner.py`.

Each run talks to a model server in a process of its own over HTTP. The results are added to
`docs/images/learner.json`, a run in the place of an earlier one of the same world, system and seed;
`docs/generate.py` makes the tables of `docs/explanation/learner-measured.md` from them. GEPA is
installed by `pip install -r bench/requirements.txt`; its budget is the target calls of the run with
`--preset paper`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from simulation.systems import (
    GEPA,
    PRESETS,
    ROOT,
    SYSTEMS,
    Run,
    has_preset,
    perform,
    repeated,
    server,
)
from simulation.world import WORLDS

RESULTS = ROOT / "docs" / "images" / "learner.json"
Record = dict[str, Any]


class Results:
    """The records of all runs in a file, one line each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        read = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        self._records: dict[tuple[str, str, int], Record] = {
            _key(record): record for record in read
        }

    def get(self, world: str, system: str, seed: int) -> Record | None:
        """The record of a run, if it was made."""
        return self._records.get((world, system, seed))

    def add(self, record: Record) -> None:
        """Add a record to the file, or replace it there."""
        with self._lock:
            self._records[_key(record)] = record
            records = sorted(self._records.values(), key=_place)
            lines = ",\n".join(f" {json.dumps(record)}" for record in records)
            self._path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _key(record: Record) -> tuple[str, str, int]:
    return record["world"], record["system"], record["seed"]


def _place(record: Record) -> tuple[int, int, int]:
    world, system = list(WORLDS).index(record["world"]), SYSTEMS.index(record["system"])
    return world, system, record["seed"]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=_names(WORLDS), default=list(WORLDS))
    parser.add_argument("--systems", type=_names(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--seeds", type=int, default=20, help="runs of each system in each world")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--latency", type=float, default=2.0, help="milliseconds of a model call")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--keep", type=Path, help="keep the run folders below this one")
    parser.add_argument("--missing", action="store_true", help="make only runs without a result")
    parser.add_argument(
        "--twice", action="store_true", help="make each run twice and compare what comes out"
    )
    return parser.parse_args(argv)


def _names(known: Sequence[str]):
    def read(text: str) -> list[str]:
        names = text.split(",")
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}")
        return names

    return read


def usable(systems: Sequence[str]) -> Iterator[str]:
    """The systems that are there, in an order in which a budget is known when it is needed."""
    for system in sorted(systems, key=SYSTEMS.index):
        there = find_spec("gepa") is not None if system in GEPA else has_preset(system)
        if there:
            yield system
        else:
            print(f"{system} is skipped: it is not there", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> None:
    given = arguments(argv)
    results = Results(given.results)
    systems = list(usable(given.systems))

    def seeded(world: str, seed: int, address: str, home: Path) -> None:
        for system in systems:
            if given.missing and results.get(world, system, seed):
                continue
            folder = home / f"{world}-{system}-{seed}"
            paper = results.get(world, "paper", seed) if system in GEPA else None
            if system in GEPA and paper is None:
                raise SystemExit(f"{world}, seed {seed}: run `paper` first, the budget of GEPA")
            budget = paper["target_calls"] if paper else 0
            run = Run(world, system, seed, folder, address, budget)
            record = perform(run)
            results.add(record)
            print(json.dumps(record), flush=True)
            if given.twice and system in PRESETS:
                print(f"{folder.name} again: {repeated(run)}", flush=True)

    with TemporaryDirectory() as scratch, server(given.latency) as address:
        home = given.keep.resolve() if given.keep else Path(scratch)
        seeds = range(given.first_seed, given.first_seed + given.seeds)
        with ThreadPoolExecutor(given.jobs) as pool:
            made = [
                pool.submit(seeded, world, seed, address, home)
                for world in given.worlds
                for seed in seeds
            ]
            for future in made:
                future.result()


if __name__ == "__main__":
    main()
