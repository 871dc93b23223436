"""A page of blocks as one HTML file, which opens without a network and holds no script."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from skillopt_cli.charts.svg import style
from skillopt_cli.reports.page import Block, Heading, Line, visible
from skillopt_cli.runlog.text.format import one_line

_NO_NAME = re.compile(r"[^a-z0-9]+")
_LITERAL = re.compile(r"`([^`]+)`")
Part = tuple[str, Any]


def as_html(blocks: Iterable[Block]) -> str:
    """The page as HTML. Foreign texts are shown as they are, never read as markup."""
    parts = list(parts_of(blocks))
    title = next((block.text for kind, block in parts if kind == "heading"), "skillopt")
    sections = [b.text for kind, b in parts if kind == "heading" and b.level == 2]
    return (
        drawing()
        .get_template("report.html")
        .render(title=title, sections=sections, parts=parts, style=style())
    )


def drawing(*packages: str) -> Environment:
    """Templates that draw the parts of a page with the macros of `blocks.html`.

    Whatever a template prints is escaped, except for what is `Markup` already; a name it does not
    know is an error.

    Args:
        packages: whose folders `templates` come before that of the report.
    """
    folders = [PackageLoader(name, "templates") for name in (*packages, "skillopt_cli.reports.run")]
    made = Environment(
        loader=ChoiceLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"anchor": _anchor, "visible": _visible, "prose": prose}
    made.globals |= {"inner": parts_of}
    return made


def parts_of(blocks: Iterable[Block]) -> Iterator[Part]:
    """Each block with its kind; neighbouring lines become one list."""
    items: list[Line] = []
    for block in blocks:
        if isinstance(block, Line) and not block.free:
            items.append(block)
            continue
        if items:
            yield "list", items
            items = []
        yield type(block).__name__.lower(), block
    if items:
        yield "list", items


def _anchor(heading: Heading | str) -> str:
    """The name a heading is found by: `step-3`."""
    text = heading if isinstance(heading, str) else heading.text
    return _NO_NAME.sub("-", text.lower()).strip("-")


def _visible(text: str) -> str:
    """A text of several lines without what a reader could not see."""
    return "\n".join(visible(line) for line in text.strip("\n").split("\n"))


def prose(text: str) -> Markup:
    """A message of ours as HTML on one line: escaped, and what is in backticks as code.

    HTML stays as it is.
    """
    if isinstance(text, Markup):
        return text
    return Markup(_LITERAL.sub(r"<code>\1</code>", str(escape(one_line(text)))))
