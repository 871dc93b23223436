"""Wall time of a run against the least it could take: `python bench/wall.py`.

The simulated models answer after 200 ms. The least is worked out stage by stage from the run's own
facts: the calls of a stage, so many at a time, each taking the latency; the levels of a merge tree
one after the other. What is above it is the program's own.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt_cli.core.events import CallMade, RunFinished, RunStarted, StageStarted, Stamped
from skillopt_cli.store.codec import load_fact
from skillopt_cli.testing import write_splits

LATENCY = 0.2
WORKERS = 24
MERGE = 8
TARGET = 1.15


@dataclass
class Stage:
    """A stage of the run, and the calls made in it."""

    name: str
    step: int
    workers: int
    calls: int = 0


def main() -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        write_splits(home / "tasks", train=80, selection=40, test=60)
        begun = time.monotonic()
        subprocess.run(command(), cwd=home, check=True, stdout=subprocess.DEVNULL)
        process = time.monotonic() - begun
        run = home / "outputs" / "searchqa" / "run"
        facts = [load_fact(line) for line in (run / "events.jsonl").read_text().splitlines()]
        first = next(f.time for f in facts if isinstance(f.event, RunStarted))
        last = next(f.time for f in facts if isinstance(f.event, RunFinished))
        least = sum(bound(stage, run) for stage in stages(facts))
        calls = sum(isinstance(f.event, CallMade) for f in facts)
    print(f"calls                    {calls}")
    print(f"least possible           {least:.2f} s")
    print(f"run, first to last fact  {last - first:.2f} s, ratio {(last - first) / least:.3f}")
    print(f"process, start to exit   {process:.2f} s, ratio {process / least:.3f}")
    print(f"target                   ratio <= {TARGET}")
    sys.exit((last - first) / least > TARGET)


def command() -> list[str]:
    settings = {
        "model.backend": "simulated",
        "model.simulated.latency_ms": LATENCY * 1000,
        "train.num_epochs": 4,
        "train.batch_size": 20,
        "gradient.merge_batch_size": MERGE,
        "gradient.analyst_workers": WORKERS,
        "run.workers": WORKERS,
        "run.max_concurrency": WORKERS,
    }
    program = [sys.executable, "-c", "from skillopt_cli.cli.main import main; main()"]
    given = ["train", "searchqa", "--split-dir", "tasks", "--run-id", "run", "--display", "none"]
    return [*program, *given, *(x for k, v in settings.items() for x in ("--set", f"{k}={v}"))]


def stages(facts: list[Stamped]) -> Iterator[Stage]:
    """The stages in order, the first checks of the models among them."""
    current = Stage("preflight", 0, 1)
    for fact in facts:
        if isinstance(fact.event, StageStarted):
            yield current
            current = Stage(fact.event.stage, fact.event.step, fact.event.workers)
        elif isinstance(fact.event, CallMade):
            current.calls += 1
    yield current


def bound(stage: Stage, run: Path) -> float:
    """The least seconds a stage takes."""
    if stage.name == "aggregate" and stage.calls:
        return levels(run / "steps" / f"step_{stage.step:04d}" / "patches") * LATENCY
    return math.ceil(stage.calls / stage.workers) * LATENCY


def levels(folder: Path) -> int:
    """Merges that must follow one another: the deeper of two trees, then both together."""
    depths = []
    for kind in ("fail", "succ"):
        patches = [json.loads(path.read_text()) for path in folder.glob(f"minibatch_{kind}_*")]
        left, depth = sum(bool(patch["edits"]) for patch in patches), 0
        while left > 1:
            left, depth = math.ceil(left / MERGE), depth + 1
        if left:
            depths.append(depth)
    return max(depths, default=0) + (len(depths) == 2)


if __name__ == "__main__":
    main()
