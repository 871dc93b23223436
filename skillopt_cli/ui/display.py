"""The display of a run at work, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.runlog.remaining import Schedule
from skillopt_cli.runlog.view import RunView
from skillopt_cli.ui.plain import PlainLines


@contextmanager
def open_display(
    view: RunView, style: str, *, verbose: bool = False, schedule: Schedule | None = None
) -> Iterator[list[Subscriber]]:
    """The subscribers of a display, which is open inside the block.

    Args:
        view: what the run's log holds already.
        style: "rich", a panel that is redrawn in place; "plain", a line per notable fact; any
            other has no subscriber.
        verbose: show guidance and notes whole.
        schedule: how long the parts of the run will take, where that was planned.
    """
    if style == "rich":
        # Drawing takes a library that no other display needs.
        from rich.console import Console

        from skillopt_cli.ui.live import LivePanel
        from skillopt_cli.ui.panel import PanelOptions

        options = PanelOptions(verbose, schedule)
        with LivePanel(Console(stderr=True), view, options) as panel:
            yield [Subscriber("live panel", panel)]
    elif style == "plain":
        yield [Subscriber("plain lines", PlainLines(sys.stderr, view, verbose=verbose))]
    else:
        yield []
