"""What a training of three steps takes with 100 to 20,000 tasks: `python bench/scale.py`.

The models are simulated, within the process and without latency: all of it is the program's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from results import keep

from skillopt_cli.testing import write_splits

SIZES = (100, 1_000, 5_000, 20_000)
MOST_MEMORY = 400
"""Megabytes."""
MOST_GROWTH = 1.5
"""CPU time per task with 20,000 tasks beside that with 1,000, without the start."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, metavar="TASKS")
    parser.add_argument("--keep", action="store_true", help="write the results file")
    given = parser.parse_args()
    records = []
    for tasks in given.sizes:
        records.append(measured(tasks))
        print(records[-1], flush=True)
    if given.keep:
        keep("scale", records)
    by_size = {record["tasks"]: record["cpu"] for record in records}
    missed = max(record["memory"] for record in records) > MOST_MEMORY
    if set(SIZES) <= set(by_size):
        start = by_size[100]
        few, many = ((by_size[n] - start) / (n - 100) for n in (1_000, 20_000))
        missed |= many > MOST_GROWTH * few
    sys.exit(missed)


def measured(tasks: int) -> dict[str, Any]:
    """The figures of a run: 60 % of its tasks train, 20 % select, 20 % test."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        write_splits(home / "tasks", train=tasks * 6 // 10, selection=tasks // 5, test=tasks // 5)
        begun = time.monotonic()
        process = subprocess.Popen(command(tasks // 5), cwd=home, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begun
    if process.returncode:
        sys.exit(f"the run with {tasks} tasks ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "tasks": tasks,
        "wall": round(wall, 2),
        "cpu": round(used.ru_utime + used.ru_stime, 2),
        "memory": used.ru_maxrss * unit >> 20,
    }


def command(batch: int) -> list[str]:
    program = [sys.executable, "-c", "from skillopt_cli.cli.main import main; main()"]
    given = ["train", "searchqa", "--split-dir", "tasks", "--run-id", "run", "--display", "none"]
    settings = ["model.backend=simulated", "train.num_epochs=1", f"train.batch_size={batch}"]
    return [*program, *given, *(text for setting in settings for text in ("--set", setting))]


if __name__ == "__main__":
    main()
