"""HTML from templates: the one place that sets up Jinja."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment(package: str) -> Environment:
    """Templates of the folder `templates` in a package.

    Whatever a template prints is escaped, except for what is `Markup` already; a name it does not
    know is an error.
    """
    return Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
