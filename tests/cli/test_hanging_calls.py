"""T20: a call that never answers is ended at its limit, and so is the process with its run."""

from __future__ import annotations

import time

from command_line import TINY, outcome, train

LIMITS = (*TINY, "--set", "model.timeout=0.3", "--set", "model.retry.base_seconds=0")


def test_hanging_calls_end_at_their_limit_and_change_nothing() -> None:
    began = time.monotonic()
    hanging = train(*LIMITS, "--set", "model.simulated.hangs=2", run_id="hanging")
    assert time.monotonic() - began < 60
    calm = train(*LIMITS, run_id="calm")
    assert outcome(hanging) == outcome(calm)
    assert "call_retried" in (hanging / "events.jsonl").read_text(encoding="utf-8")
