"""A store in memory, for tests and probes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from skillopt_cli.core.events import Stamped
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import ChatReply, Task
from skillopt_cli.ports import Stored
from skillopt_cli.store.atomic_files import inner_path


class MemoryStore:
    """A `Store` in memory, with the contract of the one on disk.

    Attributes:
        files: the texts of files, by path.
        states: every checkpoint, oldest first.
        log: every fact, oldest first.
    """

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.states: list[TrainState] = []
        self.log: list[Stamped] = []
        self._rollouts: dict[str, Trajectory] = {}
        self._calls: dict[str, ChatReply] = {}

    def load_state(self) -> TrainState | None:
        """The last checkpoint, or None."""
        return self.states[-1] if self.states else None

    def save_state(self, state: TrainState) -> None:
        """Append a checkpoint."""
        self.states.append(state)

    def append(self, fact: Stamped) -> None:
        """Add a fact to the log."""
        self.log.append(fact)

    def facts(self) -> Iterator[Stamped]:
        """The log from its start."""
        return iter(tuple(self.log))

    @property
    def last_number(self) -> int:
        """Number of the last logged fact, 0 for an empty log."""
        return self.log[-1].number if self.log else 0

    def recall(self, key: str, task: Task) -> Trajectory | None:
        """The rollout remembered under `key`, as one of `task`."""
        stored = self._rollouts.get(key)
        return None if stored is None else replace(stored, task=task)

    def remember(self, key: str, trajectory: Trajectory) -> None:
        """Store a scored rollout, unless `key` is taken; ValueError for a broken one."""
        if trajectory.broken:
            raise ValueError(
                f"a broken attempt at task {trajectory.task.id!r} must not be remembered"
            )
        self._rollouts.setdefault(key, trajectory)

    def recall_call(self, key: str) -> ChatReply | None:
        """The reply remembered under `key`, or None."""
        return self._calls.get(key)

    def remember_call(self, key: str, reply: ChatReply) -> None:
        """Store a reply, unless `key` is taken."""
        self._calls.setdefault(key, reply)

    def forget_call(self, key: str) -> None:
        """Drop a reply, if there is one."""
        self._calls.pop(key, None)

    async def fetch(self, kind: Stored, key: str) -> None:
        """Do nothing: it shares nothing."""

    async def flush(self) -> None:
        """Do nothing."""

    def keep(self, path: str, text: str) -> None:
        """Store `text` under `path`; ValueError for a path that would leave a folder."""
        self.files[str(inner_path(path))] = text

    def keep_folder(self, path: str, skill: SkillDocument) -> None:
        """Store the texts of a skill folder below `path`, replacing those there."""
        home = f"{inner_path(path)}/"
        self.files = {name: text for name, text in self.files.items() if not name.startswith(home)}
        self.files |= {f"{home}{name}": text for name, text in skill.texts.items()}
