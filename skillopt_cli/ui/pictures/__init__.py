"""Pictures of a run, drawn as SVG text: pure functions from a `RunView`, for reports and pages.

What they need of a style sheet is in `style()`; they carry no style, no script and no address.
"""

from skillopt_cli.ui.pictures.curve import curve_legend, curve_words, score_curve
from skillopt_cli.ui.pictures.grid import (
    Column,
    Grid,
    selection_grid,
    test_grid,
    train_grid,
)
from skillopt_cli.ui.pictures.heat import heat_legend, heat_map, heat_words
from skillopt_cli.ui.pictures.spark import spark, sparkline
from skillopt_cli.ui.pictures.style import style

__all__ = [
    "Column",
    "Grid",
    "curve_legend",
    "curve_words",
    "heat_legend",
    "heat_map",
    "heat_words",
    "score_curve",
    "selection_grid",
    "spark",
    "sparkline",
    "style",
    "test_grid",
    "train_grid",
]
