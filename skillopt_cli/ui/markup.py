"""HTML from templates: the one place that sets up Jinja."""

from __future__ import annotations

import re

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from skillopt_cli.ui.words import one_line

_LITERAL = re.compile(r"`([^`]+)`")


def environment(*packages: str) -> Environment:
    """Templates of the folders `templates` in packages; those of the first one win.

    Whatever a template prints is escaped, except for what is `Markup` already; a name it does not
    know is an error.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package, "templates") for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["prose"] = prose
    return made


def prose(text: str) -> Markup:
    """A message of ours as HTML on one line: escaped, and what stands in backticks as code."""
    return Markup(_LITERAL.sub(r"<code>\1</code>", str(escape(one_line(text)))))
