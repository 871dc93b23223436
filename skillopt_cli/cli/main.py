"""Entry point of the console script: loads the program within a guard, and says its version."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from skillopt_cli import __version__

INTERRUPTED = 130
_SAID = "error: stopped by the user\n"


def main() -> None:
    """Run the program. Its import takes a while, and Ctrl-C may come in it as well."""
    try:
        if sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"skillopt {__version__}\n")
            return
        _loaded()()
    except KeyboardInterrupt:
        sys.stderr.write(_SAID)
        sys.exit(INTERRUPTED)


def _loaded() -> Callable[[], object]:
    """The program. Ctrl-C ends the process at once until it is there.

    As an exception it would come out of the libraries that are loading as an error of theirs.
    """
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    from skillopt_cli.cli.app import app

    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return app


def _leave(number: int, frame: object) -> None:
    sys.stderr.write(_SAID)
    sys.stderr.flush()
    os._exit(INTERRUPTED)
