"""What a run of a million attempts costs to store and to take up: `bench/store_scale.py [N]`.

A journal takes N attempts of a real run, one commit each. Their facts, those of a training with
steps of a thousand attempts, take the place of the log of a small training that a cap has stopped,
which goes on with the step after them. The first new call is timed from the start of
`skillopt resume`. Pages are timed by processor time: each one on several new servers, that have
read the run's snapshot, and then again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from results import keep
from web_page import PLACES, asked, facts, written
from web_page import RUN as LONG

from skillopt_cli.core.events import CallMade, RunFinished, Stamped
from skillopt_cli.core.task import Task
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.snapshot import write_snapshot
from skillopt_cli.store.codec import dump_fact, load_fact
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.layout import EVENTS
from skillopt_cli.testing import write_splits

N, STEP = 1_000_000, 500
"""Attempts, and tasks of each of the two stages of a step."""
RECALLS = 10_000
PROGRAM = (sys.executable, "-c", "from skillopt_cli.cli.main import main; main()")
RUN = Path("outputs") / "searchqa" / "run"
MOST = {"first_call": 10.0, "memory": 500.0, "page_first_ms": 200.0}
"""Seconds, megabytes and milliseconds."""
Starts = tuple[dict[str, float], dict[str, float]]
STARTS = 5
"""Servers that are started for the first requests for their pages."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attempts", type=int, nargs="?", default=N)
    parser.add_argument("--keep", action="store_true", help="write the results file")
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        record = measured(Path(name), given.attempts)
    print(json.dumps(record, indent=1))
    if given.keep:
        keep("store", [record])
    sys.exit(any(record[key] > most for key, most in MOST.items()))


def measured(home: Path, attempts: int) -> dict[str, Any]:
    """The figures of a run with so many attempts."""
    write_splits(home / "tasks", train=40, selection=20, test=20)
    train = ["train", "searchqa", "--split-dir", "tasks", "--run-id", "run", "--display", "none"]
    # Two steps an epoch, none of which ends one before the call that is waited for.
    steps = attempts // (2 * STEP)
    epochs = f"train.num_epochs={steps // 2 + 2}"
    settings = ["model.backend=simulated", epochs, "train.batch_size=20"]
    command = [*train, *(word for each in settings for word in ("--set", each))]
    run_program(home, [*command, "--max-rollouts", "80"])
    folder = home / RUN
    stored = fill_journal(folder / "journal.sqlite", attempts)
    fill_log(folder, steps)
    # In a process of its own, since what this one holds counts as memory of those it starts.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        logged = pool.submit(fold_log, folder).result()
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        logged |= slowest_page([pool.submit(ask_pages, folder).result() for _ in range(STARTS)])
    # The run ends a few calls after its first one.
    caps = ["--max-rollouts", str(2 * attempts), "--max-calls", str(logged.pop("calls") + 40)]
    begun = time.time()
    memory = run_program(home, ["resume", str(RUN), *caps, "--display", "none"])
    first = next(f for f in new_facts(folder, logged["facts"]) if isinstance(f.event, CallMade))
    return {
        "attempts": attempts,
        **stored,
        "log_mb": (folder / EVENTS).stat().st_size >> 20,
        **logged,
        "first_call": round(first.time - begun, 1),
        "memory": memory,
    }


def fold_log(folder: Path) -> dict[str, Any]:
    """Fold a log from its start, write its snapshot and read that."""
    began = time.process_time()
    log = RunLog(folder).read()
    folding = time.process_time() - began
    began = time.process_time()
    write_snapshot(folder, log.view, log.facts, log.number)
    writing = time.process_time() - began
    began = time.process_time()
    assert RunLog(folder).read().view == log.view
    reading = time.process_time() - began
    return {
        "facts": log.facts,
        "calls": log.view.spent.calls,
        "folding_s": round(folding, 1),
        "snapshot_written_s": round(writing, 2),
        "snapshot_read_s": round(reading, 2),
    }


def slowest_page(starts: Sequence[Starts]) -> dict[str, Any]:
    """The slowest page of a run, at first and then: medians, and all first times."""
    first = {place: [start[0][place] for start in starts] for place in PLACES}
    return {
        "page_first_ms": max(map(median, first.values())),
        "page_ms": max(median(start[1][place] for start in starts) for place in PLACES),
        "page_first": first,
    }


def ask_pages(folder: Path) -> Starts:
    """Milliseconds of each page of a run, at first and then."""
    with TemporaryDirectory() as name:  # what any run takes, such as the modules
        written(Path(name), 4, 20)
        asked(Path(name), [f"{LONG}{place}" for place in PLACES])
    run = f"/runs/{folder.parent.name}/{folder.name}"
    _, first, later = asked(folder.parents[1], [f"{run}{place}" for place in PLACES])
    at_first, then = ({k.removeprefix(run): ms for k, ms in d.items()} for d in (first, later))
    return at_first, then


def run_program(home: Path, argv: list[str]) -> int:
    """Run the program to its end, stopped by a cap or not; the megabytes it took."""
    process = subprocess.Popen([*PROGRAM, *argv], cwd=home, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return used.ru_maxrss * unit >> 20


def fill_journal(path: Path, attempts: int) -> Mapping[str, Any]:
    """Copy the attempts that a journal holds under new keys, until it has that many more."""
    with Journal(path) as journal:
        rows = journal._db.execute("SELECT key, body FROM rollouts").fetchall()
        known = [journal.recall(key, Task("task", "", {})) for key, _ in rows]
        trajectories = [each for each in known if each is not None]
        began = time.perf_counter()
        for number in range(attempts):
            journal.remember(f"{number:064d}", trajectories[number % len(trajectories)])
        inserting = time.perf_counter() - began
        dice = random.Random(1)
        keys = [f"{dice.randrange(attempts):064d}" for _ in range(RECALLS)]
        began = time.perf_counter()
        for key in keys:
            assert journal.recall(key, Task("task", "", {})) is not None
        recalling = time.perf_counter() - began
    return {
        "insert_us": round(1e6 * inserting / attempts),
        "recall_us": round(1e6 * recalling / RECALLS),
        "journal_mb": path.stat().st_size >> 20,
    }


def fill_log(folder: Path, steps: int) -> None:
    """Replace the log by that of a long training, whose next step is now the run's."""
    with (folder / EVENTS).open("w", encoding="utf-8") as log:
        for number, event in enumerate(facts(steps, STEP), 1):
            if not isinstance(event, RunFinished):
                log.write(dump_fact(Stamped(number, 1.7e9 + number / 1000, event)) + "\n")
    state = folder / "state.json"
    document = json.loads(state.read_text(encoding="utf-8"))
    document["state"]["done"] = steps
    state.write_text(json.dumps(document), encoding="utf-8")


def new_facts(folder: Path, before: int) -> Iterator[Stamped]:
    with (folder / EVENTS).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number >= before:
                yield load_fact(line)


if __name__ == "__main__":
    main()
