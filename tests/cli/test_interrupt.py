"""Ctrl-C: the first lets calls in flight finish, the second stops at once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from command_line import TINY, calls, events, outcome, skillopt, train

PROGRAM = Path(sys.executable).with_name("skillopt")
SLOW = ("--set", "model.simulated.latency_ms=200", "--workers", "2")
STUCK = ("--set", "model.simulated.latency_ms=600000")
PATIENCE = 60


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A training in a process of its own."""
    argv = [str(PROGRAM), "train", "searchqa", *TINY, *arguments, "--run-id", "a"]
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        yield process, Path("outputs/searchqa/a")
    finally:
        process.kill()
        process.communicate()


def wait_for(folder: Path, kind: str, times: int = 1) -> None:
    """Until a fact stands in the log; the log is the only thing a second process sees."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if (folder / "events.jsonl").exists():
            lines = (folder / "events.jsonl").read_bytes().splitlines()
            if sum(f'"{kind}"'.encode() in line for line in lines) >= times:
                return
        time.sleep(0.02)
    raise AssertionError(f"no {kind} within {PATIENCE} s")


def journaled(folder: Path) -> int:
    place = f"file:{folder / 'journal.sqlite'}?mode=ro"
    with closing(sqlite3.connect(place, uri=True)) as journal:
        (count,) = journal.execute("SELECT count(*) FROM calls").fetchone()
    return int(count)


def test_the_first_lets_calls_finish_and_the_resumed_run_equals_an_uninterrupted_one() -> None:
    with started(*SLOW) as (process, folder):
        wait_for(folder, "rollout_finished", 6)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""
    assert "stopping: calls in flight may finish" in err
    assert f"hint: `skillopt resume {folder}` takes the run up again" in err
    assert "Traceback" not in err
    # Every call that was paid for is in the journal: none that was in flight is lost.
    assert journaled(folder) == calls(folder)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert (summary["status"], summary["exit_code"]) == ("interrupted", 130)

    ended = skillopt("resume", folder, "--set", "model.simulated.latency_ms=0", "--allow-drift")
    assert ended.code == 0, ended.err
    whole = train(*TINY, run_id="whole")
    assert outcome(folder) == outcome(whole)
    assert calls(folder) == calls(whole)


def test_the_second_stops_at_once() -> None:
    with started(*STUCK) as (process, folder):
        wait_for(folder, "run_started")
        process.send_signal(signal.SIGINT)
        for line in process.stderr or ():
            if line.startswith("stopping:"):
                break
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "stopped by the user" in err
    assert "Traceback" not in err
    assert events(folder, "run_failed")[0]["exit_code"] == 130


def test_a_kill_repeats_at_most_the_calls_in_flight() -> None:
    with started(*SLOW) as (process, folder):
        wait_for(folder, "rollout_finished", 5)
        process.kill()
        process.communicate()
    ended = skillopt("resume", folder, "--set", "model.simulated.latency_ms=0", "--allow-drift")
    assert ended.code == 0, ended.err
    whole = train(*TINY, run_id="whole")
    assert outcome(folder) == outcome(whole)
    assert calls(whole) <= calls(folder) <= calls(whole) + 2
