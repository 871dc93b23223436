"""Runs as processes: what is known of their end, and that none is lost sight of."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Event, Thread

import pytest
from sweep_rig import trial

from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.sweeps.runner import EndedRun, ProcessRunner, StopSignals, Train
from skillopt_cli.sweeps.trials import Trial

TRIAL = trial("a")


def refuse(trial: Trial) -> None:
    raise SkillOptError("the cap is reached", "raise it")


def break_down(trial: Trial) -> None:
    raise RuntimeError("a bug")


def take_long(trial: Trial) -> None:
    Event().wait(600)


def tell_signals(trial: Trial) -> None:
    held_back = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    raise SkillOptError(f"{len(held_back)} {usual} {os.getpgid(0) == os.getpid()}")


def runner(train: Train) -> ProcessRunner:
    return ProcessRunner(train, 1, Path())


def end_of(processes: ProcessRunner) -> EndedRun:
    found: Iterator[EndedRun] = (one for _ in range(6000) for one in processes.wait())
    return next(found)


def ended(train: Train) -> EndedRun:
    processes = runner(train)
    processes.start(TRIAL)
    return end_of(processes)


def test_an_error_is_told_in_its_own_words_and_never_in_those_of_an_earlier_process() -> None:
    first = ended(refuse)
    assert (first.code, first.message) == (SkillOptError.exit_code, "the cap is reached")
    assert ended(break_down).message == "its process failed; see a.log"
    log = Path("a.log").read_text(encoding="utf-8")
    assert "hint: raise it" in log and "RuntimeError: a bug" in log


def test_a_process_hears_signals_as_usual_and_has_a_group_of_its_own() -> None:
    assert ended(tell_signals).message == "0 True True"


@pytest.mark.parametrize("threads", [0, 1])
def test_a_process_that_begins_as_ctrl_c_comes_can_still_be_stopped(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    start = SpawnProcess.start

    def pressed(process: SpawnProcess) -> None:
        start(process)
        os.kill(os.getpid(), signal.SIGINT)
        Event().wait(0.2)  # Python takes a signal up between two lines, when it comes to that

    monkeypatch.setattr(SpawnProcess, "start", pressed)
    processes, done = runner(take_long), Event()
    others = [Thread(target=done.wait) for _ in range(threads)]
    for other in others:
        other.start()
    signals = StopSignals()
    with signals.counting():
        processes.start(TRIAL)
    assert signals.count == 1
    done.set()
    processes.stop(TRIAL)
    assert end_of(processes) == EndedRun(TRIAL, -15, "its process was ended by signal 15")
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
