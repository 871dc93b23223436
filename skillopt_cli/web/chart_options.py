"""Options of the charts, as JSON for ECharts; colours are custom properties of the style sheet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from skillopt_cli.charts.score_curve import MARK_WORDS, MarkKind, course, curve_words, scored
from skillopt_cli.core.statistics import interval
from skillopt_cli.runlog.text.format import count, one_line, score
from skillopt_cli.runlog.view import RunView

Option = dict[str, Any]
Interval = tuple[float, float]

BAND = "95 % interval of the skill in force"
_CROSS = "path://M2 0L0 2L3 5L0 8L2 10L5 7L8 10L10 8L7 5L10 2L8 0L5 3Z"
_DOWN = "path://M0 1H10L5 9Z"
_SYMBOLS: dict[MarkKind, Option] = {
    "taken": {"symbol": "circle", "symbolSize": 10, "itemStyle": {"color": "--good"}},
    "refused": {"symbol": _CROSS, "symbolSize": 9, "itemStyle": {"color": "--bad"}},
    "bound": {
        "symbol": _DOWN,
        "symbolSize": 10,
        "itemStyle": {"color": "--paper", "borderColor": "--bad", "borderWidth": 1.5},
    },
    "open": {"symbol": "emptyCircle", "symbolSize": 9, "itemStyle": {"color": "--quiet"}},
    "guided": {"symbol": "diamond", "symbolSize": 12, "itemStyle": {"color": "--odd"}},
}
"""How marks are drawn: distinct without colour."""
_DASHES = ("solid", "dashed", "dotted", [8, 3, 2, 3])
COLOURS = 8
"""Colours of the style sheet for lines of several runs."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Attributes:
        words: what it shows, for screen readers and below it.
        option: of ECharts, as JSON.
    """

    words: str
    option: str


def score_chart(view: RunView) -> Chart:
    """The scores of a run by step, from zero, with their intervals."""
    ends = list(_intervals(view))
    line = _line(view, "in force", ends)
    highest = [*(end[1] for end in ends if end), *(mark.value for mark in scored(view))]
    option = _stepped(max(view.total_steps, len(line) - 1), [*highest, *_heights(line)])
    option["xAxis"].append(_epoch_names(view, option["xAxis"][0]["data"]))
    option["series"] = [
        *_band(ends),
        {
            "name": "best skill",
            "type": "line",
            "step": "middle",
            "symbol": "none",
            "lineStyle": {"color": "--best", "width": 6},
            "itemStyle": {"color": "--best"},
            "data": [best for _, _, best in _by_step(view)],
        },
        {
            "name": "skill in force",
            "type": "line",
            "step": "middle",
            "symbolSize": 6,
            "lineStyle": {"color": "--link", "width": 2},
            "itemStyle": {"color": "--link"},
            "data": line,
            "markLine": _epoch_lines(view),
        },
        *_marks(view),
    ]
    return Chart(curve_words(view), json.dumps(option))


def overlaid_chart(runs: Sequence[tuple[str, RunView]]) -> Chart:
    """The scores of the skill in force of several runs, by step."""
    lines = [
        (one_line(label), _line(view, f"{one_line(label)}, in force", list(_intervals(view))))
        for label, view in runs
    ]
    heights = [height for _, line in lines for height in _heights(line)]
    option = _stepped(max(len(line) - 1 for _, line in lines), heights)
    option["series"] = [
        {
            "name": label,
            "type": "line",
            "step": "middle",
            "symbolSize": 6,
            "lineStyle": {"color": colour, "width": 2, "type": _DASHES[i % len(_DASHES)]},
            "itemStyle": {"color": colour},
            "data": line,
        }
        for i, (label, line) in enumerate(lines)
        for colour in [f"--series-{i % COLOURS + 1}"]
    ]
    words = "; ".join(f"{one_line(label)}: {curve_words(view)}" for label, view in runs)
    return Chart(f"Score curves of {count(len(lines), 'run')}. {words}", json.dumps(option))


def _heights(line: Iterable[Option | None]) -> Iterator[float]:
    return (point["value"] for point in line if point)


def _stepped(steps: int, heights: Iterable[float]) -> Option:
    """The frame of a chart of scores by step, which begins at zero.

    Args:
        heights: of all that is drawn; where all are zero, the axis has the whole range of scores.
    """
    return {
        "animation": False,
        "textStyle": {"color": "--quiet", "fontFamily": "system-ui, sans-serif"},
        "grid": {"left": 4, "right": 20, "top": 64, "bottom": 24, "containLabel": True},
        "legend": {
            "type": "scroll",
            "left": 0,
            "top": 36,
            "itemWidth": 18,
            "itemHeight": 10,
            "textStyle": {"color": "--ink"},
            "pageTextStyle": {"color": "--ink"},
        },
        "tooltip": tooltip("axis"),
        "toolbox": {
            "right": 0,
            "top": 3,
            "itemGap": 14,
            "iconStyle": {"borderColor": "--quiet"},
            # Below the symbol its title would cover the legend.
            "emphasis": {"iconStyle": {"borderColor": "--link", "textPosition": "top"}},
            "feature": {
                "dataZoom": {"title": {"zoom": "zoom to an area", "back": "zoom back"}},
                "restore": {"title": "show all"},
            },
        },
        "dataZoom": [
            {
                "type": "inside",
                "zoomOnMouseWheel": "ctrl",
                "moveOnMouseMove": False,
                "preventDefaultMouseMove": False,
            }
        ],
        "xAxis": [
            {
                "type": "category",
                "name": "step",
                "nameLocation": "middle",
                "nameGap": 24,
                # A level reaches halfway to its neighbours, so that the last one has a width too.
                "boundaryGap": True,
                "axisLine": {"lineStyle": {"color": "--line"}},
                "axisLabel": {"color": "--quiet"},
                "data": ["seed", *(str(step) for step in range(1, steps + 1))],
            }
        ],
        "yAxis": {
            "type": "value",
            "min": 0,
            **({} if any(heights) else {"max": 1}),
            "axisLabel": {"color": "--quiet"},
            "splitLine": {"lineStyle": {"color": "--line"}},
        },
    }


def tooltip(trigger: str) -> Option:
    """The box beside the pointer; its words come with the data."""
    return {
        "trigger": trigger,
        "backgroundColor": "--raised",
        "borderColor": "--line",
        "textStyle": {"color": "--ink", "fontSize": 13},
    }


def _by_step(view: RunView) -> list[tuple[int, float | None, float | None]]:
    """Step, score in force and best score, without gaps; unknown ones are None."""
    known = {step: (current, best) for step, current, best in course(view)}
    last = max(known, default=-1)
    return [(step, *known.get(step, (None, None))) for step in range(last + 1)]


def _line(view: RunView, title: str, reach: Sequence[Interval | None]) -> list[Option | None]:
    """The points of the skill in force, with what the tooltip shows.

    Args:
        reach: the interval of each score.
    """
    points: list[Option | None] = []
    for (step, current, best), ends in zip(_by_step(view), reach, strict=True):
        if current is None:
            points.append(None)
            continue
        spread = f" (95 % interval {score(ends[0])} to {score(ends[1])})" if ends else ""
        place = f"after step {step}" if step else "seed"
        words = f"{place}: {title} {score(current)}{spread}"
        if best is not None and best != current:
            words += f", best {score(best)}"
        points.append({"value": round(current, 6), "words": words})
    return points


def _intervals(view: RunView) -> Iterator[Interval | None]:
    """The interval of each score in force, None where its number of tasks is unknown."""
    counts = {(0, 0): view.baseline.scored if view.baseline else 0}
    counts |= {(s.number, 0): s.gate.decision.scored for s in view.steps if s.gate}
    for epoch in view.epochs:
        if epoch.slow and epoch.slow.decision:
            counts[0, epoch.number] = epoch.slow.decision.scored
    standing = {step.number: step.standing for step in view.steps if step.standing}
    for step, current, _ in _by_step(view):
        known = standing.get(step)
        number = known.current_epoch if known else 0
        origin = (0, number) if number else (known.current_step if known else 0, 0)
        n = counts.get(origin, 0)
        yield interval(current, n) if current is not None and n else None


def _band(ends: Sequence[Interval | None]) -> Iterator[Option]:
    """The interval of the skill in force: the area between two lines."""
    shared = {
        "name": BAND,
        "type": "line",
        "step": "middle",
        "symbol": "none",
        "stack": "interval",
        "silent": True,
        "emphasis": {"disabled": True},
        "lineStyle": {"width": 0},
        "itemStyle": {"color": "--band"},
    }
    yield shared | {"data": [end and round(end[0], 6) for end in ends]}
    width = [end and round(end[1] - end[0], 6) for end in ends]
    yield shared | {"areaStyle": {"color": "--band", "opacity": 1}, "data": width}


def _epoch_starts(view: RunView) -> dict[int, int]:
    """The epoch that begins at a step, by step; without the first one."""
    plans = [step.plan for step in view.steps if step.plan is not None]
    return {
        after.step: after.epoch for before, after in pairwise(plans) if after.epoch != before.epoch
    }


def _epoch_lines(view: RunView) -> Option:
    """Where epochs begin."""
    return {
        "silent": True,
        "symbol": "none",
        "lineStyle": {"color": "--quiet", "type": "dotted"},
        "label": {"show": False},
        "data": [{"xAxis": str(step)} for step in _epoch_starts(view)],
    }


def _epoch_names(view: RunView, places: Sequence[str]) -> Option:
    """The names of epochs, above their lines.

    They are labels of an axis: of those the library leaves out what would overlap, of the labels
    of lines it does not.

    Args:
        places: the categories of the axis of steps.
    """
    starts = _epoch_starts(view)
    return {
        "type": "category",
        "position": "top",
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "axisPointer": {"show": False},
        "axisLabel": {"color": "--quiet", "hideOverlap": True, "customValues": list(starts)},
        "data": [
            f"epoch {starts[step]}" if step in starts else place
            for step, place in enumerate(places)
        ],
    }


def _marks(view: RunView) -> Iterator[Option]:
    """What was measured at each step, one series for each kind that occurs."""
    found = scored(view)
    for kind, words in MARK_WORDS.items():
        data = [
            {"value": [str(mark.step), round(mark.value, 6)], "words": mark.words}
            for mark in found
            if mark.kind == kind
        ]
        if data:
            yield {"name": words, "type": "scatter", "data": data, "z": 3} | _SYMBOLS[kind]
