"""Decisions on edits that are tried on tasks before the gate. Pure.

An edit is kept if it solves enough of the failed tasks it was written for; of the kept ones, those
that break solved tasks are removed. Orders are hashes, so that completion order never matters.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from skillopt_cli.core.edit_counts import GUARDED
from skillopt_cli.core.edits import Edit, EditOutcome, Identity, Patch, Trial
from skillopt_cli.core.formatting import count
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Reflection
from skillopt_cli.core.worked_examples import quotes

FEW_SHARE = 0.25
"""The share of edits that passes alone below which the tasks they name are hardly theirs."""
FEW_OF = 4
"""Edits tried alone that such a share must rest on."""
VAGUE = 2
"""An edit that names more than this many times `optimizer.verify_tasks` failing tasks is vague."""
_UNCONFIRMED = "with the other edits, it solved none of the tasks it solved alone"


@dataclass(frozen=True)
class Draft:
    """The edits of a step as far as they are chosen, and the text they make.

    Attributes:
        base: the current skill of the run.
        skill: that with the edits of the rounds before.
        trajectories: of the step's batch, each under the newest text it was attempted with.
        patch: the edits chosen so far, with those set aside or dropped, and every trial.
        reflection: that of all rounds together.
        merged: edits that the merges of all rounds kept.
        rate: most edits of the step; None for no limit.
        rounds: rounds of analysis that are done.
    """

    base: SkillDocument
    skill: SkillDocument
    trajectories: tuple[Trajectory, ...]
    patch: Patch = field(default_factory=Patch)
    reflection: Reflection = field(default_factory=lambda: Reflection((), asked=0))
    merged: int = 0
    rate: int | None = None
    rounds: int = 0

    @cached_property
    def failing(self) -> dict[str, Trajectory]:
        """The trajectories that failed, by task id."""
        return {t.task.id: t for t in self.trajectories if t.failed}

    @property
    def unread(self) -> tuple[Trajectory, ...]:
        """What the next round of analysis reads: at first everything, then what still fails."""
        return self.trajectories if not self.rounds else tuple(self.failing.values())

    @property
    def complete(self) -> bool:
        """Whether another round has nothing to read, or no edit left to choose."""
        return self.rounds > 0 and (not self.failing or self.room == 0)

    @property
    def room(self) -> int | None:
        """How many edits can still be chosen; None for no limit."""
        return None if self.rate is None else max(0, self.rate - len(self.patch.edits))

    @property
    def refuted(self) -> tuple[Trial, ...]:
        """The trials of this step of all edits that failed one, or solved nothing in the end."""
        failed = {trial.edit.identity for trial in self.patch.trials if not trial.passed}
        out = {o.edit.identity for o in self.patch.set_aside if o.state == "unverified"} | failed
        return tuple(t for t in self.patch.trials if t.tried and t.edit.identity in out)

    def reflected(self, reflection: Reflection, merged: Patch, rate: int | None) -> Draft:
        """The draft after one more reflection, merge and learning rate."""
        known = self.reflection
        patches = known.patches + reflection.patches
        asked = known.asked + reflection.asked
        both = replace(reflection, patches=patches, asked=asked)
        return replace(self, reflection=both, merged=self.merged + len(merged.edits), rate=rate)

    def chosen(self, patch: Patch) -> Draft:
        """The draft with what one more round chose, dropped, set aside and tried."""
        known, patch = _without_superseded(self.patch, patch)
        both = replace(
            patch,
            edits=known.edits + patch.edits,
            dropped=known.dropped + patch.dropped,
            set_aside=known.set_aside + patch.set_aside,
            trials=known.trials + patch.trials,
            notes=tuple(dict.fromkeys(known.notes + patch.notes)),
        )
        return replace(self, patch=both, rounds=self.rounds + 1)

    def confirmed(self) -> Draft:
        """The draft without edits none of whose tasks is solved with all edits so far.

        Alone they passed, so by noise: a harmful line passes so, and then holds its tasks back.
        """
        failing = self.failing
        lost = [
            trial
            for trial in trials_by_edit(self.patch.trials).values()
            if trial.edit in self.patch.edits and all(task in failing for task in trial.tried)
        ]
        edits = tuple(e for e in self.patch.edits if e not in [trial.edit for trial in lost])
        aside = tuple(EditOutcome(t.edit, "unverified", _UNCONFIRMED, t) for t in lost)
        patch = replace(self.patch, edits=edits, set_aside=self.patch.set_aside + aside)
        return replace(self, patch=patch)

    def attempted(self, again: Iterable[Trajectory], skill: SkillDocument) -> Draft:
        """The draft with the text its edits make, and tasks attempted again under it."""
        newest = {t.task.id: t for t in again if t.score is not None}
        kept = tuple(newest.get(t.task.id, t) for t in self.trajectories)
        return replace(self, skill=skill, trajectories=kept)


def _without_superseded(known: Patch, patch: Patch) -> tuple[Patch, Patch]:
    """What earlier rounds and one more made of their edits, each edit in one of the two only.

    An edit that comes up again has what became of it last, but a trial outweighs none. Edits that
    the leak guard refused before the merge stay as often as they were proposed.
    """
    before, now = _decided(known), _decided(patch)
    fresh = _only(patch, lambda identity: identity in now or identity not in before)
    again = _identities(fresh)
    return _only(known, lambda identity: identity not in again), fresh


def _decided(patch: Patch) -> set[Identity]:
    """The edits that are kept, or were tried on tasks."""
    tried = (o.edit.identity for o in patch.set_aside if o.trial is not None)
    return {edit.identity for edit in patch.edits}.union(tried)


def _identities(patch: Patch) -> set[Identity]:
    set_aside = (o.edit for o in patch.set_aside if o.state not in GUARDED)
    return {edit.identity for edit in (*patch.edits, *patch.dropped, *set_aside)}


def _only(patch: Patch, holds: Callable[[Identity], bool]) -> Patch:
    """The patch without the edits that were not kept and for which the condition does not hold."""
    return replace(
        patch,
        dropped=tuple(e for e in patch.dropped if holds(e.identity)),
        set_aside=tuple(o for o in patch.set_aside if o.state in GUARDED or holds(o.edit.identity)),
    )


def ranked(edits: Sequence[Edit]) -> list[Edit]:
    """Edits of failures first, then by the number of their tasks, then by a hash of the change."""
    return sorted(edits, key=lambda e: (e.source == "success", -len(e.tasks), _hash(*_words(e))))


def united(patches: Sequence[Patch]) -> tuple[Edit, ...]:
    """All edits of some patches, ranked; those of the same change are one, with all their tasks."""
    found: dict[Identity, Edit] = {}
    for edit in (edit for patch in patches for edit in patch.edits):
        known = found.get(edit.identity)
        if known is not None:
            tasks = tuple(dict.fromkeys((*known.tasks, *edit.tasks)))
            source = known.source if known.source != "success" else edit.source
            support = known.support + edit.support
            edit = replace(known, tasks=tasks, support=support, source=source)
        found[edit.identity] = edit
    return tuple(ranked(list(found.values())))


def open_tasks(
    edit: Edit, failing: Collection[str], known: Sequence[Trial], base: str
) -> tuple[str, ...]:
    """The failing tasks an edit is for and was not tried on with this text, ordered by a hash.

    A text that has gained other edits is another one: a task may need two rules. The task of a
    worked example is none: that an edit solves what it quotes proves nothing.
    """
    same = [t for t in known if t.base == base and t.edit.identity == edit.identity]
    before = {task for trial in same for task in trial.tried}
    fitting = [task for task in edit.tasks if task in failing and task not in before]
    fitting = [task for task in fitting if not quotes(edit.content, task)]
    return tuple(sorted(fitting, key=lambda task: _hash(*_words(edit), task)))


def needed(tried: int, share: float) -> int:
    """How many of the tasks it is tried on an edit must solve: a share, and at least one."""
    return max(1, math.ceil(share * tried - 1e-9))


def few_passed(trials: Sequence[Trial]) -> bool:
    """Whether so few edits passed alone that the tasks they name are hardly theirs."""
    passed = sum(trial.passed for trial in trials)
    return len(trials) >= FEW_OF and passed < FEW_SHARE * len(trials)


def solved_words(trial: Trial) -> str:
    """How many of its tasks an edit solved; they may be others than those that it names."""
    own = not trial.edit.tasks or set(trial.tried) <= set(trial.edit.tasks)
    which = "it was written for" if own else "it was tried on"
    return f"solved {len(trial.fixed)} of {count(len(trial.tried), 'task')} {which}"


def unverified(trial: Trial) -> EditOutcome:
    """The outcome of an edit that did not solve enough of its tasks."""
    if not trial.tried:
        return EditOutcome(trial.edit, "unverified", "none of its tasks could be scored", trial)
    return EditOutcome(trial.edit, "unverified", f"it {solved_words(trial)}", trial)


def noise(without: Sequence[Collection[str]], broken: Sequence[str]) -> tuple[str, ...]:
    """Broken tasks that are solved without more than half of the edits: no edit explains them.

    Args:
        without: by edit, the broken tasks that are solved when it alone is left out.
        broken: tasks that fail with all edits together.
    """
    half = len(without) / 2
    return tuple(task for task in broken if sum(task in solved for solved in without) > half)


def harmful(trial: Trial, broke: Sequence[str], checked: int) -> EditOutcome:
    """The outcome of an edit that breaks solved tasks."""
    reason = f"it broke {len(broke)} of {count(checked, 'solved task')}"
    return EditOutcome(trial.edit, "harmful", reason, replace(trial, broke=tuple(broke)))


def trials_by_edit(trials: Sequence[Trial]) -> dict[Identity, Trial]:
    """The last trial of each edit that was tried, by the edit's identity."""
    return {trial.edit.identity: trial for trial in trials}


def left_out(task: str, solved: Collection[str], epoch_seed: int, share: float) -> bool:
    """Whether a step leaves out a task that was solved when last attempted.

    Args:
        epoch_seed: another one in each epoch, so that other tasks are attempted again.
        share: of the solved tasks that are attempted again, in [0, 1].
    """
    if task not in solved:
        return False
    return int(_hash(str(epoch_seed), task)[:8], 16) >= share * 0x100000000


def _words(edit: Edit) -> tuple[str, ...]:
    return edit.file, *edit.change


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()
