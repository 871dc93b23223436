"""The tracker client never delays the run and reports a failure once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, current_thread, main_thread

import pytest

from skillopt_cli.core.errors import TrackerFailed
from skillopt_cli.core.events import CheckpointSaved, Degraded, RunStarted, Stamped, StepStarted
from skillopt_cli.ports import Closing, Point, TrackedRun
from skillopt_cli.trackers import client as module
from skillopt_cli.trackers.client import SentLog, TrackerClient
from skillopt_cli.trackers.metrics import MetricsProjection
from skillopt_cli.trackers.worker import TrackerProcess

LONG = 30.0
STARTED = RunStarted("a", "toy", 0, 9, 1, "o", "t", "d", 1, 1, 1, "hard")


def log_of(steps: int) -> list[Stamped]:
    """The log of a run with that many recorded steps."""
    events = [STARTED, saved(0)]
    for step in range(1, steps + 1):
        events += [StepStarted(step, 1, step, 4, 4.0, 4, "constant"), saved(step)]
    return [Stamped(n, 100.0 + n, event) for n, event in enumerate(events, 1)]


def saved(done: int) -> CheckpointSaved:
    return CheckpointSaved(done, 0.5, 0.5, 0, 0, 10)


@dataclass
class FakeProcess(TrackerProcess):
    """Records its calls in this process, as slowly and badly as a test wants."""

    place: str = "here"
    name: str = "kept"
    ended: int = 0
    killed: bool = False
    steps: list[int] = field(default_factory=list)
    closed: list[Closing] = field(default_factory=list)
    runs: list[TrackedRun] = field(default_factory=list)
    fails_at: int | None = None
    gone: bool = False
    opening: Event = field(default_factory=Event)
    taken: Event = field(default_factory=Event)
    failed: Event = field(default_factory=Event)

    def lost(self) -> TrackerFailed | None:
        return TrackerFailed("no server at sesame-open", "start it") if self.gone else None

    def open(self, run: TrackedRun) -> str:
        assert current_thread() is not main_thread()
        assert self.opening.wait(LONG)
        if self.killed:
            raise TrackerFailed("its process ended")
        self.runs.append(run)
        return self.place

    def end(self) -> None:
        self.ended += 1

    def kill(self) -> None:
        self.killed = True
        self.opening.set()

    def record(self, point: Point) -> None:
        if point.step == self.fails_at:
            self.failed.set()
            raise ConnectionError("no way\nthrough with sesame-open")
        self.steps.append(point.step)
        self.taken.set()

    def close(self, closing: Closing) -> None:
        self.closed.append(closing)
        if self.fails_at == -1:
            raise ConnectionError("late")


def tracker_client(
    tracker: FakeProcess, folder: Path, earlier: list[Stamped] | None = None
) -> TrackerClient:
    projection = MetricsProjection()
    backlog = [point for fact in earlier or [] for point in projection.add(fact)]

    def describe(known: MetricsProjection) -> TrackedRun:
        return TrackedRun(known.identity, "a", "toy", known.began, folder / "kept", folder, {})

    return TrackerClient(
        tracker,
        describe,
        projection,
        backlog,
        lambda text: text.replace("sesame-open", "***"),
    )


def closing(projection: MetricsProjection) -> Closing:
    return Closing(projection.done, 200.0, "finished", 0, {"x": 1.0})


def hear(ear: TrackerClient, log: list[Stamped]) -> None:
    for fact in log:
        ear(fact)


def test_a_tracker_that_takes_its_time_holds_nothing_up(tmp_path: Path) -> None:
    tracker = FakeProcess()
    ear = tracker_client(tracker, tmp_path)
    hear(ear, log_of(20))
    assert tracker.steps == []  # all facts were heard while it was not even open
    ear.finish(closing)
    assert not ear.wait(0)
    tracker.opening.set()
    assert ear.wait(LONG)
    assert ear.give_up() is None
    assert tracker.steps == list(range(21))
    assert [c.step for c in tracker.closed] == [20]
    assert tracker.ended == 1
    assert tracker.runs[0].identity == identity(log_of(1))
    assert json.loads((tmp_path / "kept.json").read_text("utf-8"))["sent"] == 20


def identity(log: list[Stamped]) -> str:
    projection = MetricsProjection()
    projection.add(log[0])
    return projection.identity


def test_a_failure_is_raised_once_at_the_next_fact_without_secrets(tmp_path: Path) -> None:
    tracker = FakeProcess(fails_at=1)
    tracker.opening.set()
    ear = tracker_client(tracker, tmp_path)
    hear(ear, log_of(1))
    assert tracker.failed.wait(LONG)
    assert ear.wait(LONG)
    with pytest.raises(TrackerFailed, match=r"^ConnectionError: no way through with \*\*\*$"):
        ear(Stamped(9, 9.0, Degraded("x", "y")))
    ear.finish(closing)
    assert ear.give_up() is None, "the bus has told it already"
    assert tracker.closed == []


def test_a_failure_nobody_heard_of_is_given_at_the_end_once(tmp_path: Path) -> None:
    tracker = FakeProcess(fails_at=-1)
    tracker.opening.set()
    ear = tracker_client(tracker, tmp_path)
    hear(ear, log_of(1))
    ear.finish(closing)
    assert ear.wait(LONG)
    late = ear.give_up()
    assert late is not None
    assert late.message == "ConnectionError: late"
    assert ear.give_up() is None


def test_a_tracker_that_hangs_is_given_up(tmp_path: Path) -> None:
    tracker = FakeProcess()
    ear = tracker_client(tracker, tmp_path)
    hear(ear, log_of(1))
    ear.finish(closing)
    assert not ear.wait(0)
    hung = ear.give_up()
    assert hung is not None
    assert "had not taken everything" in hung.message
    assert tracker.killed
    assert tracker.ended == 1
    assert tracker.runs == []


def test_a_server_that_is_not_there_is_told_before_its_library_is_begun(tmp_path: Path) -> None:
    tracker = FakeProcess(gone=True)
    ear = tracker_client(tracker, tmp_path)
    first, second = log_of(0)
    with pytest.raises(TrackerFailed, match=r"^no server at \*\*\*$") as told:
        ear(first)
        assert ear.wait(LONG)
        ear(second)
    assert told.value.hint == "start it"
    assert tracker.ended == 1


def test_a_tracker_that_takes_its_time_is_waited_for_while_its_server_answers(
    tmp_path: Path,
) -> None:
    tracker = FakeProcess()
    ear = tracker_client(tracker, tmp_path)
    hear(ear, log_of(1))
    ear.finish(closing)
    ear.check()
    assert not ear.wait(0)
    tracker.gone = True
    ear.check()
    assert ear.wait(0), "it is not waited for any longer"
    lost = ear.give_up()
    assert lost is not None
    assert lost.message == "no server at ***"
    assert tracker.killed


def test_a_library_that_fails_for_want_of_a_server_is_said_to(tmp_path: Path) -> None:
    tracker = FakeProcess()
    ear = tracker_client(tracker, tmp_path)
    hear(ear, log_of(1))
    tracker.gone = tracker.killed = True
    tracker.opening.set()
    assert ear.wait(LONG)
    lost = ear.give_up()
    assert lost is not None
    assert lost.message == "no server at ***"


def test_a_tracker_that_falls_far_behind_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAITING", 5)
    tracker = FakeProcess()
    ear = tracker_client(tracker, tmp_path)
    with pytest.raises(TrackerFailed, match="5 steps wait"):
        hear(ear, log_of(20))
    assert ear.give_up() is None
    assert tracker.killed


def test_a_run_that_never_began_is_not_tracked(tmp_path: Path) -> None:
    tracker = FakeProcess()
    ear = tracker_client(tracker, tmp_path)
    ear.finish(closing)
    assert ear.wait(0)
    assert ear.give_up() is None
    assert tracker.runs == tracker.closed == []


def resumed(tracker: FakeProcess, folder: Path, earlier: int, later: int) -> None:
    """A process that takes the run up after `earlier` steps and makes `later`."""
    tracker.opening.set()
    before = log_of(earlier)
    ear = tracker_client(tracker, folder, before)
    again = Stamped(len(before) + 1, 900.0, replace(STARTED, done=earlier))
    hear(ear, [again, *log_of(earlier + later)[len(before) :]])
    ear.finish(closing)
    assert ear.wait(LONG)
    assert ear.give_up() is None


def test_a_later_process_sends_what_is_new(tmp_path: Path) -> None:
    tracker = FakeProcess()
    resumed(tracker, tmp_path, 0, 2)
    resumed(tracker, tmp_path, 2, 3)
    assert tracker.steps == [0, 1, 2, 3, 4, 5]
    assert len({run.identity for run in tracker.runs}) == 1


@pytest.mark.parametrize("damage", ["absent", "broken", "elsewhere"])
def test_without_a_note_of_this_place_everything_is_sent(tmp_path: Path, damage: str) -> None:
    resumed(FakeProcess(), tmp_path, 0, 2)
    record = tmp_path / "kept.json"
    if damage == "absent":
        record.unlink()
    elif damage == "broken":
        record.write_text('{"sent": "many"', encoding="utf-8")
    tracker = FakeProcess("there" if damage == "elsewhere" else "here")
    resumed(tracker, tmp_path, 2, 1)
    assert tracker.steps == [0, 1, 2, 3]


def test_the_note_does_not_hold_the_address(tmp_path: Path) -> None:
    log = SentLog(tmp_path / "x.json", "https://me:sesame@server")
    log.record(3)
    assert "sesame" not in (tmp_path / "x.json").read_text("utf-8")
    assert SentLog(tmp_path / "x.json", "https://me:sesame@server").sent == 3
    assert SentLog(tmp_path / "x.json", "https://other").sent == -1
