"""The signals that stop a run so that it can be resumed."""

from __future__ import annotations

import signal

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a service manager's, and that of a terminal that closes."""


def handled_signals() -> tuple[signal.Signals, ...]:
    """Return the stop signals, without a hang-up that this process ignores, as below `nohup`."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return tuple(one for one in STOP_SIGNALS if not (ignored and one is signal.SIGHUP))


def counted(count: int, number: int) -> int:
    """Return the number of requests to stop after one more signal. Pure.

    A hang-up is the first or none, since both the system and the shell send one when a terminal
    closes, and the second request stops at once.
    """
    return max(count, 1) if number == signal.SIGHUP else count + 1
