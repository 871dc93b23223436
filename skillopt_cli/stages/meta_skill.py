"""Memory: the optimizer's own notes for the next epoch (the paper's meta skill)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from skillopt_cli.core.events import MemoryWritten
from skillopt_cli.stages.run import Comparison, Run, announced


def begin_memory(run: Run, comparison: Comparison) -> None:
    """Let the optimizer begin with its notes, which do not depend on the guidance."""
    run.begin(f"memory {comparison.epoch}", _remembering(comparison))


async def write_memory(run: Run, comparison: Comparison) -> str:
    """New notes, or the old ones when the optimizer brings none: what was learned is kept."""
    with announced(run, "meta_skill", 1):
        work = _remembering(comparison)
        notes = await run.finish(f"memory {comparison.epoch}", work)
    document = {
        "epoch": comparison.epoch,
        "action": "no_content" if notes is None else "write_meta_skill",
        "meta_skill_content": run.memory if notes is None else notes,
    }
    folder = f"meta_skill/epoch_{comparison.epoch:02d}"
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    run.keep(f"{folder}/meta_skill_result.json", text)
    if notes is None:
        return run.memory
    run.emit(MemoryWritten(run.number, comparison.epoch, notes))
    return notes


def _remembering(comparison: Comparison) -> Callable[[Run], Awaitable[str | None]]:
    return lambda run: run.variants.remember(run, comparison)
