"""For all tests of sweeps."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _usual_signals() -> Iterator[None]:
    """Ctrl-C as a terminal has it; a shell's job in the background is begun to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
