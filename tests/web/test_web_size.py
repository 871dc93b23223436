"""A long run costs the web page little memory and little time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench/web_page.py"


def measured(steps: int, tasks: int) -> dict[str, dict[str, float]]:
    argv = [sys.executable, str(BENCH), str(steps), str(tasks)]
    ended = subprocess.run(argv, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, float]] = json.loads(ended.stdout)
    return found


@pytest.mark.slow
def test_forty_steps_of_two_hundred_tasks() -> None:
    long, short = measured(40, 200), measured(4, 20)
    assert long["mb"] < 50
    for path, took in long["pages_ms"].items():
        # A hundred times the cells; by processor time, since others may be at work.
        assert took < max(200, 50 * short["pages_ms"][path]), (path, took)
