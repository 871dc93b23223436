"""T20: a call that never answers is ended at its limit, and so is the process with its run."""

from __future__ import annotations

from command_line import TINY, events, outcome, train

LIMITS = (*TINY, "--set", "model.timeout=0.3", "--set", "model.retry.base_seconds=0")


def test_hanging_calls_end_at_their_limit_and_change_nothing() -> None:
    hanging = train(*LIMITS, "--set", "model.simulated.hangs=2", run_id="hanging")
    calm = train(*LIMITS, run_id="calm")
    assert outcome(hanging) == outcome(calm)
    reasons = [event["reason"] for event in events(hanging, "call_retried")]
    assert sum("did not answer within 0.3 s" in reason for reason in reasons) >= 2
