"""How far a run has come, at every point of its log."""

from __future__ import annotations

from command_line import TINY, finished_run

from skillopt_cli.core import events as ev
from skillopt_cli.planning.progress import Progress
from skillopt_cli.runlog.fold import apply
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.event_log import read_fact


def test_the_calls_of_the_part_that_is_not_recorded_are_known_at_every_point() -> None:
    log = finished_run(*TINY) / "events.jsonl"
    view, batches, tests, tested = RunView(), 0, 0, False
    for line in log.read_bytes().splitlines():
        fact = read_fact(log, "a line", line)
        view = apply(view, fact)
        calls = Progress.of(view).calls
        match fact.event:
            case ev.BaselineMeasured():
                assert calls["target", "measure"] == fact.event.n
            case ev.BatchScored():
                batches += 1
                assert calls["target", "rollout"] == fact.event.n
                assert ("target", "measure") not in calls
            case ev.CallMade(stage="test"):
                tests += 1
                # The seed may be tested while steps are at work.
                if view.done == view.total_steps:
                    tested = calls == {("target", "test"): tests}
                    assert tested
    assert batches == view.total_steps > 1
    assert tested
    assert Progress.of(view).calls == {}
