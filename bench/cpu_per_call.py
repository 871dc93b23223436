"""CPU time per model call beside that of the bare SDK: `python bench/cpu_per_call.py`.

A training asks a model server on the loopback, which is a process of its own. The bare SDK then
asks the same server with the same bodies, as many at a time. Each measurement is a new process that
counts its CPU time between its first and its last call; the order changes from round to round.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from results import keep

from skillopt_cli.compose.build import open_session
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.engine.session import train_session
from skillopt_cli.testing import run_model_server, write_splits

AT_ONCE = 24
LATENCY_MS = 50
ROUNDS = 3
ALLOWANCE_MS = 1.5
BARE = ("httpx", "aiohttp", "aiohttp + uvloop")


def main() -> None:
    if len(sys.argv) > 2:
        print(json.dumps(measured(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
        return
    each: dict[str, list[float]] = {}
    with TemporaryDirectory() as name, run_model_server(latency_ms=LATENCY_MS) as server:
        home = Path(name)
        write_splits(home / "tasks", train=80, selection=40, test=60)
        for number in range(ROUNDS):
            for system in ("skillopt", *BARE[:: -1 if number % 2 else 1]):
                server.reset()
                argv = [sys.executable, __file__, system, server.url, str(home)]
                done = subprocess.run(argv, check=True, capture_output=True, text=True)
                found = json.loads(done.stdout.splitlines()[-1])
                each.setdefault(system, []).append(1000 * found["cpu"] / found["calls"])
                if system == "skillopt":
                    (home / "bodies.json").write_text(json.dumps(server.bodies()))
    if sys.argv[1:] == ["--keep"]:
        keep("cpu_per_call", [{"system": k, "ms": rounded(v)} for k, v in each.items()])
    report(each)


def rounded(values: list[float]) -> list[float]:
    return [round(value, 2) for value in sorted(values)]


def report(each: dict[str, list[float]]) -> None:
    print("CPU per call in ms      median     least      most")
    for system, values in each.items():
        figures = (statistics.median(values), min(values), max(values))
        print(f"{system:20}" + "".join(f"{value:10.2f}" for value in figures))
    own = statistics.median(each["skillopt"]) - statistics.median(each[BARE[0]])
    print(f"above the bare SDK over httpx {own:.2f}, target < {ALLOWANCE_MS}")
    sys.exit(own >= ALLOWANCE_MS)


def measured(system: str, url: str, home: Path) -> dict[str, float]:
    """Calls and CPU seconds of one system."""
    if system == "skillopt":
        return trained(url, home)
    bodies = json.loads((home / "bodies.json").read_text())
    if "uvloop" in system:
        import uvloop

        return uvloop.run(bare(url, bodies, aiohttp=True))
    return asyncio.run(bare(url, bodies, aiohttp="aiohttp" in system))


def trained(url: str, home: Path) -> dict[str, float]:
    assignments = {
        "model.backend": "openai_compatible",
        "model.base_url": url,
        "model.target.name": "simulated",
        "model.optimizer.name": "simulated",
        "train.num_epochs": 4,
        "train.batch_size": 20,
        "gradient.analyst_workers": AT_ONCE,
        "run.workers": AT_ONCE,
        "run.max_concurrency": AT_ONCE,
    }
    overrides = Overrides(
        "searchqa",
        flags={"env.split_dir": str(home / "tasks")},
        assignments=tuple(f"{key}={value}" for key, value in assignments.items()),
    )
    request = RunRequest(settle(overrides, {}).config, {}, [])
    with TemporaryDirectory() as folder, open_session(Path(folder), request) as (session, _):
        cpu = time.process_time()
        asyncio.run(train_session(session))
        cpu = time.process_time() - cpu
        events = (Path(folder) / "events.jsonl").read_text().splitlines()
    calls = sum(json.loads(line)["event"]["kind"] == "call_made" for line in events)
    return {"calls": calls, "cpu": cpu}


async def bare(url: str, bodies: list[dict[str, Any]], *, aiohttp: bool) -> dict[str, float]:
    import openai

    client_of: Callable[[], Any] = (
        openai.DefaultAioHttpClient if aiohttp else openai.DefaultAsyncHttpxClient
    )
    async with openai.AsyncOpenAI(
        api_key="no-key", base_url=url, max_retries=0, http_client=client_of()
    ) as client:
        waiting = iter(bodies[1:])

        async def work(some: Iterable[dict[str, Any]]) -> None:
            for body in some:
                await client.chat.completions.create(**body)

        # The first call makes what all calls share.
        await work(bodies[:1])
        cpu = time.process_time()
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work(waiting))
        return {"calls": len(bodies) - 1, "cpu": time.process_time() - cpu}


if __name__ == "__main__":
    main()
