"""What every page is made with: the runs, the templates, and the shape of an answer."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from threading import Event
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from skillopt_cli import __version__
from skillopt_cli.ui.report.html import drawing
from skillopt_cli.ui.words import count, duration, edit_words, one_line, score
from skillopt_cli.web.places import Named, Outputs
from skillopt_cli.web.runs import PATIENCE, Runs
from skillopt_cli.web.security import Access
from skillopt_cli.web.told import Told

ASSETS = files(__package__).joinpath("assets")
_JOINT = re.compile(r"([/_.-])(?=[^/_.-])")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Page:
    """A template, and what it is given beside what all of them are."""

    template: str
    given: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Site:
    """All that pages are made from.

    Attributes:
        access: where the page listens; runs are started with the same outputs folder.
        sign: what the forms of this server bear, so that no other page's is taken for one.
        told: answers of runs that pages still have to show.
        stopping: set once the server is to stop, so that open streams end.
    """

    outputs: Outputs
    runs: Runs
    access: Access
    templates: Environment
    sign: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    told: Told = field(default_factory=Told)
    stopping: Event = field(default_factory=Event)

    @classmethod
    def on(cls, outputs: Outputs, access: Access, patience: float = PATIENCE) -> Site:
        """The site of an outputs folder."""
        return cls(outputs, Runs(outputs, patience), access, _templates())

    def answer(self, page: Page) -> Response:
        """The page as HTML. It is never kept by a browser: runs change."""
        text = self.templates.get_template(page.template).render(page.given, sign=self.sign)
        return HTMLResponse(text, page.status, {"Cache-Control": "no-store"})


def named(request: Request) -> Named:
    """The run an address is about."""
    return Named(request.path_params["benchmark"], request.path_params["run"])


def whole_number(text: str) -> int | None:
    """A number in an address or a form; None where it is none, or longer than any of ours."""
    return int(text) if _NUMBER.fullmatch(text) else None


@lru_cache(maxsize=1)
def _templates() -> Environment:
    made = drawing("skillopt_cli.web")
    made.filters |= {
        "score": score,
        "one_line": one_line,
        "name": breakable,
        "count": count,
        "duration": duration,
        "edit_words": lambda edit: edit_words(edit, 200),
        "exact": exact,
        "moment": moment,
        "count_of": count_of,
    }
    made.globals |= {"version": __version__}
    # Now, so that whoever opens a page first does not wait for it.
    for name in made.list_templates(extensions=["html"]):
        made.get_template(name)
    return made


def exact(value: object) -> str:
    """A value for programs that read the page: JSON, with nothing for what is not known."""
    return "" if value is None else json.dumps(value)


def moment(time: float | None) -> str:
    """A time of day, in the zone of the machine that serves the page."""
    if not time:
        return "-"
    return datetime.fromtimestamp(time, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def breakable(name: str) -> Markup:
    """A name that a narrow place may break where its parts end, and only there if that will do."""
    return Markup(_JOINT.sub(r"\1<wbr>", str(escape(one_line(name)))))


def count_of(values: Sequence[object] | None) -> int:
    """How many there are, 0 for none at all."""
    return len(values or ())
