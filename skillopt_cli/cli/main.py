"""Entry point of the console script: version, Ctrl-C, closed streams, a removed working folder."""

from __future__ import annotations

import gc
import os
import pathlib
import signal
import sys
from collections.abc import Callable

from skillopt_cli import __version__

INTERRUPTED = 130
_USAGE = 2
_NO_FOLDER = (
    "error: the working folder was removed, or may not be read\n"
    "hint: change to another folder and start again\n"
)
_SAID = "stopped by the user\n"
_OBJECTS_PER_COLLECTION = 250_000
"""New objects between two passes of the garbage collector; Python's own default is 700.

Loading makes many objects and drops none, so that passes over them find nothing.
"""


def main() -> None:
    """Run the program. Its import takes a while, and Ctrl-C may come in it as well."""
    try:
        if sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"skillopt {__version__}\n")
            return
        _open_closed_streams()
        if not _in_a_folder():
            sys.stderr.write(_NO_FOLDER)
            sys.exit(_USAGE)
        gc.set_threshold(_OBJECTS_PER_COLLECTION)
        _loaded()()
    except KeyboardInterrupt:
        sys.stderr.write(_SAID)
        sys.exit(INTERRUPTED)
    finally:
        _drop_unwritable()


def _open_closed_streams() -> None:
    """Lead streams that the shell closed to nowhere, before a file takes their descriptors."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _in_a_folder() -> bool:
    try:
        pathlib.Path.cwd()
    except OSError:
        return False
    return True


def _drop_unwritable() -> None:
    """Drop what is left of an output that nobody takes, or Python would complain at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _loaded() -> Callable[[], object]:
    """The program. Ctrl-C ends the process at once until it is there.

    As an exception it would come out of the libraries that are loading as an error of theirs.
    """
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled:
        signal.signal(signal.SIGINT, _leave)
    from skillopt_cli.cli.app import app

    if handled:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return app


def _leave(number: int, frame: object) -> None:
    sys.stderr.write(_SAID)
    sys.stderr.flush()
    os._exit(INTERRUPTED)
