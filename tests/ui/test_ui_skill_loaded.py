from __future__ import annotations

from dataclasses import replace

from skillopt_cli.core import events as ev
from skillopt_cli.core.task import Ending
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.run.document import report_document
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.runlog.fold_work import take_work
from skillopt_cli.runlog.view import RunView

STARTED = ev.RunStarted("r", "searchqa", 0, 4, 2, "o", "t", "d", 1, 1, 1, "hard")


def rollout(
    loaded: bool | None, *, recalled: bool = False, ending: Ending = "answered"
) -> ev.RolloutFinished:
    score = None if ending == "broken" else 1.0
    return ev.RolloutFinished(
        1, "rollout", "t", score, score, ending, recalled, skill_loaded=loaded
    )


def view(*facts: ev.RolloutFinished) -> RunView:
    seen = replace(RunView(), run=STARTED)
    for fact in facts:
        seen = take_work(seen, fact)
    return seen


def told(seen: RunView) -> tuple[str, object]:
    reported = Subject("r", seen)
    (run,) = report_document([reported])["runs"]
    return as_markdown(run_report(reported)), run["skill_loaded"]


def test_the_share_of_attempts_that_loaded_the_skill_is_told() -> None:
    seen = view(
        *[rollout(True)] * 3,
        rollout(False),
        rollout(None),
        rollout(False, ending="broken"),
        rollout(False, recalled=True),
    )
    page, document = told(seen)
    assert "The agent loaded the skill in 3 of 4 attempts (75%)" in page
    assert document == {"loaded": 3, "not_loaded": 1, "share": 0.75}


def test_nothing_is_told_of_targets_that_cannot_say() -> None:
    page, document = told(view(rollout(None)))
    assert "loaded the skill" not in page and document is None
