"""Reflect: read minibatches of trajectories, failures and successes apart, and propose patches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from skillopt_cli.core.batches import cut
from skillopt_cli.core.edits import Patch, Source
from skillopt_cli.core.events import PatchesProposed
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson, Reflection
from skillopt_cli.stages.run import Run, announced


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Trajectories for one analyst, all failures or all successes, in the step's order."""

    source: Source
    index: int
    trajectories: tuple[Trajectory, ...]

    @property
    def name(self) -> str:
        """The file its patch is kept under."""
        return f"minibatch_{'fail' if self.source == 'failure' else 'succ'}_{self.index:03d}"


def minibatches(run: Run, trajectories: Sequence[Trajectory]) -> list[Minibatch]:
    """Cut failures and successes by `gradient.minibatch_size`; broken attempts are left out."""
    size = run.config.gradient.minibatch_size
    failures = [t for t in trajectories if t.failed]
    successes = [t for t in trajectories if t.score is not None and not t.failed]
    if run.config.gradient.failure_only:
        successes = []
    return [*_cut("failure", failures, size), *_cut("success", successes, size)]


def _cut(source: Source, trajectories: list[Trajectory], size: int) -> Iterator[Minibatch]:
    for index, group in enumerate(cut(trajectories, size)):
        yield Minibatch(source, index, tuple(group))


async def reflect(
    run: Run,
    skill: SkillDocument,
    trajectories: Sequence[Trajectory],
    lessons: Sequence[Lesson],
) -> Reflection:
    """Patches from the chosen analyst; an analyst without a usable answer brings none.

    Analysts read the hints that were given for this step.
    """
    run = replace(run, hints=run.control.hints(run.number))
    with announced(run, "reflect", len(minibatches(run, trajectories))):
        reflection = await run.variants.reflect(run, skill, trajectories, lessons)
    patches = reflection.patches
    failures = sum(p.source == "failure" for p in patches)
    run.emit(
        PatchesProposed(
            step=run.number,
            asked=reflection.asked,
            failure_patches=failures,
            success_patches=len(patches) - failures,
            edits=sum(len(p.edits) for p in patches),
        )
    )
    return reflection


def keep_patch(run: Run, path: str, patch: Patch) -> None:
    """A copy of a patch for people."""
    document = asdict(replace(patch, vetoed=()))
    del document["vetoed"]  # what is proposed and chosen here is reviewed later
    for name in ("edits", "dropped"):
        document[name] = [edit.record for edit in getattr(patch, name)]
    notes = document.pop("notes")
    if notes:
        document["appendix_notes"] = notes
    run.keep(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
