"""Wall time of trainings beside their dependency schedule: `python bench/wall.py [CASE ...]`.

The models are a server on the loopback, in a process of its own, that answers every call after the
same time. The schedule is worked out from the run's own calls: those of a stage, so many at a time,
begin when the stage before it has ended; the levels of a merge tree follow one another. Beside it
the bare SDK makes as many calls in the same order, which shows what of the difference is the SDK's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from simulation.systems import Run, server, train_command, write_tasks
from simulation.waits import levels
from simulation.world import LARGE, WORLDS, World

from skillopt_cli.core.events import (
    CallMade,
    RolloutFinished,
    RunFinished,
    RunStarted,
    StageFinished,
    StageStarted,
    Stamped,
)
from skillopt_cli.store.codec import load_fact

RESULTS = Path(__file__).parents[1] / "docs" / "images" / "wall.json"
TARGET = 1.05
TEXT = "An instruction of a usual length. " * 30


@dataclass(frozen=True, slots=True)
class Case:
    """Conditions of trainings.

    Attributes:
        latency: seconds that each call takes.
        workers: calls in flight, of each role.
        settings: of the training, besides those of the preset.
    """

    name: str
    world: str
    latency: float
    workers: int
    settings: Sequence[str] = ()


CASES = (
    Case("small", "base", 0.2, 24),
    Case("large", "large", 2.0, 200, ("train.num_epochs=2", "train.batch_size=500")),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a run: its calls, and the seconds until its end since that of the one before.

    Attributes:
        rounds: calls that follow one another, however many are made at a time.
        least: seconds in the schedule.
    """

    name: str
    calls: int
    seconds: float
    rounds: int
    least: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="small, large; all unless given")
    parser.add_argument("--presets", nargs="+", default=["paper", "default"])
    parser.add_argument("--seeds", type=int, default=3, help="runs of each")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    given = parser.parse_args()
    rows = []
    for case in CASES:
        if given.cases and case.name not in given.cases:
            continue
        with server(1000 * case.latency) as address:
            for preset in given.presets:
                runs = [measured(case, preset, seed, address) for seed in range(given.seeds)]
                rows.append({**asdict(case), "preset": preset, "runs": runs})
                report(case, preset, runs)
    if given.write:
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    ratios = [statistics.median(run["ratio"] for run in row["runs"]) for row in rows]
    sys.exit(max(ratios) > TARGET)


def measured(case: Case, preset: str, seed: int, address: str) -> dict[str, Any]:
    """The figures of one training."""
    with TemporaryDirectory() as name:
        run = Run(case.world, preset, seed, Path(name) / "run", address)
        run.folder.mkdir()
        settings = LARGE if case.world == LARGE.name else WORLDS[case.world]
        write_tasks(run.folder / "tasks", World(settings, seed))
        begun = time.monotonic()
        process = subprocess.Popen(command(run, case), cwd=run.folder, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        total = time.monotonic() - begun
        if process.returncode:
            raise RuntimeError(f"{preset} ended with {process.returncode}")
        folder = run.folder / "outputs" / "folder" / "run"
        lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
        facts = [load_fact(line) for line in lines]
        found = list(stages(facts, folder, case))
    times = {type(fact.event): fact.time for fact in facts}
    wall, least = times[RunFinished] - times[RunStarted], sum(stage.least for stage in found)
    calls = sum(isinstance(fact.event, CallMade) for fact in facts)
    bare = asyncio.run(bare_seconds(found, case, run.url))
    return {
        "seed": seed,
        "calls": calls,
        "wall": round(wall, 2),
        "schedule": round(least, 2),
        "ratio": round(wall / least, 3),
        "bare": round(bare, 2),
        "process": round(total, 2),
        "cpu": round(used.ru_utime + used.ru_stime, 2),
        "stages": by_name(found),
    }


async def bare_seconds(found: Sequence[Stage], case: Case, url: str) -> float:
    """The seconds that the bare SDK takes for the calls of a run's stages, one after the other.

    The calls of a stage are shared by the workers, or by as many as its rounds leave for each.
    """
    import openai

    messages = [{"role": "system", "content": TEXT}, {"role": "user", "content": TEXT}]
    async with openai.AsyncOpenAI(
        api_key="no-key",
        base_url=f"{url}/v1",
        max_retries=0,
        http_client=openai.DefaultAioHttpClient(),
    ) as client:

        async def work(some: Iterator[int]) -> None:
            for _ in some:
                await client.chat.completions.create(model="target", messages=messages)

        begun = time.monotonic()
        for stage in found:
            if stage.calls:
                waiting = iter(range(stage.calls))
                workers = min(case.workers, math.ceil(stage.calls / max(1, stage.rounds)))
                async with asyncio.TaskGroup() as group:
                    for _ in range(workers):
                        group.create_task(work(waiting))
        return time.monotonic() - begun


def by_name(found: Sequence[Stage]) -> dict[str, dict[str, float]]:
    """The sums over all stages of a name."""
    sums: dict[str, dict[str, float]] = {}
    for stage in found:
        row = sums.setdefault(stage.name, {"times": 0, "calls": 0, "seconds": 0.0, "schedule": 0.0})
        row["times"] += 1
        row["calls"] += stage.calls
        row["seconds"] = round(row["seconds"] + stage.seconds, 2)
        row["schedule"] = round(row["schedule"] + stage.least, 2)
    return sums


def report(case: Case, preset: str, runs: Sequence[Mapping[str, Any]]) -> None:
    """Print the figures of a row, and where the seconds of its first run went."""
    print(f"{case.name}: {case.workers} workers, {1000 * case.latency:.0f} ms, preset {preset}")
    for run in runs:
        each = 1000 * run["cpu"] / run["calls"]
        print(
            f"  seed {run['seed']}: {run['calls']} calls, wall {run['wall']:.1f} s, schedule"
            f" {run['schedule']:.1f} s, ratio {run['ratio']:.3f}, bare SDK"
            f" {run['bare'] / run['schedule']:.3f}, CPU {run['cpu']:.1f} s"
            f" ({each:.1f} ms a call)"
        )
    for name, row in runs[0]["stages"].items():
        over = row["seconds"] - row["schedule"]
        print(
            f"  {name:12}{row['times']:5} x{row['calls']:7} calls{row['seconds']:8.2f} s,"
            f" schedule {row['schedule']:6.2f}, above {over:6.2f}"
        )
    ratio = statistics.median(run["ratio"] for run in runs)
    print(f"  median ratio {ratio:.3f}, target <= {TARGET}", flush=True)


def command(run: Run, case: Case) -> list[str]:
    """The command line of a training."""
    settings = (
        f"run.workers={case.workers}",
        f"run.max_concurrency={case.workers}",
        f"gradient.analyst_workers={case.workers}",
        *case.settings,
    )
    return [*train_command(run), *(word for each in settings for word in ("--set", each))]


def stages(facts: Sequence[Stamped], folder: Path, case: Case) -> Iterator[Stage]:
    """The stages in the order of their ends, the check of the models first.

    Calls to the optimizer that belong to no stage, or to one in which the target attempts tasks,
    follow one another.
    """
    last = next(f.time for f in facts if isinstance(f.event, RunStarted))
    made: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for fact in facts:
        event = fact.event
        if isinstance(event, RolloutFinished) and not event.recalled:
            made[event.stage] += 1
        elif isinstance(event, CallMade) and event.role == "optimizer":
            asked[event.stage] += 1
        elif isinstance(event, StageStarted) and "preflight" in asked:
            del asked["preflight"]
            yield Stage("preflight", 2, fact.time - last, 2, 2 * case.latency)
            last = fact.time
        elif isinstance(event, StageFinished):
            attempts, questions = made.pop(event.stage, 0), asked.pop(event.stage, 0)
            rounds = math.ceil(attempts / case.workers) + math.ceil(questions / case.workers)
            if event.stage == "aggregate" and questions:
                rounds = levels(folder / "steps" / f"step_{event.step:04d}" / "patches")
            calls = attempts + questions
            yield Stage(event.stage, calls, fact.time - last, rounds, rounds * case.latency)
            last = fact.time
        elif isinstance(event, RunFinished):
            left = sum(asked.values())
            yield Stage("end", left, fact.time - last, left, left * case.latency)


if __name__ == "__main__":
    main()
