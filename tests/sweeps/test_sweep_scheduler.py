"""What is begun when, with how much of the caps; and what is left when it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sweep_rig import Rig, finished, stopped, trial, view

from skillopt_cli.core.caps import Cap
from skillopt_cli.core.errors import DataError, Interrupted
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.lock import lock_run
from skillopt_cli.sweeps import scheduler as schedule
from skillopt_cli.sweeps.budget import SweepBudget
from skillopt_cli.sweeps.runner import EndedRun, InProcess, StopSignals
from skillopt_cli.sweeps.scheduler import Scheduler, SweepOutcome
from skillopt_cli.sweeps.trials import GridSource, Trial


def carried_out(
    rig: Rig, *trials: Trial, max_calls: float | None = None
) -> tuple[SweepOutcome, SweepBudget]:
    budget = SweepBudget((Cap("max_calls", max_calls),) if max_calls else ())
    listed = Scheduler(GridSource(trials), rig, budget, rig.read, rig)
    return listed.run(), budget


def names(rig: Rig) -> list[str]:
    return [name for name, _ in rig.begun]


def test_finished_runs_are_kept_and_others_taken_up() -> None:
    rig = Rig(views={"a": finished(10), "b": stopped(3, 130)})
    outcome, _ = carried_out(rig, trial("a"), trial("b"), trial("c"))
    assert names(rig) == ["b", "c"]
    assert outcome == SweepOutcome()
    assert rig.told == [
        ("kept", "1"),
        *(("resumed", "b"), ("finished", "b"), ("started", "c"), ("finished", "c")),
    ]


def test_slots_are_filled_once_the_seed_is_measured() -> None:
    rig = Rig(slots=2)
    carried_out(rig, trial("a"), trial("b"), trial("c"))
    assert names(rig) == ["a", "b", "c"]
    assert rig.together == 2
    # The first one alone: it had no baseline before it ended.
    assert rig.told[:2] == [("started", "a"), ("finished", "a")]


def test_the_others_begin_as_soon_as_the_first_has_a_baseline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schedule, "_CHECK", -1.0)
    rig = Rig(slots=2)
    calls = iter(range(9))

    def wait() -> list[object]:
        if next(calls) == 0:
            rig.views["a"] = view(4)
            return []
        return Rig.wait(rig)  # type: ignore[return-value]

    rig.wait = wait  # type: ignore[method-assign, assignment]
    carried_out(rig, trial("a"), trial("b"))
    assert rig.told[:2] == [("started", "a"), ("started", "b")]


def test_a_failed_run_does_not_stop_the_others() -> None:
    rig = Rig(codes={"a": 4})
    outcome, _ = carried_out(rig, trial("a"), trial("b"))
    assert names(rig) == ["a", "b"]
    assert outcome.failures["a"].code == 4
    assert not outcome.capped and not outcome.interrupted


def damaged(rig: Rig, *names: str) -> None:
    """Have the logs of these runs be unreadable, from when they are begun on where they are not."""
    read = rig.read

    def reading(folder: Path) -> RunView:
        if folder.name in names:
            raise DataError(f"line 3 of {folder.name} is not a fact")
        return read(folder)

    rig.read = reading  # type: ignore[method-assign]


@pytest.mark.parametrize("search", [False, True])
def test_a_run_whose_log_is_damaged_has_failed_and_the_others_go_on(search: bool) -> None:
    rig = Rig(views={"a": finished(10)})
    damaged(rig, "a")
    trials = (trial("a"), trial("b"))
    source = GridSource(trials)
    source.wants_progress = search
    outcome = Scheduler(source, rig, SweepBudget(()), rig.read, rig).run()
    assert names(rig) == ["b"]
    assert outcome.failures == {"a": EndedRun(trial("a"), 3, "line 3 of a is not a fact")}
    assert rig.told == [("failed", "a"), ("started", "b"), ("finished", "b")]


def test_a_log_that_is_damaged_while_its_run_is_at_work_fails_that_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schedule, "_CHECK", -1.0)
    rig = Rig(needs={"a": 40, "b": 40})
    rig.on_wait = lambda: damaged(rig, "a")
    budget = SweepBudget((Cap("max_calls", 100),))
    listed = Scheduler(
        GridSource((trial("a"), trial("b"))), rig, budget, lambda f: rig.read(f), rig
    )
    outcome = listed.run()
    assert outcome.failures["a"].code == 3
    # What it used is not known: all that it might have used is gone.
    assert rig.begun == [("a", 100)]
    assert outcome.capped


def test_caps_hold_for_all_runs_together() -> None:
    rig = Rig(needs={"a": 40, "b": 40, "c": 40})
    outcome, budget = carried_out(rig, trial("a"), trial("b"), trial("c"), max_calls=100)
    assert rig.begun == [("a", 100), ("b", 60), ("c", 20)]
    assert outcome.capped
    assert budget.spent("max_calls") == 100


def test_what_earlier_sweeps_used_counts() -> None:
    rig = Rig(views={"a": finished(70), "b": stopped(20, 130)}, needs={"b": 25})
    carried_out(rig, trial("a"), trial("b"), trial("c"), max_calls=100)
    assert rig.begun == [("b", 30), ("c", 5)]


def test_runs_at_work_share_what_is_left() -> None:
    rig = Rig(slots=2, views={"a": finished(10)}, needs={"b": 30, "c": 60})
    outcome, budget = carried_out(rig, trial("a"), trial("b"), trial("c"), max_calls=110)
    # Half of the hundred each; what b leaves over goes to c, which had not enough.
    assert rig.begun == [("b", 50), ("c", 50), ("c", 70)]
    assert rig.together == 2
    assert not outcome.capped
    assert budget.spent("max_calls") == 100


def test_nothing_is_begun_while_a_run_waits_for_its_rest() -> None:
    rig = Rig(needs={"a": 200})
    outcome, _ = carried_out(rig, trial("a"), trial("b"), max_calls=100)
    assert names(rig) == ["a"]
    assert outcome.capped


def test_a_cap_of_a_run_stops_that_run_only() -> None:
    rig = Rig(needs={"a": 50})
    outcome, _ = carried_out(rig, trial("a", max_calls=20), trial("b"), max_calls=100)
    assert rig.begun == [("a", 20), ("b", 80)]
    assert outcome.capped


def test_a_run_that_another_process_holds_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    held = trial("a")
    held.folder.mkdir(parents=True)
    (held.folder / "config.yaml").write_text("", encoding="utf-8")
    rig = Rig(slots=1)
    lock = lock_run(held.folder)
    lock.__enter__()

    def other_process_ends(seconds: float) -> None:
        rig.views["a"] = finished(10)
        lock.__exit__(None, None, None)

    monkeypatch.setattr(schedule.time, "sleep", other_process_ends)
    outcome, _ = carried_out(rig, held, trial("b"))
    assert names(rig) == ["b"]
    assert ("held", "a") in rig.told and ("finished", "a") in rig.told
    assert outcome == SweepOutcome()


def test_what_a_run_left_that_had_not_begun_is_cleared_away() -> None:
    begun = trial("a")
    begun.folder.mkdir(parents=True)
    (begun.folder / "run.lock").write_text("1\n", encoding="ascii")
    rig = Rig()
    carried_out(rig, begun)
    assert names(rig) == ["a"]
    assert not begun.folder.exists()


def interrupted(rig: Rig, *trials: Trial) -> SweepOutcome:
    """The outcome where `rig` is told to stop by signals."""
    signals = StopSignals()
    with signals.counting():
        return Scheduler(GridSource(trials), rig, SweepBudget(()), rig.read, rig, signals).run()


def press() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_interrupt_stops_runs_and_begins_none(number: signal.Signals) -> None:
    rig = Rig(slots=2, views={"a": finished()})
    waits = iter([lambda: signal.raise_signal(number)])
    wait = rig.wait

    def pressed() -> Sequence[EndedRun]:
        for told in waits:
            told()
            return []
        return wait()

    rig.wait = pressed  # type: ignore[method-assign]
    outcome = interrupted(rig, trial("a"), trial("b"), trial("c"), trial("d"))
    assert sorted(rig.stopped) == ["b", "c"]
    assert names(rig) == ["b", "c"]
    assert outcome.interrupted and not outcome.failures
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


@pytest.mark.parametrize("what", ["started", "failed"])
def test_an_interrupt_while_a_run_is_noted_loses_sight_of_none(what: str) -> None:
    rig = Rig(codes={"a": 4})
    note = rig.run

    def told(said: str, trial: Trial, view: RunView, message: str = "") -> None:
        if said == what:
            press()
        note(said, trial, view, message)

    waits, wait = iter([1]), rig.wait
    rig.run = told  # type: ignore[method-assign]
    rig.wait = lambda: [] if next(waits, 0) else wait()  # type: ignore[method-assign]
    outcome = interrupted(rig, trial("a"), trial("b"))
    assert outcome.interrupted and names(rig) == ["a"]
    assert rig.stopped == (["a"] if what == "started" else [])
    assert rig.told[-1][0] == ("stopped" if what == "started" else "failed")
    assert set(outcome.failures) == ({"a"} if what == "failed" else set())


def test_each_interrupt_is_passed_on_and_what_was_ignored_still_is() -> None:
    rig = Rig()
    waits, wait = iter([press, press]), rig.wait

    def pressed() -> Sequence[EndedRun]:
        for told in waits:
            told()
            return []
        return wait()

    rig.wait = pressed  # type: ignore[method-assign]
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        rig.on_wait = lambda: signal.raise_signal(signal.SIGTERM)
        assert interrupted(rig, trial("a")).interrupted
        assert rig.stopped == ["a", "a"]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_terminal_that_closes_is_one_request_however_many_signals_it_sends() -> None:
    signals = StopSignals()
    with signals.counting():
        for _ in range(2):
            signal.raise_signal(signal.SIGHUP)
            assert signals.count == 1
        press()
        signal.raise_signal(signal.SIGHUP)
        assert signals.count == 2


@pytest.mark.parametrize("heard", [True, False])
def test_work_in_this_process_hears_an_interrupt_itself(heard: bool) -> None:
    rig, signals, begun = Rig(), StopSignals(), list[str]()

    def train(trial: Trial) -> None:
        begun.append(trial.run_id)
        rig.views["a"] = view(1)
        if heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # as an event loop leaves it
            raise Interrupted("stopped by the user")
        press()

    with signals.counting():
        listed, runner = GridSource([trial("a"), trial("b")]), InProcess(train, signals)
        outcome = Scheduler(listed, runner, SweepBudget(()), rig.read, rig, signals).run()
        press()  # is noted again
    assert outcome.interrupted and not outcome.failures and begun == ["a"]
    assert rig.told == [("started", "a"), ("stopped", "a")]


class Hearing(GridSource):
    """Notes which runs came to something."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        super().__init__(trials)
        self.heard: list[str] = []

    def record_end(self, trial: Trial, view: RunView) -> None:
        self.heard.append(trial.run_id)


def test_a_run_ended_by_the_signal_that_stops_the_sweep_has_not_failed() -> None:
    rig, source, signals = Rig(), Hearing([trial("a")]), StopSignals()

    def wait() -> Sequence[EndedRun]:
        if not rig.stopped:
            signals.count = 1
            return []
        return [EndedRun(source.trials[0], -15, "its process was ended by signal 15")]

    rig.wait = wait  # type: ignore[method-assign]
    outcome = Scheduler(source, rig, SweepBudget(()), rig.read, rig, signals).run()
    assert outcome.interrupted and not outcome.failures
    assert rig.told == [("started", "a"), ("stopped", "a")]
    # A search would take it for a choice that leads to nothing.
    assert source.heard == []


class Dropping(GridSource):
    """Gives up a run at its first look at it."""

    wants_progress = True

    def should_prune(self, trial: Trial, view: RunView) -> bool:
        return trial.run_id == "b"


def test_a_run_that_is_given_up_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_CHECK", -1.0)
    rig = Rig(slots=2, views={"a": finished()})
    rounds = iter(range(9))
    end: Callable[[], object] = rig.wait

    def wait() -> object:
        return [] if next(rounds) == 0 else end()

    rig.wait = wait  # type: ignore[method-assign, assignment]
    source = Dropping([trial("a"), trial("b"), trial("c")])
    outcome = Scheduler(source, rig, SweepBudget(()), rig.read, rig).run()
    assert rig.stopped == ["b"]
    assert outcome == replace(SweepOutcome(), pruned={"b"})
    assert ("pruned", "b") in rig.told and ("finished", "c") in rig.told


def test_a_run_that_finished_before_it_heard_that_it_is_given_up_is_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schedule, "_CHECK", -1.0)
    rig = Rig(slots=2, views={"a": finished()})
    waits = iter([[], [EndedRun(trial("b"))]])

    def wait() -> Sequence[EndedRun]:
        over = next(waits)
        rig.views["b"] = finished() if over else view(1, done=1)
        return over

    rig.wait = wait  # type: ignore[method-assign]
    source = Dropping([trial("a"), trial("b")])
    outcome = Scheduler(source, rig, SweepBudget(()), rig.read, rig).run()
    assert rig.stopped == ["b"]
    assert not outcome.pruned and rig.told[-1] == ("finished", "b")
