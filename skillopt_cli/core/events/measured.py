"""Facts about scores outside the steps, and about what is recorded for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.run_verdict import RunVerdict
from skillopt_cli.core.task import TASK_SETS, TaskSet


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """The seed skill's scores on the selection split; `value` is under the gate metric."""

    value: float | None
    hard: float | None
    soft: float | None
    scored: int
    n: int
    kind: Literal["baseline_measured"] = "baseline_measured"


@dataclass(frozen=True, slots=True)
class Means:
    """Both mean scores of one text on the selection split, and how many tasks they rest on."""

    digest: str
    hard: float | None
    soft: float | None
    scored: int
    n: int


@dataclass(frozen=True, slots=True)
class CheckpointSaved:
    """`done` steps are recorded for good; the numbers are those of the saved state.

    Attributes:
        current_score, best_score: under the gate metric.
        current_step, best_step: the step each text comes from, 0 for the seed.
        current_epoch, best_epoch: the epoch whose end made the text; 0 where a step's candidate is
            the text, and in logs of versions that did not record it.
        chars: characters of the current skill, in all its texts.
    """

    done: int
    current_score: float | None
    best_score: float | None
    current_step: int
    best_step: int
    chars: int
    current: Means | None = None
    best: Means | None = None
    current_epoch: int = 0
    best_epoch: int = 0
    kind: Literal["checkpoint_saved"] = "checkpoint_saved"


@dataclass(frozen=True, slots=True)
class BlockTried:
    """The measurement of a skill without one of its blocks.

    Attributes:
        block: section, item or paragraph.
        line: the block's first line.
        chars: what its removal takes from the text.
        removed: whether it was left out; else it was kept, because of `reason`.
        gain: of the text without it, on the tasks that both texts have a score for; None where that
            text was not measured.
        fixed, broke: tasks that its removal won and lost.
    """

    block: str
    line: str
    chars: int
    removed: bool
    reason: str = ""
    gain: float | None = None
    fixed: tuple[str, ...] = ()
    broke: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillPruned:
    """Blocks were removed from a skill, those whose removal was not measured as worse.

    Attributes:
        before, after: scores under the gate metric.
        chars_before, chars: lengths of the text.
        blocks: those that were tried, in order.
    """

    digest_before: str
    digest: str
    before: float | None
    after: float | None
    chars_before: int
    chars: int
    blocks: tuple[BlockTried, ...] = ()
    kind: Literal["skill_pruned"] = "skill_pruned"


@dataclass(frozen=True, slots=True)
class TestMeasured:
    """A skill's scores on the test split. `label` is seed, best, final, no_skill or eval.

    One that ends with the name of another split, as that of an evaluation may, is of its tasks.
    """

    label: str
    digest: str
    hard: float | None
    soft: float | None
    scored: int
    n: int
    kind: Literal["test_measured"] = "test_measured"

    __test__ = False

    @property
    def split(self) -> TaskSet:
        """The tasks that these are scores on."""
        last = self.label.rpartition("_")[2]
        return next((name for name in TASK_SETS if name == last), "test")


@dataclass(frozen=True, slots=True)
class VerdictReached:
    """The best skill was compared with the seed on tasks that no step used.

    Attributes:
        majority: what the commonest answer scores on these tasks; None where answers are no labels.
    """

    verdict: RunVerdict
    majority: LabelDiagnostics | None = None
    kind: Literal["verdict_reached"] = "verdict_reached"
