"""Every benchmark is trained offline on its sample, and taken up again after a kill."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import skillopt

from skillopt_cli.plugins import BENCHMARKS, load_benchmark, names

OURS = sorted(set(names(BENCHMARKS)) - {"folder"})
WORKERS = 2
DISPLAY = ("--display", "none")
TINY = ("--preset", "tiny", "--target-backend", "simulated", *DISPLAY)
ONE_STEP = (
    *(*TINY, "--epochs", "1", "--batch-size", "2", "--set", "train.train_size=2"),
    *("--set", "evaluation.sel_env_num=2", "--set", "evaluation.test_env_num=2"),
)
STARTS_PROGRAMS = {"alfworld", "spreadsheetbench", "swebench"}
"""Their attempts start programs, so that a training of four steps takes long."""
WHOLE = ("--set", f"run.workers={WORKERS}", "--set", "evaluation.early_reject=false")
SLOWED = ("--set", "model.simulated.latency_ms=150")
QUICK = ("--set", "model.simulated.latency_ms=0", "--allow-drift")
PROGRAM = (sys.executable, "-c", "from skillopt_cli.cli.main import main; main()")


def present(name: str) -> str:
    """The name; skipped where its packages are missing."""
    if missing := load_benchmark(name).missing():
        pytest.skip(f"{name} needs {missing}")
    return name


def events(folder: Path, *kinds: str) -> list[dict[str, Any]]:
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    facts = [json.loads(line)["event"] for line in lines]
    return [fact for fact in facts if fact["kind"] in kinds]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        *(pytest.param(name, ONE_STEP, id=f"{name}-one step") for name in sorted(STARTS_PROGRAMS)),
        *(
            pytest.param(
                *(name, TINY),
                id=name,
                marks=pytest.mark.slow if name in STARTS_PROGRAMS else (),
            )
            for name in OURS
        ),
    ],
)
def test_it_trains_offline_on_its_sample(name: str, sizes: tuple[str, ...]) -> None:
    done = skillopt("train", present(name), *sizes, "--run-id", "a")
    assert done.code == 0, done.err
    folder = Path("outputs", name, "a")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["status"] == "finished"
    assert summary["broken"]["total"] == 0
    rollouts = events(folder, "rollout_finished")
    assert {fact["stage"] for fact in rollouts} >= {"rollout", "measure", "test"}
    assert all(fact["hard"] is not None for fact in rollouts)
    calls = {fact["role"] for fact in events(folder, "call_made")}
    judged = {"judge"} if load_benchmark(name).judged else set()
    planned = skillopt("plan", name, *(word for word in sizes if word not in DISPLAY), "--json")
    plan = planned.json["calls"]
    made = len(events(folder, "call_made"))
    assert plan["low"] <= made <= plan["high"], plan
    assert calls >= {"target", "optimizer"}
    assert calls - judged == {"target", "optimizer"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_a_run_killed_in_a_batch_is_taken_up_task_by_task(name: str) -> None:
    args = ("train", present(name), *TINY, *WHOLE)
    done = skillopt(*args, "--run-id", "whole")
    assert done.code == 0, done.err
    whole, killed = (Path("outputs", name, run_id) for run_id in ("whole", "killed"))
    made = len(events(whole, "call_made"))
    lives = 0
    for share in (0.2, 0.6):
        resumed = ("resume", str(killed), *DISPLAY)
        command = resumed if killed.exists() else (*args, *SLOWED, "--run-id", "killed")
        lives += kill_after(killed, command, int(share * made))
    done = skillopt("resume", str(killed), *QUICK, *DISPLAY)
    assert done.code == 0, done.err
    assert (killed / "best_skill.md").read_bytes() == (whole / "best_skill.md").read_bytes()
    assert scores(killed) == scores(whole)
    assert journal(killed) == journal(whole)
    # The first checks of each life, and what was in flight at each death.
    checks = len([fact for fact in events(killed, "call_made") if fact["stage"] == "preflight"])
    first = len([fact for fact in events(whole, "call_made") if fact["stage"] == "preflight"])
    again = len(events(killed, "call_made")) - made - (checks - first)
    assert 0 <= again <= lives * (WORKERS + 1)
    assert lives == 2


def kill_after(folder: Path, command: tuple[str, ...], calls: int) -> int:
    """Kill the run once that many calls were answered over all its lives; whether it was alive."""
    process = subprocess.Popen([*PROGRAM, *command], stdout=subprocess.DEVNULL)
    log = folder / "events.jsonl"
    try:
        while process.poll() is None:
            if log.exists() and log.read_bytes().count(b'"kind":"call_made"') >= calls:
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.002)
        process.wait()
    finally:
        process.kill()
        process.wait()
    return int(process.returncode == -signal.SIGKILL)


def scores(folder: Path) -> list[tuple[object, ...]]:
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    steps = [(step["step"], step["action"], step["current_score"]) for step in history]
    tests = {
        (fact["label"], fact["hard"], fact["soft"]) for fact in events(folder, "test_measured")
    }
    return [*steps, *sorted(tests)]


def journal(folder: Path) -> set[str]:
    db = sqlite3.connect(folder / "journal.sqlite")
    try:
        return {key for (key,) in db.execute("SELECT key FROM calls")}
    finally:
        db.close()
