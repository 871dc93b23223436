"""Sends the points of a run to a tracker without delaying the run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Full, Queue
from threading import Thread

from skillopt_cli.core.errors import TrackerFailed
from skillopt_cli.core.events import Stamped
from skillopt_cli.ports import Closing, Point, TrackedRun
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.atomic_files import replace_text
from skillopt_cli.trackers.metrics import MetricsProjection
from skillopt_cli.trackers.worker import TrackerProcess

WAITING = 1000
"""Points in the queue of a slow tracker before it is dropped."""
NOTHING_SENT = -1


class TrackerClient:
    """A subscriber: each fact costs one fold and no wait.

    A thread of its own opens, feeds and closes the tracker. A failure is raised at the next fact,
    so that the bus drops the client and reports it. The number of the last step sent is kept in the
    run folder, so that a later process continues from there.

    Args:
        process: the tracker.
        describe: builds the tracker's view of the run, once the first fact is known.
        projection: already holds what earlier processes logged.
        backlog: the points of that log.
        hide: masks secrets in a text.

    Attributes:
        run: what the tracker was opened with, None before the first fact.
    """

    def __init__(
        self,
        process: TrackerProcess,
        describe: Callable[[MetricsProjection], TrackedRun],
        projection: MetricsProjection,
        backlog: Sequence[Point],
        hide: Callable[[str], str],
    ) -> None:
        self.name = f"tracker {process.name}"
        self.run: TrackedRun | None = None
        self._process = process
        self._describe = describe
        self._projection = projection
        self._backlog = list(backlog)
        self._hide = hide
        self._messages: Queue[Point | Closing] = Queue(WAITING)
        self._thread: Thread | None = None
        self._failure: TrackerFailed | None = None
        self._reported = False
        self._closing = False

    def __call__(self, fact: Stamped) -> None:
        """Queue the points that a fact completes.

        Raises:
            TrackerFailed: the tracker failed, or its queue is full.
        """
        if self._closing or self._reported:
            return
        points = self._projection.add(fact)
        if self._thread is None:
            self.run = self._describe(self._projection)
            self._thread = Thread(target=self._work, args=(self.run,), name=self.name, daemon=True)
            self._thread.start()
        for point in points:
            self._put(point)
        if self._failure:
            self._reported = True
            raise self._failure

    def finish(self, describe: Callable[[MetricsProjection], Closing]) -> None:
        """Queue the end of the run; later facts are ignored."""
        self._closing = True
        if self._thread is not None and not self._failure:
            self._put(describe(self._projection))

    def wait(self, seconds: float) -> bool:
        """Wait until the tracker is closed or has failed; returns whether it is."""
        if self._thread is not None and not self._failure:
            self._thread.join(seconds)
            return not self._thread.is_alive()
        return True

    def check(self) -> None:
        """Fail a tracker that is still at work and whose server does not answer."""
        if (lost := self._process.lost()) and not self.wait(0):
            self._fail(lost)

    def give_up(self) -> TrackerFailed | None:
        """Stop the tracker; returns its failure if that was not reported before."""
        if self._thread is not None and self._thread.is_alive():
            self._fail(TrackerFailed("it had not taken everything when the run had ended"))
            self._process.kill()
            self._thread.join()
        unreported = None if self._reported else self._failure
        self._reported = True
        return unreported

    @property
    def failed(self) -> bool:
        """Whether the tracker failed or was stopped."""
        return self._failure is not None

    def _put(self, message: Point | Closing) -> None:
        try:
            self._messages.put_nowait(message)
        except Full:
            self._fail(TrackerFailed(f"{WAITING} steps wait to be sent"))

    def _fail(self, why: TrackerFailed) -> None:
        """Keep the first failure."""
        if self._failure is None:
            self._failure = TrackerFailed(self._hide(why.message), self._hide(why.hint))

    def _work(self, run: TrackedRun) -> None:
        """Open, feed and close the tracker; the thread's target."""
        try:
            # A library would retry for minutes, and report the failure in its own way.
            if lost := self._process.lost():
                self._fail(lost)
                return
            place = self._process.open(run)
            self._send(SentLog(run.folder.with_suffix(".json"), place))
        except TrackerFailed as error:
            self._fail(self._process.lost() or error)
        # Any other failure ends the tracker alone; the run goes on.
        except Exception as error:
            self._fail(TrackerFailed(" ".join(f"{type(error).__name__}: {error}".split())))
        finally:
            self._process.end()

    def _send(self, log: SentLog) -> None:
        for point in self._backlog:
            if point.step > log.sent:
                self._process.record(point)
                log.record(point.step)
        self._backlog.clear()
        while isinstance(message := self._messages.get(), Point):
            self._process.record(message)
            log.record(message.step)
        self._process.close(message)


class SentLog:
    """The number of the last step a tracker has taken, in a file of the run folder.

    Args:
        path: the file; when it is absent, damaged or about another place, nothing counts as sent.
        place: where the tracker sends to.

    Attributes:
        sent: the last step, -1 for none.
    """

    def __init__(self, path: Path, place: str) -> None:
        self._path = path
        # An address may hold a password.
        self._place = hashlib.sha256(place.encode()).hexdigest()[:16]
        self.sent = NOTHING_SENT
        try:
            known = json.loads(read_regular(path))
            if known["place"] == self._place:
                self.sent = int(known["sent"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def record(self, step: int) -> None:
        """Store the last step taken."""
        self.sent = step
        replace_text(self._path, json.dumps({"place": self._place, "sent": step}) + "\n")
