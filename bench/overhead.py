"""The program's own CPU time per rollout: `python bench/overhead.py`.

The simulated models take no time to answer, so all there is to measure is the engine, its files and
the models' few lines; the optimizer's calls are counted in. Reading tasks and imports are not.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt_cli.compose.build import open_session
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.events import RolloutFinished, Stamped
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import train_session
from skillopt_cli.testing import write_splits

TARGET_MS = 3.0


def main() -> None:
    rollouts = 0

    def count(fact: Stamped) -> None:
        nonlocal rollouts
        rollouts += isinstance(fact.event, RolloutFinished) and not fact.event.recalled

    with TemporaryDirectory() as folder:
        home = Path(folder)
        write_splits(home / "tasks", train=400, selection=200, test=100)
        assignments = ("model.backend=simulated", "train.num_epochs=2", "run.workers=24")
        flags = {"env.split_dir": str(home / "tasks")}
        overrides = Overrides("searchqa", flags=flags, assignments=assignments)
        request = RunRequest(settle(overrides, {}).config, {}, [Subscriber("count", count)])
        (home / "run").mkdir()
        with open_session(home / "run", request) as (session, _):
            wall, cpu = time.perf_counter(), time.process_time()
            asyncio.run(train_session(session))
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    each = 1000 * cpu / rollouts
    print(f"rollouts         {rollouts}")
    print(f"CPU              {cpu:.2f} s (wall {wall:.2f} s)")
    print(f"CPU per rollout  {each:.2f} ms, ratio to target {each / TARGET_MS:.2f}")
    print(f"target           < {TARGET_MS:g} ms")
    sys.exit(each >= TARGET_MS)


if __name__ == "__main__":
    main()
