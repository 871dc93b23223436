"""The panel: a `RunView` drawn for the width, height and encoding at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.text import Text

from skillopt_cli.charts.sparkline import sparkline
from skillopt_cli.core.events import RunFailed
from skillopt_cli.runlog.remaining import Schedule
from skillopt_cli.runlog.summary import status
from skillopt_cli.runlog.text.ending import ending_lines
from skillopt_cli.runlog.text.format import count, duration, one_line, plain_words
from skillopt_cli.runlog.text.header import models_words, skill_words, start_notes, used_words
from skillopt_cli.runlog.text.limits import width_words
from skillopt_cli.runlog.text.standing import score_parts, standing_words
from skillopt_cli.runlog.view import RunView
from skillopt_cli.ui.panel_rows import (
    asked_rows,
    cost_rows,
    decision_rows,
    edit_rows,
    epoch_rows,
    line,
    readable,
    wrapped,
)
from skillopt_cli.ui.progress import progress

_BORDER = 2
"""Rows above and below everything else."""
_MARGINS = 4
"""Columns beside a row."""
_SHORTEST = 4
"""Columns below which the course of the score is not drawn."""
_ROOMY = 24
"""Rows of a screen that has room for what does not change."""


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """What a panel shows beside the run itself.

    Attributes:
        verbose: whether guidance is shown whole.
        schedule: how long the parts of the run will take, where that was planned.
    """

    verbose: bool = False
    schedule: Schedule | None = None


NO_OPTIONS = PanelOptions()


@dataclass(frozen=True, slots=True)
class RunPanel:
    """A renderable of a run at a moment.

    Args:
        now: Unix seconds, for elapsed and remaining times.
    """

    view: RunView
    now: float
    options: PanelOptions = NO_OPTIONS

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw within `options.max_width`, the most important first; less on a low screen."""
        plain, width = options.ascii_only, options.max_width
        height = options.height or options.size.height
        bars = progress(self.view, self.now, self.options.schedule, plain=plain)
        head: list[RenderableType] = [
            *_standing(self.view, plain, width),
            *asked_rows(self.view, width),
            bars,
        ]
        epoch = epoch_rows(self.view, verbose=self.options.verbose)
        foot = [
            *cost_rows(self.view, width),
            _clock(self.view, self.now),
            *_facts(self.view, width, roomy=height >= _ROOMY),
        ]
        fixed = len(head) - 1 + bars.row_count + len(epoch) + len(foot) + _BORDER
        room = max(2, min(10, height - fixed))
        decisions = decision_rows(self.view, max(1, room // 2))
        edits = edit_rows(self.view, max(1, room - len(decisions)))
        parts: list[RenderableType] = [*head, *decisions, *epoch, *edits, *foot]
        yield Panel(
            Group(*_joined(_encodable(part, plain) for part in parts)),
            title=readable(_title(self.view), plain),
            title_align="left",
            box=box.ROUNDED,
            padding=(0, 1),
        )


@dataclass(frozen=True, slots=True)
class FinalPanel:
    """What stays on the screen when a run has ended: result, tests, cost, and the next command."""

    view: RunView
    verbose: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw within `options.max_width`; long lines wrap, so that commands stay complete."""
        plain = options.ascii_only
        end = self.view.ending
        lines: list[RenderableType] = [*_standing(self.view, plain, options.max_width)]
        lines += [*decision_rows(self.view, 5), *epoch_rows(self.view, verbose=self.verbose)]
        if end is None:
            lines.append(Text("the display closed before the run ended", style="yellow"))
        else:
            bad = isinstance(end, RunFailed) or end.exit_code
            said = ending_lines(self.view, end)
            lines += [Text(line, overflow="fold") for line in said[:-1]]
            lines.append(Text(said[-1], style="bold yellow" if bad else "bold", overflow="fold"))
        yield Panel(
            Group(*(_encodable(line, plain) for line in lines)),
            title=readable(_title(self.view), plain),
            title_align="left",
            box=box.ROUNDED,
            padding=(0, 1),
        )


def _title(view: RunView) -> Text:
    run = view.run
    name = f"{one_line(run.benchmark)} {one_line(run.run_id)}" if run else "starting"
    stands = "paused" if view.steering.paused else ""
    if view.ending is not None:
        stands = plain_words(status(view))
    words = f"skillopt {name}, {stands}" if stands else f"skillopt {name}"
    return Text(words, style="bold", overflow="ellipsis", no_wrap=True)


def _facts(view: RunView, width: int, *, roomy: bool) -> Iterator[Text]:
    """What the run works with, which does not change: warnings first."""
    run = view.run
    if run is None:
        return
    for note in start_notes(run):
        yield from wrapped("note", note, width, "yellow")
    if view.drift:
        changes = "; ".join(one_line(change) for change in view.drift)
        yield from wrapped("changed", changes, width, "yellow")
    if run.done:
        recorded = f"{run.done} of {count(run.total_steps, 'step')} recorded before"
        yield line(("resumed ", "dim"), recorded)
    yield from wrapped("models", models_words(run), width)
    used = used_words(run)
    yield from wrapped("data", f"{one_line(run.data)}{f': {used}' if used else ''}", width)
    if skill := skill_words(run):
        yield line(("skill   ", "dim"), skill)
    if run.limits and roomy:
        yield line(("limits  ", "dim"), width_words(run.limits))


def _standing(view: RunView, plain: bool, width: int) -> Iterator[Text]:
    """The score and its course, and whether the seed was beaten."""
    if not view.total_steps:
        return
    before, best, rest = score_parts(view)
    row = line(
        ("score   ", "dim"),
        before,
        (best, "bold green" if view.standing.best_step else "bold"),
        rest,
    )
    room = width - _MARGINS - row.cell_len - 2
    if len(view.trend) > 1 and room >= _SHORTEST:
        course = sparkline(view.trend, limit=min(room, width // 4), plain=plain)
        row.append(f"  {course}", style="cyan")
    yield row
    words, style = standing_words(view)
    yield from wrapped("verdict", words, width, style)


def _clock(view: RunView, now: float) -> Text:
    running = view.run is not None and view.ending is None and not view.worked.held
    since = max(0.0, now - view.worked.latest) if running else 0.0
    saved = f", {count(view.rollouts_saved, 'rollout')} saved" if view.rollouts_saved else ""
    recalled = f", {view.recalled} recalled" if view.recalled else ""
    return line(
        ("time    ", "dim"),
        f"{duration(view.wall_time + since)}, {count(view.made, 'rollout')} made{recalled}{saved}",
    )


def _joined(parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """The parts, neighbouring rows as one text: each by itself would take longer to draw."""
    for _, run in groupby(parts, key=lambda part: isinstance(part, Text)):
        members = list(run)
        texts = [part for part in members if isinstance(part, Text)]
        if texts:
            yield Text("\n", overflow=texts[0].overflow, no_wrap=True).join(texts)
        else:
            yield from members


def _encodable(part: RenderableType, plain: bool) -> RenderableType:
    """The part as a console without Unicode can print it; only texts hold foreign words."""
    return readable(part, plain) if isinstance(part, Text) else part
