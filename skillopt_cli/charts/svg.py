"""SVG text, element by element. All text in it is escaped here, so no caller can forget it."""

from __future__ import annotations

from importlib.resources import files

from markupsafe import Markup, escape

from skillopt_cli.runlog.text.format import one_line

Value = str | float | None


def style() -> Markup:
    """The style sheet of all pictures; its colours are custom properties that a page may set."""
    return Markup(files(__package__).joinpath("pictures.css").read_text(encoding="utf-8"))


def tag(name: str, *children: Markup | str, **attributes: Value) -> Markup:
    """An element.

    Args:
        name: ours, never a foreign word, as the names of `attributes` are.
        children: what is not markup already is escaped, and loses what a screen would obey.
        attributes: escaped in the same way; `class_` is written as class, `view_box` as viewBox,
            other underscores for hyphens; None leaves one out.
    """
    written = "".join(
        f' {_name(key)}="{_value(value)}"' for key, value in attributes.items() if value is not None
    )
    inner = "".join(c if isinstance(c, Markup) else escape(one_line(c)) for c in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")


def drawing(
    label: str, size: tuple[float, float], class_: str, *children: Markup, role: str = "img"
) -> Markup:
    """A whole picture; `label` is its text for screen readers."""
    width, height = (number(side) for side in size)
    return tag(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        role=role,
        aria_label=label,
        class_=f"picture {class_}",
        view_box=f"0 0 {width} {height}",
        width=width,
        height=height,
    )


def sample(shape: Markup, words: str) -> Markup:
    """One shape for a legend, which lies between 0 and 12 on both axes."""
    return drawing(words, (12, 12), "sample", shape)


def number(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def _name(key: str) -> str:
    return "viewBox" if key == "view_box" else key.rstrip("_").replace("_", "-")


def _value(value: Value) -> str:
    if isinstance(value, Markup):
        return value
    return escape(one_line(value)) if isinstance(value, str) else number(value or 0)
