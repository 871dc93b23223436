"""Sequential waits of a run of this program: calls that follow one another, from its events."""

from __future__ import annotations

import json
import math
from pathlib import Path

from skillopt_cli.core.events import CallMade, StageFinished
from skillopt_cli.store.codec import load_fact

MERGE = 8
"""Patches in a merge."""


def waits(run: Path) -> int:
    """The length of the longest chain of calls, if there were a worker for each call.

    The calls that a stage makes to one role are made together; stages, roles within a stage and the
    levels of a merge tree follow one another. Work before its turn counts where its turn comes, so
    this is the chain of the sequential order.
    """
    made: set[tuple[str, str]] = set()
    found = 0
    with (run / "events.jsonl").open(encoding="utf-8") as lines:
        for event in (load_fact(line).event for line in lines):
            if isinstance(event, CallMade):
                made.add((event.stage, event.role))
            elif isinstance(event, StageFinished):
                own = {call for call in made if call[0] == event.stage}
                made -= own
                if own and event.stage == "aggregate":
                    found += levels(run / "steps" / f"step_{event.step:04d}" / "patches")
                else:
                    found += len(own)
    return found + len(made)


def levels(folder: Path) -> int:
    """Merges that must follow one another: the deeper of two trees, then both together."""
    depths = []
    for kind in ("fail", "succ"):
        patches = [json.loads(path.read_text()) for path in folder.glob(f"minibatch_{kind}_*")]
        left, depth = sum(bool(patch["edits"]) for patch in patches), 0
        while left > 1:
            left, depth = math.ceil(left / MERGE), depth + 1
        if left:
            depths.append(depth)
    return max(depths, default=0) + (len(depths) == 2)
