"""Carries a run's points to a tracker, without ever holding up the run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Full, Queue
from threading import Thread
from typing import Protocol

from skillopt_cli.core.errors import TrackerFailed
from skillopt_cli.core.events import Stamped
from skillopt_cli.ports import Closing, Point, TrackedRun
from skillopt_cli.store.files import replace_text
from skillopt_cli.trackers.following import Follower

WAITING = 1000
"""Points that may wait for a slow tracker before it is given up."""
NOTHING_SENT = -1


class Carrier(Protocol):
    """The way to a tracker, as `HostedTracker` is one; every method may take its time and raise."""

    name: str

    def lost(self) -> TrackerFailed | None:
        """Whether its server is not there, and what to say then; on any thread."""
        ...

    def open(self, run: TrackedRun) -> str:
        """Open the tracker; returns its place."""
        ...

    def record(self, point: Point) -> None:
        """Have a step taken."""
        ...

    def close(self, closing: Closing) -> None:
        """Have the ending taken."""
        ...

    def end(self) -> None:
        """Leave nothing behind; called last, whatever happened."""
        ...

    def kill(self) -> None:
        """End a call at work; the only one that may be called on another thread."""
        ...


class Courier:
    """An observer: hearing a fact costs a fold and never a wait.

    The tracker is opened, told and closed on a thread of the courier's own. A failure is raised
    when the next fact is heard, so that the bus drops the courier and states it. Which steps were
    sent is noted in the run folder, so that a later process goes on from there.

    Args:
        carrier: the way to the tracker.
        describe: makes what the tracker is told of the run, once its first fact is known.
        follower: has folded what earlier processes logged.
        backlog: the points of that.
        hide: takes secrets out of a text.

    Attributes:
        run: what the tracker was told of the run, None before its first fact.
    """

    def __init__(
        self,
        carrier: Carrier,
        describe: Callable[[Follower], TrackedRun],
        follower: Follower,
        backlog: Sequence[Point],
        hide: Callable[[str], str],
    ) -> None:
        self.name = f"tracker {carrier.name}"
        self.run: TrackedRun | None = None
        self._carrier = carrier
        self._describe = describe
        self._follower = follower
        self._backlog = list(backlog)
        self._hide = hide
        self._letters: Queue[Point | Closing] = Queue(WAITING)
        self._thread: Thread | None = None
        self._failure: TrackerFailed | None = None
        self._told = False
        self._sealed = False

    def __call__(self, fact: Stamped) -> None:
        """Take in a fact.

        Raises:
            TrackerFailed: the tracker failed, or does not keep up.
        """
        if self._sealed or self._told:
            return
        points = self._follower.add(fact)
        if self._thread is None:
            self._set_out(self._describe(self._follower))
        try:
            for point in points:
                self._letters.put_nowait(point)
        except Full:
            self._fail(_behind())
        if self._failure:
            self._told = True
            raise self._failure

    def seal(self, describe: Callable[[Follower], Closing]) -> None:
        """Have the tracker closed when it has taken all that waits; facts count no more."""
        self._sealed = True
        if self._thread is not None and not self._failure:
            try:
                self._letters.put_nowait(describe(self._follower))
            except Full:
                self._fail(_behind())

    def wait(self, seconds: float) -> bool:
        """Wait until the tracker is closed or has failed; returns whether that is so."""
        if self._thread is not None and not self._failure:
            self._thread.join(seconds)
            return not self._thread.is_alive()
        return True

    def check(self) -> None:
        """Expect no more of it if its server does not answer; for one that takes its time."""
        if (lost := self._carrier.lost()) and not self.wait(0):
            self._fail(lost)

    def give_up(self) -> TrackerFailed | None:
        """Expect no more of it; returns why it failed if nobody was told of that, else None."""
        if self._thread is not None and self._thread.is_alive():
            self._fail(TrackerFailed("it had not taken everything when the run had ended"))
            self._carrier.kill()
            self._thread.join()
        untold = None if self._told else self._failure
        self._told = True
        return untold

    @property
    def failed(self) -> bool:
        """Whether the tracker failed, or was given up."""
        return self._failure is not None

    def _fail(self, why: TrackerFailed) -> None:
        """The first reason stands."""
        if self._failure is None:
            hide = self._hide
            self._failure = TrackerFailed(hide(why.message), hide(why.hint))

    def _set_out(self, run: TrackedRun) -> None:
        self.run = run
        self._thread = Thread(target=self._travel, args=(run,), name=self.name, daemon=True)
        self._thread.start()

    def _travel(self, run: TrackedRun) -> None:
        try:
            # A library would go on trying, and say in its own way what it did not reach.
            if lost := self._carrier.lost():
                self._fail(lost)
                return
            place = self._carrier.open(run)
            self._deliver(SentLog(run.folder.with_suffix(".json"), place))
        except TrackerFailed as error:
            self._fail(self._carrier.lost() or error)
        # Whatever else goes wrong on the way, the run goes on without the tracker.
        except Exception as error:
            self._fail(TrackerFailed(" ".join(f"{type(error).__name__}: {error}".split())))
        finally:
            self._carrier.end()

    def _deliver(self, log: SentLog) -> None:
        for point in self._backlog:
            if point.step > log.sent:
                self._carrier.record(point)
                log.note(point.step)
        self._backlog.clear()
        while isinstance(letter := self._letters.get(), Point):
            self._carrier.record(letter)
            log.note(letter.step)
        self._carrier.close(letter)


def _behind() -> TrackerFailed:
    return TrackerFailed(f"{WAITING} steps wait to be sent")


class SentLog:
    """Which steps a tracker has taken, in a file of the run folder.

    Args:
        path: of the file; an absent or damaged one says that nothing was sent.
        place: where the tracker sends to. A file about another place says nothing of this one.

    Attributes:
        sent: the last step, -1 for none.
    """

    def __init__(self, path: Path, place: str) -> None:
        self._path = path
        # An address may hold a password.
        self._place = hashlib.sha256(place.encode()).hexdigest()[:16]
        self.sent = NOTHING_SENT
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
            if known["place"] == self._place:
                self.sent = int(known["sent"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def note(self, step: int) -> None:
        """Note that this step was taken."""
        self.sent = step
        replace_text(self._path, json.dumps({"place": self._place, "sent": step}) + "\n")
