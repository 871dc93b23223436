"""The style sheet of the pictures, in light and dark."""

from __future__ import annotations

from importlib.resources import files

from markupsafe import Markup


def style() -> Markup:
    """The rules as CSS text; colours are custom properties, which a page may set anew."""
    return Markup(files(__package__).joinpath("pictures.css").read_text(encoding="utf-8"))
