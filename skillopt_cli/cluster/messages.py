"""What a driver and a node's worker tell each other. No message holds a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from skillopt_cli.core.errors import BackendError, SkillOptError
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest, Task, TaskFile


@dataclass(frozen=True, slots=True)
class AttemptJob:
    """An attempt to make on a node.

    Attributes:
        skill: digest of the skill.
        files: those that the episode of the task reads, beside those of the brief.
        sent: keys of the contents that come along; what else the attempt needs was sent before.
    """

    task: Task
    brief: Brief
    skill: str
    files: tuple[TaskFile, ...] = ()
    sent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file's bytes, or a folder's as a tar archive."""

    data: bytes = field(repr=False)
    is_folder: bool = False


Content = FileContent | SkillDocument
"""What is sent once to each worker, by its key."""


@dataclass(frozen=True, slots=True)
class CallAsked:
    """A model call that the driver is to make for an attempt; `number` is unique in it."""

    number: int
    request: ChatRequest


@dataclass(frozen=True, slots=True)
class CallAnswered:
    """What came of it: a reply, or an error after which the attempt goes on."""

    number: int
    reply: ChatReply | None = None
    error: BackendError | None = None


@dataclass(frozen=True, slots=True)
class Crashed:
    """An attempt met a bug, whose traceback this is."""

    traceback: str


Step = CallAsked | Attempt | SkillOptError | Crashed
"""What an attempt does next: ask its model, or end."""


@dataclass(frozen=True, slots=True)
class WorkerOpened:
    """A worker is ready.

    Attributes:
        node: name of its machine.
        notices: what is weaker there than asked for.
        held: keys of the contents that are on the node already.
    """

    node: str
    notices: tuple[Degraded, ...] = ()
    held: frozenset[str] = frozenset()


def file_key(file: Path, digest: str) -> str:
    """The key of a file's content. The name counts: programs learn of files by their names."""
    return f"{digest}/{file.name}"
