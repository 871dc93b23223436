"""The systems that are compared: a run of each in a world, and what it came to."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from local_server import serving

from simulation.server import Disturbance, WorldService
from simulation.waits import waits
from simulation.world import SEED_SKILL, WORLDS, World
from skillopt_cli.runlog.history import VOLATILE

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 24
PRESETS: Mapping[str, Sequence[str]] = {
    "default": (),
    "quick": (),
    # The published runs had sixteen steps; batches of the split's half would give them eight.
    "paper": ("train.batch_size=20",),
}
"""The presets that are compared, each with settings of its own."""
GEPA: Mapping[str, int] = {"gepa": 3, "gepa_16": 16}
"""GEPA, with so many tasks in a reflection; 3 is its default."""
SYSTEMS = (*PRESETS, *GEPA)


@dataclass(frozen=True, slots=True)
class Run:
    """A run to be made: a system in a world of one seed, in a folder.

    Attributes:
        address: of the server.
        budget: target calls, for systems without a schedule of their own.
    """

    world: str
    system: str
    seed: int
    folder: Path
    address: str
    budget: int = 0

    @property
    def url(self) -> str:
        """The server's address for this run."""
        return f"{self.address}/{self.world}/{self.seed}/{self.folder.name}"


def server(latency: float, disturbance: Disturbance | None = None) -> AbstractContextManager[str]:
    """The address of a server of the worlds that runs while the block lasts.

    Args:
        latency: milliseconds of a call.
    """
    return serving(WorldService, latency / 1000, disturbance)


def write_tasks(folder: Path, world: World) -> None:
    """Write the splits, as the benchmark `folder` reads them, and the seed skill."""
    for split, items in world.items.items():
        rows = [
            {"id": item.id, "question": item.question, "answer": world.value(item)}
            for item in items
        ]
        path = folder / split / "items.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (folder / "seed.md").write_text(SEED_SKILL, encoding="utf-8")


def perform(run: Run) -> dict[str, Any]:
    """Make a run, and return its results: the record of the results file."""
    world = World(WORLDS[run.world], run.seed)
    run.folder.mkdir(parents=True, exist_ok=True)
    write_tasks(run.folder / "tasks", world)
    begun = time.monotonic()
    done = subprocess.run(
        gepa_command(run) if run.system in GEPA else train_command(run),
        cwd=run.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - begun
    (run.folder / "output.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"{run.system} in {run.folder} ended with {done.returncode}")
    counts = counts_of(run)
    skill = best_skill(run)
    return {
        "world": run.world,
        "system": run.system,
        "seed": run.seed,
        "accuracy": round(world.accuracy(skill), 4),
        "before": round(world.accuracy(SEED_SKILL), 4),
        "ceiling": round(world.ceiling, 4),
        **world.kept(skill),
        "target_calls": _sum(counts, "target "),
        "test_calls": counts["target test"],
        "optimizer_calls": _sum(counts, "optimizer "),
        "tokens": counts["prompt_tokens"] + counts["completion_tokens"],
        "waits": _waits(run),
        "seconds": round(seconds, 1),
    }


def best_skill(run: Run) -> str:
    """The text that a run ended with."""
    path = run.folder / ("best.md" if run.system in GEPA else "outputs/folder/run/best_skill.md")
    return path.read_text(encoding="utf-8")


def repeated(run: Run) -> str:
    """Make a run of this program again, and describe in which files its result differs."""
    again = replace(run, folder=run.folder.with_name(f"{run.folder.name}-again"))
    perform(again)
    outcomes = [outcome(each.folder / "outputs" / "folder" / "run") for each in (run, again)]
    differ = [name for name in outcomes[0] if outcomes[0][name] != outcomes[1][name]]
    return f"differs in {', '.join(differ)}" if differ else "the same skill and decisions"


def outcome(folder: Path) -> dict[str, Any]:
    """The skills of a run, and its history without times and tokens."""
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    kept = [{k: v for k, v in step.items() if k not in VOLATILE} for step in history]
    skills = sorted((folder / "skills").glob("*.md"))
    return {
        "best_skill.md": (folder / "best_skill.md").read_bytes(),
        "history.json": kept,
        "skills": [path.read_bytes() for path in skills],
    }


def train_command(run: Run) -> list[str]:
    """The command line of a run of this program."""
    settings = (
        "model.backend=openai_compatible",
        f"model.base_url={run.url}/v1",
        "model.target.name=target",
        "model.optimizer.name=optimizer",
        f"train.seed={run.seed}",
        f"run.workers={WORKERS}",
        f"gradient.analyst_workers={WORKERS}",
        "env.skill_init=tasks/seed.md",
        "env.out_root=outputs",
        *PRESETS[run.system],
    )
    program = [sys.executable, "-c", "from skillopt_cli.cli.main import main; main()"]
    given = ["train", "folder", "--preset", run.system, "--split-dir", "tasks", "--run-id", "run"]
    named = [word for setting in settings for word in ("--set", setting)]
    return [*program, *given, "--display", "none", *named]


def gepa_command(run: Run) -> list[str]:
    """The command line of a run of GEPA."""
    program = str(Path(__file__).with_name("gepa_run.py"))
    numbers = (run.seed, run.budget, GEPA[run.system])
    return [sys.executable, program, run.url, *map(str, numbers)]


def has_preset(name: str) -> bool:
    """Whether this program has a preset."""
    return (ROOT / "configs" / "presets" / f"{name}.yaml").is_file()


def _waits(run: Run) -> int:
    if run.system in GEPA:
        return int((run.folder / "waits.txt").read_text(encoding="utf-8"))
    return waits(run.folder / "outputs" / "folder" / "run")


def _sum(counts: Mapping[str, int], prefix: str) -> int:
    return sum(count for name, count in counts.items() if name.startswith(prefix))


def counts_of(run: Run) -> Counter[str]:
    """What the server was asked by a run: kinds of calls, and tokens."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"{run.url}/counts", timeout=10) as response:
        return Counter(json.load(response))
