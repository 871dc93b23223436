"""What attempts over Ray take: `python bench/ray_scale.py [--keep]`, twelve minutes.

A cluster of this machine alone makes attempts of a stub agent, which sleeps and answers. `ratio`
is the ideal of the workers, each of which makes one attempt after the other without a pause, over
what was measured; it must be 0.9. `grown` is the driver's memory at the end beside that after a
fifth of the attempts, and must be at most 16 MB. The chat attempts, whose models are simulated
within the driver and without latency, show what an attempt and a call take of it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent))

from results import keep

from skillopt_cli.testing import write_splits

ATTEMPTS, WORKERS, SECONDS = 5_000, 16, 2.0
CHATS, CHAT_WORKERS = 2_000, 4
LEAST_RATIO, MOST_GROWN = 0.9, 16
_PROGRAM = (sys.executable, "-c", "from skillopt_cli.cli.main import main; main()")
_TICK = 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="write the results file")
    given = parser.parse_args()
    stub = attempts_of_a_stub(ATTEMPTS, WORKERS, SECONDS)
    print(stub, flush=True)
    chats = [chat_attempts(CHATS, CHAT_WORKERS, on) for on in ("ray", "auto")]
    print(*chats, sep="\n", flush=True)
    if given.keep:
        keep("ray_scale", [stub, *chats])
    sys.exit(stub["ratio"] < LEAST_RATIO or stub["grown"] > MOST_GROWN)


def attempts_of_a_stub(attempts: int, workers: int, seconds: float) -> dict[str, Any]:
    """The figures of attempts by a program that sleeps."""
    stub = ["/bin/sh", "-c", f"sleep {seconds}; echo '<answer>nobody</answer>'"]
    settings = [f"model.command.argv={json.dumps(stub)}", "run.ray.isolation=local"]
    record = measured("command", attempts, workers, "ray", settings)
    ideal = attempts * seconds / workers
    return {**record, "seconds": seconds, "ratio": round(ideal / record["wall"], 3)}


def chat_attempts(attempts: int, workers: int, executor: str) -> dict[str, Any]:
    """The figures of attempts that are one call of a simulated model, on Ray or without."""
    return measured("simulated", attempts, workers, executor, [])


def measured(
    target: str, attempts: int, workers: int, executor: str, settings: Sequence[str]
) -> dict[str, Any]:
    """The figures of an evaluation, of the driver alone."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        write_splits(home / "tasks", train=1, selection=1, test=attempts)
        (home / "seed.md").write_text("# Skill\n\nAnswer briefly.\n", encoding="utf-8")
        given = ["eval", "searchqa", "--skill", "seed.md", "--split-dir", "tasks"]
        given += ["--split", "test", "--run-id", "run", "--display", "none"]
        given += ["--target-backend", target, "--executor", executor, "--workers", str(workers)]
        words = [f"run.max_concurrency={workers}", "run.ray.cpus=0", "run.ray.memory_mb=1"]
        given += [word for text in (*words, *settings) for word in ("--set", text)]
        process = subprocess.Popen([*_PROGRAM, *given], cwd=home, stdout=subprocess.DEVNULL)
        run = home / "outputs" / "searchqa" / "run"
        samples = Samples(process.pid, run / "events.jsonl")
        if process.wait():
            sys.exit(f"the run ended with {process.returncode}")
        used = samples.taken()
        begun, ended, scored = _stage(run / "events.jsonl")
        if scored != attempts:
            sys.exit(f"{scored} of {attempts} attempts were scored")
        return {
            "target": target,
            "executor": executor,
            "attempts": attempts,
            "workers": workers,
            "wall": round(ended - begun, 2),
            "cpu_ms": round(1000 * used.cpu_after(begun) / attempts, 2),
            "memory": used.memory[-1][1] >> 20,
            "grown": used.grown(begun, ended),
            "journal": (run / "journal.sqlite").stat().st_size // attempts,
            "events": (run / "events.jsonl").stat().st_size // attempts,
            "copies": sum(file.stat().st_size for file in run.rglob("*/*.json")) // attempts,
        }


class Samples:
    """CPU time and memory of a process while it runs: of itself, without its children."""

    def __init__(self, pid: int, events: Path) -> None:
        self.memory: list[tuple[float, int]] = []
        self.cpu: list[tuple[float, float]] = []
        self._thread = threading.Thread(target=self._take, args=(psutil.Process(pid),))
        self._thread.start()

    def taken(self) -> Samples:
        self._thread.join()
        return self

    def cpu_after(self, moment: float) -> float:
        """Seconds of CPU since a moment."""
        return self.cpu[-1][1] - next(used for at, used in self.cpu if at >= moment)

    def grown(self, begun: float, ended: float) -> int:
        """Megabytes that came after the first fifth of a stretch."""
        fifth = begun + (ended - begun) / 5
        then = [size for at, size in self.memory if fifth <= at <= ended]
        return (max(then) - then[0]) >> 20 if then else 0

    def _take(self, process: psutil.Process) -> None:
        try:
            while True:
                used, at = process.cpu_times(), time.time()
                if not (size := process.memory_info().rss):
                    return  # it has ended, and nobody has waited for it yet
                self.memory.append((at, size))
                self.cpu.append((at, used.user + used.system))
                time.sleep(_TICK)
        except psutil.Error:
            return


def _facts(events: Path) -> Iterator[dict[str, Any]]:
    with events.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _stage(events: Path) -> tuple[float, float, int]:
    """When the attempts began and ended, in seconds since 1970, and how many were scored."""
    begun = ended = 0.0
    scored = 0
    for fact in _facts(events):
        kind, at = fact["event"]["kind"], fact["time"]
        if kind == "stage_started":
            begun = at
        elif kind == "rollout_finished":
            ended, scored = at, scored + (fact["event"]["hard"] is not None)
    return begun, ended, scored


if __name__ == "__main__":
    main()
