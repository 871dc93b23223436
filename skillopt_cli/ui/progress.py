"""How far a run is, and how long it will still take: its bars in the panel."""

from __future__ import annotations

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from skillopt_cli.runlog.parts import StageView
from skillopt_cli.runlog.remaining import Schedule
from skillopt_cli.runlog.text.format import count, one_line
from skillopt_cli.runlog.text.remaining import left_words, run_left
from skillopt_cli.runlog.view import RunView
from skillopt_cli.ui.panel_rows import readable

_STAGES = 3
"""Most stages at work that are shown."""


def progress(view: RunView, now: float, schedule: Schedule | None = None, *, plain: bool) -> Table:
    """A bar for the run and one for each stage at work, with what is left."""
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(no_wrap=True, overflow="crop", width=18)
    grid.add_column(ratio=1, min_width=8)
    grid.add_column(no_wrap=True, overflow="crop", justify="right", width=26)
    if view.total_steps:
        newest = view.step
        epoch = newest.plan.epoch if newest and newest.plan else None
        epochs = f", epoch {epoch}/{view.run.epochs}" if epoch and view.run else ""
        grid.add_row(
            Text(f"steps{epochs}"),
            ProgressBar(total=view.total_steps, completed=min(view.done, view.total_steps)),
            Text(f"{view.done}/{view.total_steps}  {run_left(view, now, schedule)}".rstrip()),
        )
    for stage in view.stages[-_STAGES:]:
        grid.add_row(readable(_stage_title(view, stage), plain), *_stage_state(view, stage, now))
    if not view.stages:
        grid.add_row(
            Text("between stages" if view.ending is None else "ended", style="dim"), "", ""
        )
    return grid


def _stage_title(view: RunView, stage: StageView) -> Text:
    place = f"{stage.step}/{view.total_steps or '?'} " if stage.step else ""
    arm = f" {one_line(stage.label)}" if stage.label else ""
    name = "baseline" if stage.stage == "measure" and not stage.step else stage.stage
    again = f" {stage.round}" if stage.round > 1 else ""
    return Text(f"{place}{name}{arm}{again}", style="cyan")


def _stage_state(
    view: RunView, stage: StageView, now: float
) -> tuple[RenderableType, RenderableType]:
    """How far a stage is: a bar of attempts where all are known, else what was done so far."""
    if not stage.attempts:
        return "", Text(f"{count(stage.calls, 'call')}, {stage.workers} at once", style="dim")
    if stage.open_ended:
        # A bar would run back whenever the stage begins again.
        done, begun = stage.so_far
        return "", Text(f"{done} of {count(begun, 'attempt')}")
    total = max(1, stage.total)
    bar = ProgressBar(total=total, completed=min(stage.done, total))
    return bar, Text(f"{stage.done}/{stage.total}  {left_words(view, stage.left(now))}")
