"""Review: where a person may strike out edits before they become a candidate."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.core.edits import Patch
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.steering import struck
from skillopt_cli.stages.run import Run


async def review(run: Run, chosen: Patch) -> Patch:
    """The patch without the edits that are vetoed, which it keeps apart with why.

    Waits while the run is paused here.
    """
    vetoes = await run.control.review(run.number, chosen.edits)
    kept, vetoed = struck(chosen.edits, vetoes)
    if len(vetoed) < len(vetoes):
        run.emit(Degraded("update", "a veto struck nothing out: its edit is not proposed any more"))
    return replace(chosen, edits=kept, set_aside=(*chosen.set_aside, *vetoed))
