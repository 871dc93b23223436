"""The seam to stores: a run's checkpoint, log, journal and copies; and how facts are emitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, Protocol

from skillopt_cli.core.events import RunEvent, Stamped
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import ChatReply, Task

Emit = Callable[[RunEvent], None]
"""States a fact, which is then in the log."""
Stored = Literal["rollout", "call"]
"""What a journal holds."""


class Store(Protocol):
    """A run's memory: one checkpoint, one log, one journal, and copies for people."""

    def load_state(self) -> TrainState | None:
        """The last checkpoint, or None for a run without one."""
        ...

    def save_state(self, state: TrainState) -> None:
        """Replace the checkpoint atomically; the one before is kept beside it."""
        ...

    def append(self, fact: Stamped) -> None:
        """Add a fact to the log."""
        ...

    def facts(self) -> Iterator[Stamped]:
        """The log from its start; a torn last line is left out."""
        ...

    def recall(self, key: str, task: Task) -> Trajectory | None:
        """A rollout from the journal, or None. A hit equals the original field for field."""
        ...

    def remember(self, key: str, trajectory: Trajectory) -> None:
        """Journal a scored rollout. Broken ones are never remembered."""
        ...

    def recall_call(self, key: str) -> ChatReply | None:
        """A model call's reply from the journal, or None."""
        ...

    def remember_call(self, key: str, reply: ChatReply) -> None:
        """Journal a model call's reply."""
        ...

    def forget_call(self, key: str) -> None:
        """Drop a reply, if there is one, so that the call is made again when it is next needed."""
        ...

    async def fetch(self, kind: Stored, key: str) -> None:
        """Journal what other runs share under `key`, where the journal lacks it; never raises."""
        ...

    async def flush(self) -> None:
        """Wait until what was journaled is shared with other runs, or cannot be."""
        ...

    def keep(self, path: str, text: str) -> None:
        """Write a copy for people at `path`, relative to the run folder."""
        ...

    def keep_folder(self, path: str, skill: SkillDocument) -> None:
        """Lay a skill folder out at `path`, in the place of what is there."""
        ...
