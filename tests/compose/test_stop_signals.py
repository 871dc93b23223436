from __future__ import annotations

import signal
from signal import SIGHUP, SIGINT, SIGTERM

import pytest

from skillopt_cli.compose.stop_signals import counted, handled_signals


@pytest.mark.parametrize(
    ("received", "requests"),
    [
        ([SIGINT], 1),
        ([SIGINT, SIGTERM], 2),
        ([SIGHUP, SIGHUP, SIGHUP], 1),
        ([SIGTERM, SIGHUP], 1),
        ([SIGHUP, SIGINT], 2),
        ([SIGINT, SIGINT, SIGHUP, SIGINT], 3),
    ],
)
def test_a_terminal_that_closes_never_stops_at_once(
    received: list[signal.Signals], requests: int
) -> None:
    count = 0
    for number in received:
        count = counted(count, number)
    assert count == requests


@pytest.mark.parametrize("ignored", [True, False])
def test_what_nohup_ignores_is_ignored(ignored: bool) -> None:
    before = signal.signal(SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        assert handled_signals() == ((SIGINT, SIGTERM) if ignored else (SIGINT, SIGTERM, SIGHUP))
    finally:
        signal.signal(SIGHUP, before)
