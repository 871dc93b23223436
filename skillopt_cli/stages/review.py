"""Review: where a person may strike out edits before they become a candidate."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.core.edits import Patch
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.steering import struck
from skillopt_cli.stages.run import Run


async def review(run: Run, chosen: Patch) -> Patch:
    """The patch without the edits that are vetoed, now or earlier, which it keeps apart with why.

    Waits while the run is paused here. A veto given here finds its edit again in a step that is
    done again, unless conditions have changed.
    """
    vetoes = await run.control.review(run.number, run.round, chosen.edits)
    kept, vetoed = struck(chosen.edits, vetoes)
    given_here = (veto for veto in vetoes if (veto.step, veto.round) == (run.number, run.round))
    if {veto.edit.identity for veto in given_here} - {outcome.edit.identity for outcome in vetoed}:
        run.emit(Degraded("update", "a veto struck nothing out: its edit is not proposed any more"))
    return replace(chosen, edits=kept, set_aside=(*chosen.set_aside, *vetoed))
