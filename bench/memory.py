"""Peak memory of a run with 100 and with 10,000 tasks: `python bench/memory.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt_cli.testing import write_splits

FEW, MANY = 100, 10_000
MEGABYTE = 1 << 20
SLACK = 20 * MEGABYTE


def main() -> None:
    few, _ = measured(FEW)
    many, size = measured(MANY)
    allowed = 2 * size + SLACK
    growth = many - few
    print(f"peak with {FEW:>6} tasks  {few / MEGABYTE:.1f} MB")
    print(f"peak with {MANY:>6} tasks  {many / MEGABYTE:.1f} MB")
    print(f"task files             {size / MEGABYTE:.1f} MB")
    print(f"growth                 {growth / MEGABYTE:.1f} MB, ratio {growth / allowed:.2f}")
    print(f"target                 <= {allowed / MEGABYTE:.1f} MB (2 x task files + 20 MB)")
    sys.exit(growth > allowed)


def measured(n: int) -> tuple[int, int]:
    """Peak resident bytes of a run over `n` tasks in three steps, and the bytes of its tasks."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        write_splits(home / "tasks", train=n * 6 // 10, selection=n // 5, test=n // 5)
        size = sum(path.stat().st_size for path in (home / "tasks").rglob("items.json"))
        process = subprocess.Popen(command(n // 5), cwd=home, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"the run with {n} tasks ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * unit, size


def command(batch: int) -> list[str]:
    program = [sys.executable, "-c", "from skillopt_cli.cli.main import main; main()"]
    given = ["train", "searchqa", "--split-dir", "tasks", "--run-id", "run", "--display", "none"]
    settings = ["model.backend=simulated", "train.num_epochs=1", f"train.batch_size={batch}"]
    return [*program, *given, *(text for setting in settings for text in ("--set", setting))]


if __name__ == "__main__":
    main()
