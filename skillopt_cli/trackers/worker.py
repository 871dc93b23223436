"""Runs a tracker in a worker process: the run's side, the worker's side and their messages.

A tracker's library may hold the interpreter lock for seconds while it loads, change process-wide
state, or print; in a worker none of that reaches the run. The worker's program is
`python -m skillopt_cli.trackers.worker NAME`.
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

from skillopt_cli.config.connection import sparing_this_machine
from skillopt_cli.core.errors import TrackerFailed
from skillopt_cli.core.plugin_values import text
from skillopt_cli.plugins import load_tracker
from skillopt_cli.ports import Closing, Point, Server, TrackedRun, Tracker
from skillopt_cli.trackers.specs import unreachable

_LONGEST_ERROR = 300
_EXIT_SECONDS = 10.0

Message = TrackedRun | Point | Closing
_KINDS: Mapping[str, TypeAdapter[Any]] = {
    kind.__name__: TypeAdapter(kind) for kind in (TrackedRun, Point, Closing)
}


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """How to start the worker.

    Attributes:
        argv: its program, which calls `serve`.
        environment: its whole environment.
        umask: what it leaves out of the permissions of files: its library knows nothing of ours.
        shown: whether it shares our standard error; else that is kept for the error message.
        server: the server it sends to, where that is known.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    umask: int
    shown: bool = False
    server: Server | None = None


class TrackerProcess:
    """The run's side of a tracker in a worker process; each call waits for its reply.

    Methods raise `TrackerFailed` when the tracker raised an exception or the worker ended. All but
    `kill` are called on one thread.

    Args:
        name: the tracker's name, for messages.
    """

    def __init__(self, name: str, command: WorkerCommand) -> None:
        self.name = name
        self._command = command
        self._process: Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None

    def lost(self) -> TrackerFailed | None:
        """The failure to report when the tracker's server does not answer, else None."""
        server = self._command.server
        return unreachable(server, self._command.environment) if server else None

    def open(self, run: TrackedRun) -> str:
        """Start the worker and open the tracker in it; returns the tracker's `place`."""
        self._stderr = TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._process = Popen(
            self._command.argv,
            env=sparing_this_machine(self._command.environment),
            stdin=PIPE,
            stdout=PIPE,
            stderr=None if self._command.shown else self._stderr,
            umask=self._command.umask,
            # Ctrl-C stops the run, which then closes the tracker.
            start_new_session=True,
        )
        return self._ask(run)

    def record(self, point: Point) -> None:
        """Send a step."""
        self._ask(point)

    def close(self, closing: Closing) -> None:
        """Send the end of the run."""
        self._ask(closing)

    def end(self) -> None:
        """Wait for the worker's end and release its pipes; called last."""
        if self._process is not None:
            with suppress(TimeoutExpired, BrokenPipeError):
                self._process.communicate(timeout=_EXIT_SECONDS)
            self._process.kill()
            with self._process:
                pass
        if self._stderr is not None:
            self._stderr.close()

    def kill(self) -> None:
        """Kill the worker, in the middle of a call too; safe to call on any thread."""
        if self._process is not None:
            self._process.kill()

    def _ask(self, message: Message) -> str:
        assert self._process and self._process.stdin and self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.write(dump_message(message))
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise TrackerFailed(f"its process ended{self._last_error_line()}")
        reply = json.loads(line)
        if "failed" in reply:
            raise TrackerFailed(str(reply["failed"]))
        return str(reply["place"])

    def _last_error_line(self) -> str:
        assert self._stderr
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f": {last.strip()[:_LONGEST_ERROR]}" if last else ""


def dump_message(message: Message) -> bytes:
    """Encode a message as one line."""
    kind = type(message).__name__
    content = _KINDS[kind].dump_python(message, mode="json")
    return json.dumps([kind, content]).encode() + b"\n"


def load_message(line: str | bytes) -> Any:
    """Decode the message of a line."""
    kind, content = json.loads(line)
    return _KINDS[kind].validate_python(content)


def serve(open_tracker: Callable[[TrackedRun], Tracker]) -> None:
    """Run the worker: read messages from standard input, write a reply each to standard output.

    What the library prints goes to standard error. The end of the input means that the run ended.
    """
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)
        _serve(open_tracker, sys.stdin.buffer, replies)


def _serve(
    open_tracker: Callable[[TrackedRun], Tracker], messages: IO[bytes], replies: IO[bytes]
) -> None:
    tracker: Tracker | None = None
    for line in messages:
        message = load_message(line)
        reply = {"place": ""}
        try:
            if tracker is None:
                tracker = open_tracker(message)
                reply = {"place": text(tracker.place, "its place")}
            elif isinstance(message, Closing):
                tracker.close(message)
            else:
                tracker.record(message)
        # A library may fail in any way; the reply carries the error.
        except Exception as error:
            reply = {"failed": " ".join(f"{type(error).__name__}: {error}".split())}
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()
        if "failed" in reply or isinstance(message, Closing):
            return


if __name__ == "__main__":
    serve(load_tracker(sys.argv[1]).open)
