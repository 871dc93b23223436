"""A score's course at a glance, as blocks for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = ".:-=+*#@"


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


def _heights(values: Sequence[float | None]) -> list[float | None]:
    """Each value's place between the lowest (0) and the highest (1); all equal: in the middle."""
    known = [value for value in values if value is not None]
    low = min(known, default=0.0)
    span = max(known, default=0.0) - low
    return [None if v is None else (v - low) / span if span else 0.5 for v in values]
