"""A line plot of mean test scores over steps, as SVG text that depends on its input alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 700, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 200, 40, 44
COLOURS = ("#b5532a", "#2a6fb5")
DASHES = ("6 4", "none")
STYLE = (
    "text{font:13px sans-serif;fill:#333}.title{font-weight:bold}"
    ".grid{stroke:#ddd}.line{fill:none;stroke-width:2.5}.one{fill:none;stroke-width:1;opacity:.25}"
)

Curves = Sequence[Sequence[float]]


def svg(title: str, lines: Mapping[str, Sequence[float]], runs: Mapping[str, Curves]) -> str:
    """One thick line per name over the thin ones of its runs; scores run from 0 to 1."""
    steps = max(len(line) for line in lines.values()) - 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{title}</title><style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{LEFT}" y="22">{title}</text>',
        *_axes(steps),
    ]
    ends = _apart([_y(line[-1]) for line in lines.values()])
    for (name, line), end, colour, dash in zip(lines.items(), ends, COLOURS, DASHES, strict=True):
        stroke = f'stroke="{colour}"'
        for run in runs[name]:
            parts.append(f'<polyline class="one" {stroke} points="{_points(run, steps)}"/>')
        dashed = f'stroke-dasharray="{dash}"'
        parts.append(f'<polyline class="line" {stroke} {dashed} points="{_points(line, steps)}"/>')
        parts.append(f'<text x="{_x(steps, steps) + 8:.1f}" y="{end + 4:.1f}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axes(steps: int) -> list[str]:
    parts = []
    for tenth in range(0, 11, 2):
        y = _y(tenth / 10)
        ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
        parts.append(f'<line class="grid" {ends}/>')
        label = f'x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end"'
        parts.append(f"<text {label}>{tenth / 10:.1f}</text>")
    for step in range(steps + 1):
        place = f'x="{_x(step, steps):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle"'
        parts.append(f"<text {place}>{step}</text>")
    middle = f'x="{_x(steps, 2 * steps):.1f}" y="{HEIGHT - 8}" text-anchor="middle"'
    parts.append(f"<text {middle}>steps; test score of the current skill</text>")
    return parts


def _points(line: Sequence[float], steps: int) -> str:
    return " ".join(f"{_x(step, steps):.1f},{_y(score):.1f}" for step, score in enumerate(line))


def _x(step: float, steps: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * step / max(steps, 1)


def _y(score: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * score


def _apart(ends: Sequence[float]) -> list[float]:
    """Heights of two labels, moved apart where they would overlap."""
    upper, lower = sorted(ends)
    push = max(0.0, 16 - (lower - upper)) / 2
    return [end - push if end == upper else end + push for end in ends]
