"""The frame of all pages about one run."""

from __future__ import annotations

from typing import Any

from skillopt_cli.core.events import RunFinished
from skillopt_cli.ui.data import skill_words
from skillopt_cli.web.live import version_of
from skillopt_cli.web.runs import Seen
from skillopt_cli.web.site import Page

TABS = (
    ("Overview", ""),
    ("Steer", "/steer"),
    ("Tasks", "/tasks"),
    ("Skills", "/skills"),
    ("Epochs", "/epochs"),
    ("Spend", "/spend"),
    ("Settings", "/settings"),
)
"""Titles of a run's pages, and their addresses after the run's own."""


def framed(seen: Seen, template: str, tab: str, heading: str = "", **given: Any) -> Page:
    """A page about a run.

    Args:
        tab: which of `TABS` it belongs to.
        heading: what it is about, where that is not the tab.
    """
    # A finished run that is read to its end brings no news; any other may be taken up.
    done = isinstance(seen.view.ending, RunFinished)
    live = seen.at_work or not seen.whole or not done
    news = {"url": f"{seen.name.url}/live", "version": version_of(seen)} if live else None
    measured = skill_words(seen.view.run) if seen.view.run else ""
    frame = {
        "run": seen,
        "measured": measured,
        "tabs": TABS,
        "tab": tab,
        "heading": heading or tab,
        "news": news,
    }
    return Page(template, frame | given)
