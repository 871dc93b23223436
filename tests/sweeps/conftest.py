"""For all tests of sweeps."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _usual_signals() -> Iterator[None]:
    """As a terminal has them; jobs in the background are begun to ignore some."""
    interrupted = signal.signal(signal.SIGINT, signal.default_int_handler)
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGHUP, hung_up)
