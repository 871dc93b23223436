"""Trainings on a service that is disturbed: `python bench/trainings.py [NAME ...] [--seeds N]`.

Each is a run of the preset `paper` in the world `base`, over HTTP, with 24 workers, beside
the undisturbed run of the same seed: how long it took, and whether it made the same decisions and
ended with the same texts. GEPA makes as many target calls, with its adapter over plain HTTP.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from results import keep
from simulation.server import SLOW, Disturbance
from simulation.systems import (
    Run,
    counts_of,
    gepa_command,
    outcome,
    server,
    train_command,
    write_tasks,
)
from simulation.world import WORLDS, World

LATENCY = 0.2
WORLD = "base"
OUTAGE = 60.0


@dataclass(frozen=True)
class Case:
    """A disturbance, and how long a training may take with it.

    Attributes:
        most: the wall time allowed, as a multiple of the undisturbed one; that of a slow call is
            added to it for each stage that had one.
        outage: seconds that are allowed beyond.
    """

    disturbance: Disturbance
    most: float
    outage: float = 0.0


def cases(outage: float) -> Mapping[str, Case]:
    """The cases by their names, with outages of so many seconds."""
    out = {
        f"outage in {name}": Case(
            Disturbance(outage=kind, after=after, seconds=outage), 1.1, outage
        )
        for name, kind, after in (
            ("a rollout", "target train", 90),
            ("a reflection", "optimizer analyst", 6),
            ("a gate", "target selection", 100),
        )
    }
    return {
        "5 % random 429, 2 % random 500": Case(Disturbance(refused=0.05, failed=0.02), 1.2),
        "2 % of calls 8 times slower": Case(Disturbance(slow=0.02), 1.1),
        **out,
    }


@dataclass(frozen=True)
class Made:
    """What a run came to: seconds, CPU seconds, bytes of memory, calls, and its result."""

    wall: float
    cpu: float
    memory: int
    calls: Counter[str]
    outcome: Mapping[str, Any]

    @property
    def answered(self) -> int:
        """Calls that were answered."""
        return sum(n for kind, n in self.calls.items() if kind.startswith(("target", "optimizer")))

    @property
    def faults(self) -> int:
        """Calls that were refused or failed."""
        return sum(n for kind, n in self.calls.items() if kind[0].isdigit())

    def record(self, name: str, seed: int) -> dict[str, Any]:
        """The figures of the results file."""
        return {
            "case": name,
            "seed": seed,
            "wall": round(self.wall, 2),
            "calls": self.answered,
            "faults": self.faults,
            "cpu": round(self.cpu, 2),
            "memory": self.memory >> 20,
        }


def made(seed: int, system: str, disturbance: Disturbance | None, budget: int = 0) -> Made:
    """Make a run against a server of its own."""
    with TemporaryDirectory() as home, server(1000 * LATENCY, disturbance) as address:
        run = Run(WORLD, system, seed, Path(home) / "run", address, budget)
        run.folder.mkdir()
        write_tasks(run.folder / "tasks", World(WORLDS[WORLD], seed))
        theirs = system == "gepa"
        command = gepa_command(run) if theirs else train_command(run)
        begun = time.monotonic()
        process = subprocess.Popen(command, cwd=run.folder, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        wall, process.returncode = time.monotonic() - begun, os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{system} ended with {process.returncode}")
        folder = run.folder / "outputs" / "folder" / "run"
        cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        return Made(wall, cpu, memory, counts_of(run), {} if theirs else outcome(folder))


def measured(seed: int, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The records of all runs of a seed, the undisturbed one first."""
    plain = made(seed, "paper", None)
    yield plain.record("undisturbed", seed)
    if find_spec("gepa") and not given.names:
        targets = sum(n for kind, n in plain.calls.items() if kind.startswith("target"))
        yield made(seed, "gepa", None, targets).record("gepa", seed)
    for name, case in cases(given.outage).items():
        if given.names and name not in given.names:
            continue
        run = made(seed, "paper", case.disturbance)
        slow = run.calls["stages with a slow call"] * (SLOW - 1) * LATENCY
        yield {
            **run.record(name, seed),
            "undisturbed": round(plain.wall, 2),
            "allowed": round(case.outage + case.most * (plain.wall + slow), 2),
            "same": run.outcome == plain.outcome,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; all unless given")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--outage", type=float, default=OUTAGE, help="seconds of an outage")
    parser.add_argument("--keep", action="store_true", help="write the results file")
    given = parser.parse_args()
    records, missed = [], False
    for seed in range(given.seeds):
        for record in measured(seed, given):
            records.append(record)
            bad = record["wall"] > record.get("allowed", math.inf) or not record.get("same", True)
            missed |= bad
            print(record, "missed" if bad else "", flush=True)
    if given.keep:
        keep("trainings", records)
    sys.exit(missed)


if __name__ == "__main__":
    main()
