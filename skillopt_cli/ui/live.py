"""The live display: a panel that is redrawn in place while a run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.control import Control
from rich.live import Live

from skillopt_cli.core.events import Stamped
from skillopt_cli.runlog.fold import apply
from skillopt_cli.runlog.view import RunView
from skillopt_cli.ui.panel import NO_OPTIONS, FinalPanel, PanelOptions, RunPanel

REFRESHES_PER_SECOND = 4


class LivePanel:
    """Draws a run at most four times a second, however many facts arrive.

    A fact costs one fold of the view; drawing happens on the display's own beat, so times go on
    while the run waits. Use as a context manager; when it ends a static summary stays.

    Args:
        console: where to draw, usually on standard error.
        view: what earlier processes of the run left, for a resumed run.
        clock: Unix seconds, as the facts are stamped with.
        beat: False leaves redrawing to `draw`.
    """

    def __init__(
        self,
        console: Console,
        view: RunView | None = None,
        options: PanelOptions = NO_OPTIONS,
        *,
        clock: Callable[[], float] = time.time,
        beat: bool = True,
    ) -> None:
        self._console = console
        self._view = view or RunView()
        self._clock = clock
        self._options = options
        self._width = console.width
        self._live = Live(
            console=console,
            auto_refresh=beat,
            refresh_per_second=REFRESHES_PER_SECOND,
            transient=True,
            redirect_stdout=False,  # results on standard output are not part of the display
            get_renderable=self._renderable,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The terminal may be closed, which is no fault of the run.
        with suppress(OSError):
            self._live.stop()
            self._console.print(FinalPanel(self._view, self._options.verbose))

    def __call__(self, fact: Stamped) -> None:
        """Take a fact in; the next beat shows it."""
        self._view = apply(self._view, fact)

    def draw(self) -> None:
        """Redraw now."""
        self._live.refresh()

    def _renderable(self) -> RenderableType:
        width = self._console.width
        if width < self._width:
            # Terminals break the rows of the last drawing, so it is higher than what we drew, and
            # going up by what we drew would leave a part of it behind.
            self._console.control(Control.clear(), Control.home())
        self._width = width
        return RunPanel(self._view, self._clock(), self._options)
