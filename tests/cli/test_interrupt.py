"""Signals: the first lets calls in flight finish, the second stops at once."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from command_line import TINY, calls, events, finished_run, outcome, skillopt

from skillopt_cli.compose.settings import Overrides
from skillopt_cli.sweeps.grid import read_grid
from skillopt_cli.sweeps.trials import TrialFactory

PROGRAM = Path(sys.executable).with_name("skillopt")
SLOW = ("--set", "model.simulated.latency_ms=500", "--workers", "2")
STUCK = ("--set", "model.simulated.latency_ms=600000")
PATIENCE = 600


GRID = """\
benchmark: searchqa
preset: tiny
fixed: {model.simulated.latency_ms: 500, run.workers: 2}
grid: {optimizer.learning_rate: [1, 4]}
"""
TRAIN = ("train", "searchqa")
FAST = ("--set", "model.simulated.latency_ms=0", "--allow-drift")
STOPS = {
    "ctrl-c": (signal.SIGINT,),
    "service": (signal.SIGTERM,),
    # The system sends one, and the shell another.
    "terminal": (signal.SIGHUP, signal.SIGHUP),
}
EACH = [name if name == "ctrl-c" else pytest.param(name, marks=pytest.mark.slow) for name in STOPS]

pytestmark = pytest.mark.usefixtures("terminal")


@contextmanager
def started(
    *arguments: str, command: Sequence[str] = TRAIN
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A training in a process of its own, or another command."""
    argv = [str(PROGRAM), *command, *TINY, *arguments, "--run-id", "a"]
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        yield process, Path("outputs/searchqa/a")
    finally:
        process.kill()
        process.communicate()


def wait_for(
    folder: Path, kind: str, times: int = 1, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Until a fact stands in the log; the log is the only thing a second process sees."""
    until = time.monotonic() + PATIENCE
    while len(events(folder, kind)) < times:
        assert time.monotonic() < until, f"no {kind} within {PATIENCE} s"
        meanwhile()
        time.sleep(0.02)


def journaled(folder: Path) -> int:
    place = f"file:{folder / 'journal.sqlite'}?mode=ro"
    with closing(sqlite3.connect(place, uri=True)) as journal:
        (count,) = journal.execute("SELECT count(*) FROM calls").fetchone()
    return int(count)


def stopped_by(process: subprocess.Popen[str], signals: Sequence[signal.Signals]) -> str:
    """End a process; what it said on standard error."""
    for number in signals:
        process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    return err


@pytest.mark.parametrize("stop", EACH)
def test_the_first_lets_calls_finish_and_the_resumed_run_equals_an_uninterrupted_one(
    stop: str,
) -> None:
    with started(*SLOW) as (process, folder):
        wait_for(folder, "rollout_finished", 6)
        err = stopped_by(process, STOPS[stop])
    assert err.count("stopping: calls in flight may finish") == 1
    assert f"hint: `skillopt resume {folder}` takes the run up again" in err
    assert "Traceback" not in err
    # Every call that was paid for is in the journal: none that was in flight is lost.
    assert journaled(folder) == calls(folder)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert (summary["status"], summary["exit_code"]) == ("interrupted", 130)

    ended = skillopt("resume", folder, *FAST)
    assert ended.code == 0, ended.err
    whole = finished_run(*TINY, run_id="whole")
    assert outcome(folder) == outcome(whole)
    assert calls(folder) == calls(whole)


@pytest.mark.parametrize("first", EACH)
def test_the_second_stops_at_once(first: str) -> None:
    with started(*STUCK) as (process, folder):
        wait_for(folder, "run_started")
        for number in STOPS[first]:
            process.send_signal(number)
        for line in process.stderr or ():
            if line.startswith("stopping:"):
                break
        assert process.poll() is None
        err = stopped_by(process, [signal.SIGINT])
    assert "stopped by the user" in err.splitlines()
    assert "Traceback" not in err
    assert events(folder, "run_failed")[0]["exit_code"] == 130


def test_a_kill_repeats_at_most_the_calls_in_flight() -> None:
    with started(*SLOW) as (process, folder):
        wait_for(folder, "rollout_finished", 5)
        process.kill()
        process.communicate()
    ended = skillopt("resume", folder, *FAST)
    assert ended.code == 0, ended.err
    whole = finished_run(*TINY, run_id="whole")
    assert outcome(folder) == outcome(whole)
    assert calls(whole) <= calls(folder) <= calls(whole) + 2


@pytest.mark.slow
@pytest.mark.parametrize("stop", STOPS)
def test_a_resumed_run_stops_and_is_resumed_alike(stop: str) -> None:
    with started(*SLOW) as (process, folder):
        wait_for(folder, "rollout_finished", 2)
        stopped_by(process, [signal.SIGINT])
    again = subprocess.Popen(
        [str(PROGRAM), "resume", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    before = len(events(folder, "rollout_finished"))
    wait_for(folder, "rollout_finished", before + 3)
    stopped_by(again, STOPS[stop])
    assert journaled(folder) == calls(folder)
    assert skillopt("resume", folder, *FAST).code == 0
    assert outcome(folder) == outcome(finished_run(*TINY, run_id="whole"))


@pytest.mark.slow
@pytest.mark.parametrize("stop", STOPS)
def test_an_evaluation_stops_alike(stop: str) -> None:
    compare = ("eval", "searchqa", "--arms", "none,seed")
    with started(*SLOW, command=compare) as (process, folder):
        wait_for(folder, "rollout_finished", 3)
        stopped_by(process, STOPS[stop])
    assert journaled(folder) == calls(folder)
    assert skillopt("resume", folder, *FAST).code == 0
    assert skillopt(*compare, *TINY, "--run-id", "whole").code == 0
    places = [Path(folder.parent, name, "eval_summary.json") for name in ("a", "whole")]
    resumed, whole = (json.loads(place.read_text(encoding="utf-8")) for place in places)
    assert (resumed["arms"], resumed["pairs"]) == (whole["arms"], whole["pairs"])


@pytest.mark.slow
def test_below_nohup_a_terminal_that_closes_changes_nothing() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with started(*SLOW[:1], "model.simulated.latency_ms=20") as (process, folder):
        wait_for(folder, "rollout_finished", 3)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert outcome(folder) == outcome(finished_run(*TINY, run_id="whole"))


def left_by_its_terminal(command: Sequence[str], log: Path) -> int:
    """Close a command's terminal in the midst of a run; its exit code.

    Beside the signal, whatever is written to it fails from then on.
    """
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    # It becomes the terminal of the session whose first process opens it.
    shell = ["sh", "-c", f"exec {shlex.join(command)} <$0 >$0 2>&1", os.ttyname(theirs)]
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(shell, start_new_session=True, env=environment)

    def read_on() -> None:
        with suppress(BlockingIOError):
            os.read(ours, 1_000_000)

    try:
        wait_for(log, "rollout_finished", 6, read_on)
        os.close(ours)
        return process.wait(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(theirs)


@pytest.mark.slow
@pytest.mark.parametrize("display", ["rich", "plain"])
def test_a_run_ends_gently_though_its_terminal_is_gone(display: str) -> None:
    folder = Path("outputs/searchqa/a")
    command = [str(PROGRAM), *TRAIN, *TINY, *SLOW, "--run-id", "a", "--display", display]
    assert left_by_its_terminal(command, folder) == 130
    assert journaled(folder) == calls(folder)
    assert skillopt("resume", folder, *FAST).code == 0
    assert outcome(folder) == outcome(finished_run(*TINY, run_id="whole"))


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_sweep_ends_gently_though_its_terminal_is_gone(jobs: str) -> None:
    Path("g.yaml").write_text(GRID, encoding="utf-8")
    first = TrialFactory(read_grid(Path("g.yaml")), Overrides(), {}).all()[0].folder
    command = [str(PROGRAM), "sweep", "g.yaml", "--jobs", jobs]
    left_by_its_terminal(command, first)
    assert calls(first) > 0
    written = json.loads(Path("outputs/sweeps/g/sweep.json").read_text(encoding="utf-8"))
    assert (written["interrupted"], written["exit_code"]) == (True, 130)
