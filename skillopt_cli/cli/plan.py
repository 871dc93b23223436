"""`skillopt plan`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import BenchmarkArgument, JsonOption
from skillopt_cli.cli.show import show_json, show_table
from skillopt_cli.cli.wishes import EVERY, with_run_flags
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.folder import find_run
from skillopt_cli.compose.planning import planned
from skillopt_cli.compose.settings import Wishes, settle
from skillopt_cli.config.environment import read_environment
from skillopt_cli.engine.forecast import Assumptions
from skillopt_cli.ui.earlier import earlier_run
from skillopt_cli.ui.forecast import plan_document, plan_rows
from skillopt_cli.ui.plan_notes import plan_notes
from skillopt_cli.ui.reading import read_view

AccuracyOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        metavar="<float>",
        help="Share of train tasks solved; else any, likely a half.",
    ),
]
BestStepOption = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="<int>", help="Last step that makes a new best skill, 0 for none; else some."
    ),
]
UnchangedOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        metavar="<float>",
        help="Share of candidates and guidance that are no new text; else none.",
    ),
]
MeasuredOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        metavar="<float>",
        help="Share of selection tasks a new text is measured on, with early rejection; else 0.7.",
    ),
]
LatencyOption = Annotated[
    float | None,
    typer.Option(min=0.001, metavar="<float>", help="Seconds a model call takes; else 2."),
]
LikeOption = Annotated[
    str | None,
    typer.Option(help="Run folder or run id that tells all this, and tokens."),
]


@with_run_flags(*EVERY)
def plan(
    *,
    benchmark: BenchmarkArgument = None,
    accuracy: AccuracyOption = None,
    best_step: BestStepOption = None,
    unchanged: UnchangedOption = None,
    measured: MeasuredOption = None,
    latency: LatencyOption = None,
    like: LikeOption = None,
    json: JsonOption = False,
    wishes: Wishes,
) -> None:
    """Say what a training would take and cost; no model is called.

    Takes every flag of `train`. Counts are by the rules that the run itself follows; what cannot be
    known before is given as a range.
    """
    environment = read_environment()
    # Neither address nor key is needed where no call is made.
    config = settle(replace(wishes, roles=()), environment).config
    if not config.env.name:
        settle(replace(wishes, example="skillopt plan searchqa"), environment)
    told = Assumptions(accuracy, best_step, unchanged, measured, latency)
    earlier = None
    if like is not None:
        folder = find_run(like, Path(config.env.out_root))
        earlier = earlier_run(folder, read_view(folder), config.env.name)
    made = planned(config, environment, told, earlier=earlier)
    if json:
        show_json(plan_document(made))
        return
    show_table(("", "likely", "range"), plan_rows(made))
    for note in plan_notes(made):
        typer.echo(in_shell(note))
