"""A tracker in a process of its own.

Its library may hold Python's lock for seconds while it loads, read and set what belongs to the
whole process, or print; none of that reaches the run.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from subprocess import PIPE, Popen, TimeoutExpired
from tempfile import TemporaryFile
from typing import IO, Any

from pydantic import TypeAdapter

from skillopt_cli.core.errors import TrackerFailed
from skillopt_cli.ports import Closing, Point, Server, TrackedRun, Tracker
from skillopt_cli.trackers.reach import unreached

_LONGEST_WORDS = 300
_LAST_SECONDS = 10.0

Letter = TrackedRun | Point | Closing
_KINDS: Mapping[str, TypeAdapter[Any]] = {
    kind.__name__: TypeAdapter(kind) for kind in (TrackedRun, Point, Closing)
}


@dataclass(frozen=True, slots=True)
class Host:
    """How to start that process.

    Attributes:
        argv: the program that calls `serve`.
        environment: all it sees.
        shown: whether its standard error is ours; else it is kept for the case that it fails.
        server: which one it sends to, where that is known.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    shown: bool = False
    server: Server | None = None


class HostedTracker:
    """A tracker that has another process do everything, and waits for each answer.

    Every method raises `TrackerFailed` when the tracker there raised something, or the process
    ended.

    Args:
        name: of the tracker, for messages.
    """

    def __init__(self, name: str, host: Host) -> None:
        self.name = name
        self._host = host
        self._process: Popen[bytes] | None = None
        self._words: IO[bytes] | None = None

    def lost(self) -> TrackerFailed | None:
        """Ask its server for an answer; what to say when there is none."""
        return unreached(self._host.server) if self._host.server else None

    def open(self, run: TrackedRun) -> str:
        """Start the process and the tracker in it; returns the tracker's `place`."""
        self._words = TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._process = Popen(
            self._host.argv,
            env=dict(self._host.environment),
            stdin=PIPE,
            stdout=PIPE,
            stderr=None if self._host.shown else self._words,
            # Ctrl-C is for the run, which then says how it ended.
            start_new_session=True,
        )
        return self._ask(run)

    def record(self, point: Point) -> None:
        """Have a step taken."""
        self._ask(point)

    def close(self, closing: Closing) -> None:
        """Have the ending taken."""
        self._ask(closing)

    def end(self) -> None:
        """See the process end."""
        if self._process is not None:
            with suppress(TimeoutExpired, BrokenPipeError):
                self._process.communicate(timeout=_LAST_SECONDS)
            self._process.kill()
            with self._process:
                pass
        if self._words is not None:
            self._words.close()

    def kill(self) -> None:
        """End the process whatever it does; may be called on another thread than the others."""
        if self._process is not None:
            self._process.kill()

    def _ask(self, letter: Letter) -> str:
        assert self._process and self._process.stdin and self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.write(written(letter))
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            raise TrackerFailed(f"its process ended{self._said()}")
        found = json.loads(answer)
        if "failed" in found:
            raise TrackerFailed(str(found["failed"]))
        return str(found["place"])

    def _said(self) -> str:
        assert self._words
        self._words.seek(0)
        lines = self._words.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f": {last.strip()[:_LONGEST_WORDS]}" if last else ""


def written(letter: Letter) -> bytes:
    """A letter as one line."""
    kind = type(letter).__name__
    content = _KINDS[kind].dump_python(letter, mode="json")
    return json.dumps([kind, content]).encode() + b"\n"


def read(line: str | bytes) -> Any:
    """The letter in a line."""
    kind, content = json.loads(line)
    return _KINDS[kind].validate_python(content)


def serve(open_tracker: Callable[[TrackedRun], Tracker]) -> None:
    """Be the process: letters come by standard input, an answer to each goes to standard output.

    Whatever the library prints goes to standard error. Input that ends means that the run is gone.
    """
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        _serve(open_tracker, sys.stdin.buffer, answers)


def _serve(
    open_tracker: Callable[[TrackedRun], Tracker], letters: IO[bytes], answers: IO[bytes]
) -> None:
    tracker: Tracker | None = None
    for line in letters:
        letter = read(line)
        answer = {"place": ""}
        try:
            if tracker is None:
                tracker = open_tracker(letter)
                answer = {"place": tracker.place}
            elif isinstance(letter, Closing):
                tracker.close(letter)
            else:
                tracker.record(letter)
        # A foreign library may fail in any way; the run is told which.
        except Exception as error:
            answer = {"failed": " ".join(f"{type(error).__name__}: {error}".split())}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()
        if "failed" in answer or isinstance(letter, Closing):
            return
