"""HTML from templates: the one place that sets up Jinja."""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def environment(*packages: str) -> Environment:
    """Templates of the folders `templates` in packages; those of the first one win.

    Whatever a template prints is escaped, except for what is `Markup` already; a name it does not
    know is an error.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(package, "templates") for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
