"""`skillopt ctl` against runs in processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, events, finished_run, outcome, refused, skillopt, train

from skillopt_cli.control.commands import Pause
from skillopt_cli.control.server import send

PROGRAM = Path(sys.executable).with_name("skillopt")
SLOW = ("--set", "model.simulated.latency_ms=400")
QUICK = ("--set", "model.simulated.latency_ms=0", "--allow-drift")
PATIENCE = 600
HINT = "Give units after numbers."


@contextmanager
def at_work(run_id: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A training in a process of its own, once it can be reached."""
    argv = [str(PROGRAM), "train", "searchqa", *TINY, *SLOW, *arguments, "--run-id", run_id]
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    folder = Path("outputs/searchqa", run_id)
    try:
        until(lambda: (folder / "control.sock").exists() and bool(events(folder, "run_started")))
        yield process, folder
    finally:
        process.kill()
        process.communicate()


def until(sign: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if sign():
            return
        time.sleep(0.02)
    raise AssertionError(f"it did not happen within {PATIENCE} s")


def ctl(run: object, *arguments: str) -> str:
    ended = skillopt("ctl", run, *arguments)
    assert ended.code == 0, ended.err
    return ended.out


def held_at_edits(folder: Path) -> None:
    """Have the run wait with the edits of its first step chosen."""
    # Without the command line, which may take longer to load than the run to choose edits.
    asyncio.run(send(folder, Pause()))
    ctl(folder, "pause", "--at", "edits")
    ctl(folder, "resume")
    until(lambda: any(fact["at"] == "edits" for fact in events(folder, "run_paused")))
    assert events(folder, "run_paused")[-1]["step"] == 1


def steer(folder: Path) -> None:
    held_at_edits(folder)
    ctl(folder, "hint", HINT)
    ctl(folder, "veto", "1", "--reason", "it says nothing")
    ctl(folder, "veto", "2")
    assert "`skillopt ctl" in refused(2, "ctl", folder, "veto", "2").hint
    assert ctl(folder, "allow", "2") == "edit 2 of step 1 is no longer struck out\n"


def status(folder: object) -> dict[str, Any]:
    document = json.loads(ctl(folder, "status", "--json"))
    assert isinstance(document, dict)
    return document


@pytest.mark.slow
def test_a_run_killed_after_veto_and_hint_ends_like_one_that_was_not() -> None:
    with at_work("whole") as (process, whole):
        steer(whole)
        assert "`skillopt ctl whole resume`" in refused(2, "resume", "whole").hint
        ctl(whole, "resume")
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    assert "Control: hint for step 2: Give units after numbers." in err
    assert "Kept 3 of 4 edits; left out: 1 vetoed" in err

    with at_work("killed") as (process, killed):
        steer(killed)
        shown = status(killed)
        assert (shown["paused"], shown["pid"]) == ("edits", process.pid)
        assert [edit["vetoed"] for edit in shown["edits"]] == [True, False, False, False]
        process.kill()
        process.communicate()
    assert (killed / "control.sock").exists()
    shown = status(killed)
    assert (shown["status"], shown["paused"], shown["pid"]) == ("interrupted", None, None)
    refused(2, "ctl", killed, "resume")
    ended = skillopt("resume", killed, *QUICK)
    assert ended.code == 0, ended.err
    assert outcome(killed) == outcome(whole)
    assert not (killed / "control.sock").exists()

    step = killed / "steps/step_0001"
    report = json.loads((step / "edit_report.json").read_text(encoding="utf-8"))
    (vetoed,) = [edit for edit in report if edit["state"] == "vetoed"]
    assert vetoed["reason"] == "it says nothing"
    assert vetoed["content"].strip() not in (step / "candidate_skill.md").read_text("utf-8")
    assert "vetoed" in skillopt("gate-report", killed).out


def test_pause_resume_set_and_stop() -> None:
    with at_work("a") as (process, folder):
        assert stat.S_IMODE((folder / "control.sock").stat().st_mode) == 0o600
        assert "paused" in ctl("a", "pause")
        until(lambda: status("a")["in_flight"] == 0)
        made = len(events(folder, "call_made"))
        assert "8 now" in ctl("a", "set", "run.max_concurrency=8")
        ctl("a", "set", "run.max_usd=2.5")
        assert len(events(folder, "call_made")) == made
        shown = status("a")
        assert (shown["paused"], shown["max_concurrency"]) == ("now", 8)
        assert shown["caps"] == {"max_usd": 2.5}
        assert refused(2, "ctl", "a", "pause").hint == "hint: `skillopt ctl a resume` goes on"
        assert "`skillopt ctl a pause --at edits`" in refused(2, "ctl", "a", "veto", "1").hint
        ctl("a", "pause", "--at", "edits")
        assert "is cancelled" in ctl("a", "resume", "--at", "edits")
        shown = status("a")
        assert (shown["paused"], shown["pause_planned"]) == ("now", False)
        assert refused(2, "ctl", "a", "resume", "--at", "edits").error.endswith(
            "no pause is planned"
        )
        refused(2, "ctl", "a", "set", "train.seed=3")
        assert skillopt("ctl", "a", "set", "run.max_usd=much").code == 2
        assert "goes on" in ctl("a", "resume")
        until(lambda: len(events(folder, "call_made")) > made)
        assert json.loads(ctl("a", "stop", "--json"))["said"].startswith("stopping")
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert f"hint: `skillopt resume {folder}` takes the run up again" in err
    changed = [(e["key"], e["before"], e["value"]) for e in events(folder, "setting_changed")]
    assert changed == [("run.max_concurrency", 64.0, 8.0), ("run.max_usd", None, 2.5)]
    assert events(folder, "run_failed")[-1]["resumable"]
    ended = skillopt("resume", folder, *QUICK)
    assert ended.code == 0, ended.err
    assert outcome(folder) == outcome(finished_run(*TINY, run_id="untouched"))


@pytest.mark.slow
def test_a_steered_run_is_replayed_with_what_was_said() -> None:
    with at_work("taped", "--record", "tape.jsonl") as (process, folder):
        steer(folder)
        ctl(folder, "resume")
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    ended = skillopt("train", "searchqa", *TINY, *SLOW, "--replay", "tape.jsonl", "--run-id", "b")
    assert ended.code == 0, ended.err
    again = Path("outputs/searchqa/b")
    assert outcome(again) == outcome(folder)
    assert [e["text"] for e in events(again, "hint_given")] == [HINT]


def test_a_finished_run_says_how_it_stands_and_takes_no_command() -> None:
    folder = finished_run(*TINY)
    assert "finished" in ctl("a", "status")
    assert status(folder)["status"] == "finished"
    for command in (["pause"], ["stop"], ["hint", "x"], ["veto", "1"], ["set", "run.max_usd=1"]):
        ended = refused(2, "ctl", "a", *command)
        assert "no process is at work" in ended.error
    refused(2, "ctl", "nowhere", "status")
    refused(2, "ctl", "a", "set", "run.max_usd")


def test_a_folder_that_cannot_hold_a_socket_costs_the_run_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = finished_run(*TINY, run_id="whole")
    monkeypatch.setattr("skillopt_cli.control.server._bound", _refusing)
    folder = train(*TINY)
    (said,) = [e for e in events(folder, "degraded") if e["where"] == "control"]
    assert "cannot reach this run: no sockets here" in said["reason"]
    assert outcome(folder) == outcome(whole)


def _refusing(folder: Path) -> None:
    raise OSError(95, "no sockets here")
