"""The parallel view of a sweep: an axis per setting and score, a line per combination."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from skillopt_cli.core.formatting import count
from skillopt_cli.core.gate import EPSILON
from skillopt_cli.runlog.text.format import one_line, score
from skillopt_cli.web.chart_options import Chart, Option, tooltip

_MOST_CATEGORIES = 8
"""Values of a setting that get a place each on its axis; of more numbers, an axis of numbers."""
_LONGEST = 30


def parallel_chart(combinations: Sequence[Mapping[str, Any]]) -> Chart | None:
    """The combinations of a `sweep.json` that have a score; None where fewer than two have one.

    Raises:
        KeyError, TypeError, AttributeError: the document is damaged.
    """
    scored = [one for one in combinations if one["best_gate_score"] is not None]
    if len(scored) < 2:
        return None
    keys = list(dict.fromkeys(key for one in scored for key in one["settings"]))
    columns = {key: [one["settings"].get(key) for one in scored] for key in keys}
    axes = [_setting_axis(key, values) for key, values in columns.items()]
    axes += [{"name": "selection", **_SCORES}, {"name": "test", **_SCORES}]
    lines = [
        {
            "value": [
                *(
                    _place(axis, one["settings"].get(key))
                    for key, axis in zip(keys, axes, strict=False)
                ),
                round(one["best_gate_score"], 6),
                "-" if one["test"] is None else round(one["test"]["hard"], 6),
            ],
            "words": _words(one),
        }
        for one in scored
    ]
    scores = [one["best_gate_score"] for one in scored]
    option = {
        "animation": False,
        "textStyle": {"color": "--quiet", "fontFamily": "system-ui, sans-serif"},
        "tooltip": tooltip("item"),
        "parallel": {
            "left": 40,
            "right": 60,
            "top": 40,
            "bottom": 20,
            "parallelAxisDefault": {
                "nameTextStyle": {"color": "--ink"},
                "axisLine": {"lineStyle": {"color": "--quiet"}},
                "axisLabel": {"color": "--ink", "backgroundColor": "--paper", "padding": [2, 3]},
                "areaSelectStyle": {"color": "--link", "borderColor": "--link"},
            },
        },
        "parallelAxis": [{"dim": i, **axis} for i, axis in enumerate(axes)],
        "visualMap": {
            "show": False,
            "dimension": len(keys),
            "min": min(scores),
            "max": max(scores) if max(scores) > min(scores) else min(scores) + 1,
            "inRange": {"color": ["--quiet", "--link", "--good"]},
        },
        "series": [{"type": "parallel", "lineStyle": {"width": 3, "opacity": 0.8}, "data": lines}],
    }
    words = f"Parallel view of {count(len(scored), 'combination')}; {_best_words(scored)}"
    return Chart(words, json.dumps(option))


def _best_words(scored: Sequence[Mapping[str, Any]]) -> str:
    """The combinations with the highest selection score; that it is the same where all have it."""
    highest = max(float(one["best_gate_score"]) for one in scored)
    best = [one for one in scored if one["best_gate_score"] >= highest - EPSILON]
    if len(best) == len(scored):
        return f"all have the same selection score, {score(highest)}"
    equal = "best by selection, with equal scores" if len(best) > 1 else "best by selection"
    return f"{equal}: {'; '.join(map(_words, best))}"


_SCORES: Option = {"type": "value", "min": 0}


def _setting_axis(key: str, values: Sequence[object]) -> Option:
    name = one_line(key.rpartition(".")[2])
    known = list(dict.fromkeys(values))
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in known)
    if numbers and len(known) > _MOST_CATEGORIES:
        return {"name": name, "type": "value", "scale": True}
    ordered = sorted(known, key=lambda v: v if numbers else _text(v))  # type: ignore[arg-type,return-value]
    return {"name": name, "type": "category", "data": [_text(value) for value in ordered]}


def _place(axis: Option, value: object) -> object:
    return _text(value) if axis["type"] == "category" else value


def _text(value: object) -> str:
    text = "unset" if value is None else value if isinstance(value, str) else json.dumps(value)
    return one_line(text)[:_LONGEST]


def _words(one: Mapping[str, Any]) -> str:
    settings = ", ".join(
        f"{key.rpartition('.')[2]} {_text(v)}" for key, v in one["settings"].items()
    )
    tested = f", test {score(one['test']['hard'])}" if one["test"] else ""
    return f"{settings}: selection {score(one['best_gate_score'])}{tested}"
