"""A score's course at a glance: as blocks for a terminal, as a line for a page."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from skillopt_cli.charts.svg import drawing, number, tag
from skillopt_cli.runlog.text.format import score

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = ".:-=+*#@"
_WIDTH, _HEIGHT, _EDGE = 96, 22, 3


def sparkline(values: Sequence[float | None], *, limit: int = 40, plain: bool = False) -> str:
    """The last `limit` values as blocks between their lowest and highest; unknown ones are blank.

    Values that are all equal are drawn at half height.
    """
    shown = values[-limit:]
    if all(value is None for value in shown):
        return ""
    blocks = _ASCII_BLOCKS if plain else _BLOCKS
    top = len(blocks) - 1
    level = len(set(shown) - {None}) == 1
    return "".join(
        " " if h is None else blocks[top // 2 if level else round(h * top)] for h in _heights(shown)
    )


def spark(values: Sequence[float | None]) -> Markup:
    """The same as a small line, from the first value to the last."""
    places = _heights(values)
    known = [value for value in values if value is not None]
    if not known:
        return Markup()
    across = (_WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    points = [
        (_EDGE + i * across, _HEIGHT - _EDGE - h * (_HEIGHT - 2 * _EDGE))
        for i, h in enumerate(places)
        if h is not None
    ]
    line = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
    end = tag("circle", class_="now", cx=points[-1][0], cy=points[-1][1], r=2)
    words = f"score from {score(known[0])} to {score(known[-1])}"
    return drawing(words, (_WIDTH, _HEIGHT), "spark", tag("path", class_="current", d=line), end)


def _heights(values: Sequence[float | None]) -> list[float | None]:
    """Each value's place between the lowest (0) and the highest (1); all equal: in the middle."""
    known = [value for value in values if value is not None]
    low = min(known, default=0.0)
    span = max(known, default=0.0) - low
    return [None if v is None else (v - low) / span if span else 0.5 for v in values]
