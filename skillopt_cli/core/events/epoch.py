"""Facts about the end of an epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt_cli.core.gate import GateDecision

SlowUpdateAction = Literal[
    "inject_placeholder",
    "no_content",
    "force_accept",
    "accept_new_best",
    "accept",
    "reject",
    "indecisive",
]


@dataclass(frozen=True, slots=True)
class EpochCompared:
    """The epoch's skill was compared with the one before it on the same train tasks.

    Attributes:
        categories: pairs per category, those the policy left out included.
        shown: pairs given to the optimizer.
        broken: tasks left out because an attempt at them was broken.
    """

    step: int
    epoch: int
    categories: tuple[tuple[str, int], ...]
    shown: int
    broken: int
    kind: Literal["epoch_compared"] = "epoch_compared"


@dataclass(frozen=True, slots=True)
class SlowUpdateDecided:
    """What an epoch's end did to the guidance region, and the score of the text it made.

    Attributes:
        action: `inject_placeholder` at the end of the first epoch, which has none before it.
        decision: None where no text was measured, and in logs of versions that recorded only what
            the gate decided.
        hard, soft: means of the new text, None when it was not measured in full.
    """

    step: int
    epoch: int
    action: SlowUpdateAction
    guidance: str = ""
    decision: GateDecision | None = None
    hard: float | None = None
    soft: float | None = None
    kind: Literal["slow_update_decided"] = "slow_update_decided"

    @property
    def outcome(self) -> str:
        """The action, or `skip_no_op` where the text with guidance equals the current skill.

        The recorded action is then `reject`, although there was nothing to reject.
        """
        unchanged = self.decision is not None and self.decision.verdict == "no_op"
        return "skip_no_op" if unchanged else self.action


@dataclass(frozen=True, slots=True)
class MemoryWritten:
    """The optimizer wrote its notes for the next epoch (the paper's meta skill)."""

    step: int
    epoch: int
    notes: str
    kind: Literal["memory_written"] = "memory_written"
