"""The panel: a `RunView` drawn for the width, height and encoding at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.text import Text

from skillopt_cli.core.events import RunFailed
from skillopt_cli.ui.data import luck_note, models_words, skill_words, used_words
from skillopt_cli.ui.ending import ending_lines, metric_label
from skillopt_cli.ui.limits import width_words
from skillopt_cli.ui.pictures import sparkline
from skillopt_cli.ui.progress import progress
from skillopt_cli.ui.rows import (
    asked_rows,
    cost_rows,
    decision_rows,
    edit_rows,
    epoch_rows,
    line,
    readable,
)
from skillopt_cli.ui.summary import status
from skillopt_cli.ui.view import RunView
from skillopt_cli.ui.words import count, duration, one_line, out_of, score

_BORDER = 2
"""Rows above and below everything else."""
_ROOMY = 24
"""Rows of a screen that has room for what does not change."""


@dataclass(frozen=True, slots=True)
class RunPanel:
    """A renderable of a run at a moment.

    Args:
        now: Unix seconds, for elapsed and remaining times.
    """

    view: RunView
    now: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw within `options.max_width`; fewer decisions and edits on a low screen."""
        plain, width = options.ascii_only, options.max_width
        height = options.height or options.size.height
        bars = progress(self.view, self.now, plain=plain)
        head: list[RenderableType] = [
            *_facts(self.view, roomy=height >= _ROOMY),
            *asked_rows(self.view),
            bars,
            _scores(self.view, plain, width),
        ]
        epoch = epoch_rows(self.view)
        foot = [*cost_rows(self.view, width), _clock(self.view, self.now)]
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

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw within `options.max_width`; long lines wrap, so that commands stay complete."""
        plain = options.ascii_only
        end = self.view.ending
        lines: list[RenderableType] = [_scores(self.view, plain, options.max_width)]
        lines += [*decision_rows(self.view, 5), *epoch_rows(self.view)]
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
        stands = status(view).replace("_", " ")
    words = f"skillopt {name}, {stands}" if stands else f"skillopt {name}"
    return Text(words, style="bold", overflow="ellipsis", no_wrap=True)


def _facts(view: RunView, *, roomy: bool) -> Iterator[Text]:
    run = view.run
    if run is None:
        return
    yield line(("data    ", "dim"), one_line(run.data))
    if used := used_words(run):
        yield line(("tasks   ", "dim"), used)
    if note := luck_note(run):
        yield line(("note    ", "dim"), (note, "yellow"))
    if skill := skill_words(run):
        yield line(("skill   ", "dim"), skill)
    yield line(("models  ", "dim"), models_words(run))
    if run.limits and roomy:
        yield line(("limits  ", "dim"), width_words(run.limits))
    if run.done:
        recorded = f"{run.done} of {count(run.total_steps, 'step')} recorded before"
        yield line(("resumed ", "dim"), recorded)
    if view.drift:
        changes = "; ".join(one_line(change) for change in view.drift)
        yield line(("drift   ", "dim"), (changes, "yellow"))


def _scores(view: RunView, plain: bool, width: int) -> Text:
    """Baseline, best and current score, and the current score's course."""
    base = view.baseline.value if view.baseline else None
    standing = view.standing
    came = f" (step {standing.best_step})" if standing.best_step else ""
    reach = f" {out_of(view.baseline.scored, view.baseline.n)}" if view.baseline else ""
    return line(
        ("score   ", "dim"),
        f"base {score(base)} best ",
        (score(standing.best), "bold green" if standing.best_step else "bold"),
        f"{came} now {score(standing.current)}{metric_label(view)}{reach} ",
        (sparkline(view.trend, limit=max(4, min(width // 4, width - 56)), plain=plain), "cyan"),
    )


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
