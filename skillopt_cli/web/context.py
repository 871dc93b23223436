"""What every page is built from: runs, templates, `Page` and flash messages."""

from __future__ import annotations

import json
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from skillopt_cli import __version__
from skillopt_cli.control.commands import Command
from skillopt_cli.reports.run.html import drawing
from skillopt_cli.runlog.text.action import action_words
from skillopt_cli.runlog.text.edit import edit_words, ground_words
from skillopt_cli.runlog.text.epoch import guidance_fate, guidance_outcome
from skillopt_cli.runlog.text.format import count, duration, one_line, p_words, plain_words, score
from skillopt_cli.runlog.text.header import families_note
from skillopt_cli.web.paths import Outputs, RunName
from skillopt_cli.web.runs import Runs
from skillopt_cli.web.security import Access

ASSETS = files(__package__).joinpath("assets")
ECHARTS = "echarts-6.1.0.min.js"
"""The library that draws the charts; licences of such files are in `LICENSES.txt` beside it."""
_JOINT = re.compile(r"([/_.-])(?=[^/_.-])")
_NUMBER = re.compile(r"[0-9]{1,9}")
MOST_MESSAGES = 100
"""Messages in memory; the oldest is dropped first."""


@dataclass(frozen=True, slots=True)
class FlashMessage:
    """A text that confirms what was done.

    Attributes:
        command: what it confirms; None where it was no command to a process.
    """

    text: str = ""
    command: Command | None = None


NO_MESSAGE = FlashMessage()


class FlashMessages:
    """Short texts by a random name, so that an address cannot inject text into a page."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, FlashMessage] = OrderedDict()

    def add(self, text: str, command: Command | None) -> str:
        """Store a message; returns its name."""
        name = secrets.token_urlsafe(9)
        # With the time of day, since it stays on an open page.
        timed = f"{text} (at {datetime.now().astimezone():%H:%M:%S})"
        self._kept[name] = FlashMessage(timed, command)
        while len(self._kept) > MOST_MESSAGES:
            self._kept.popitem(last=False)
        return name

    def get(self, name: str) -> FlashMessage:
        """The message of a name, an empty one if there is none."""
        return self._kept.get(name, NO_MESSAGE)


@dataclass(frozen=True, slots=True)
class Page:
    """A template, its variables and the HTTP status."""

    template: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class WebContext:
    """The state of the web application.

    Attributes:
        access: where the server listens and who may use it.
        stream: seconds that an event stream lasts.
        form_token: a secret in every form of this server; forms without it are refused.
        flash: messages for the page after a redirect.
        stopping: set when the server stops, so that open streams end.
    """

    outputs: Outputs
    runs: Runs
    access: Access
    templates: Environment
    stream: float
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    flash: FlashMessages = field(default_factory=FlashMessages)
    stopping: Event = field(default_factory=Event)

    @classmethod
    def of(cls, root: Path, access: Access, patience: float, stream: float) -> WebContext:
        """The context for an outputs folder."""
        outputs = Outputs(root)
        return cls(outputs, Runs(outputs, patience), access, _templates(), stream)

    def render(self, page: Page) -> Response:
        """Render the page as HTML that no browser caches, since runs change."""
        template = self.templates.get_template(page.template)
        text = template.render(page.variables, form_token=self.form_token)
        return HTMLResponse(text, page.status, {"Cache-Control": "no-store"})


def run_name(request: Request) -> RunName:
    """The run that an address names."""
    return RunName(request.path_params["benchmark"], request.path_params["run"])


def whole_number(text: str) -> int | None:
    """Parse a number of an address or a form; None for other text and for more than 9 digits."""
    return int(text) if _NUMBER.fullmatch(text) else None


@lru_cache(maxsize=1)
def _templates() -> Environment:
    environment = drawing("skillopt_cli.web")
    environment.filters |= {
        "action": action_words,
        "score": score,
        "one_line": one_line,
        "name": breakable,
        "count": count,
        "duration": duration,
        "plain_words": plain_words,
        "p_words": p_words,
        "guidance_fate": guidance_fate,
        "guidance_outcome": guidance_outcome,
        "edit_words": lambda edit: edit_words(edit, 200),
        "ground_words": ground_words,
        "families_note": families_note,
        "exact": exact,
        "moment": moment,
        "count_of": count_of,
        "thousands": "{:,}".format,
    }
    environment.globals |= {"version": __version__, "echarts": ECHARTS}
    # Compiled at the start, so that the first visit to a page is fast.
    for name in environment.list_templates(extensions=["html"]):
        environment.get_template(name)
    return environment


def exact(value: object) -> str:
    """Format a value for programs that read the page: JSON, empty for an unknown value."""
    return "" if value is None else json.dumps(value)


def moment(time: float | None) -> str:
    """Format a time, in the time zone of the server."""
    if not time:
        return "-"
    return datetime.fromtimestamp(time, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def breakable(name: str) -> Markup:
    """The name with optional line breaks between its parts."""
    return Markup(_JOINT.sub(r"\1<wbr>", str(escape(one_line(name)))))


def count_of(values: Sequence[object] | None) -> int:
    """Number of values, 0 for None."""
    return len(values or ())
