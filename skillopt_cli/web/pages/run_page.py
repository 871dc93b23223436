"""`run_page`: builds a page about one run, with its tabs, heading and status."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from skillopt_cli.core.events import RunFailed, RunFinished
from skillopt_cli.runlog.summary import status
from skillopt_cli.runlog.text.exit_error import exit_error
from skillopt_cli.runlog.text.format import plain_words
from skillopt_cli.runlog.text.header import skill_words
from skillopt_cli.runlog.text.unfinished import stopped_by_user
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import EVAL_PLAN
from skillopt_cli.web.context import Page
from skillopt_cli.web.live import version_of
from skillopt_cli.web.pages.sweeps import sweep_link
from skillopt_cli.web.runs import RunSnapshot

TABS = (
    ("Overview", ""),
    ("Steer", "/steer"),
    ("Tasks", "/tasks"),
    ("Skills", "/skills"),
    ("Epochs", "/epochs"),
    ("Spend", "/spend"),
    ("Settings", "/settings"),
)
"""Titles of a run's pages, and their paths below the run's address."""

UNREAD = "Its state is shown once its log is read."
"""In place of the state of a run without a process, whose log may have its ending."""


def run_page(
    snapshot: RunSnapshot, template: str, tab: str, heading: str = "", **variables: Any
) -> Page:
    """A page about a run.

    Args:
        tab: the tab of `TABS` it belongs to.
        heading: its heading, if that is not the tab's title.
        variables: further variables of the template.
    """
    # A finished run that is read completely does not change; any other may be resumed.
    done = isinstance(snapshot.view.ending, RunFinished)
    live = snapshot.at_work or not snapshot.whole or not done
    news = {"url": f"{snapshot.name.url}/live", "version": version_of(snapshot)} if live else None
    measured = skill_words(snapshot.view.run) if snapshot.view.run else ""
    frame = {
        "run": snapshot,
        "measured": measured,
        "sweep": sweep_link(snapshot.folder.parent.parent, snapshot.name),
        "rerun": _rerun_url(snapshot),
        "tabs": TABS,
        "tab": tab,
        "heading": heading or tab,
        "news": news,
    }
    return Page(template, frame | variables)


def _rerun_url(snapshot: RunSnapshot) -> str:
    """The form of a new run, filled in with the settings of this one; empty for an evaluation."""
    view = snapshot.view
    measures = view.run or (snapshot.folder / EVAL_PLAN).exists()
    if not view.total_steps and measures:
        return ""
    return f"/new?{urlencode({'run': snapshot.name.key}, errors='surrogatepass')}"


def ended(view: RunView) -> dict[str, Any] | None:
    """When, how and why a run ended, where that was early or with an error; else None."""
    end = view.ending
    why = end if isinstance(end, RunFailed) else exit_error(end.exit_code) if end else None
    if why is None:
        return None
    how = "Failed" if status(view) == "failed" else "Ended"
    again = " again, after it was resumed," if view.failures > 1 else ""
    return {
        "by_user": stopped_by_user(view),
        "how": f"{how}{again}",
        "time": view.time,
        "message": why.message,
        "hint": why.hint,
    }


def status_sentence(state: str, place: str, stages: Iterable[str]) -> str:
    """The state of a run in a sentence, for screen readers."""
    running = " and ".join(dict.fromkeys(map(plain_words, stages)))
    at_work = f", at work on {running}" if running else ""
    return f"{state}{place}{at_work}"
