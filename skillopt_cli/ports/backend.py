"""The seams to models: a chat model, and the agent that is taught."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest, Task
from skillopt_cli.ports.executor import Executor


class ChatBackend(Protocol):
    """One request to a chat model, one reply.

    Attributes:
        name: the model, for people.
        fingerprint: everything about model and parameters that can alter a reply.
        offers: abilities, such as "json_schema".
    """

    name: str
    fingerprint: str
    offers: frozenset[str]

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request.

        Raises:
            TransientError: another try may succeed.
            RequestRefused: this request cannot succeed.
            FatalBackendError: no request can.
        """
        ...


def lifetime(backend: ChatBackend | AttemptRunner) -> AbstractAsyncContextManager[object]:
    """Return the context in which it may be used: itself, if it is a context manager."""
    return backend if isinstance(backend, AbstractAsyncContextManager) else nullcontext()


class AgentBackend(Protocol):
    """The frozen agent being taught: it attempts a brief while holding a skill."""

    name: str
    fingerprint: str
    offers: frozenset[str]

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        """Attempt a brief. A failure of ours is a `broken` attempt; a fatal one is raised."""
        ...


class AttemptRunner(Protocol):
    """Where attempts are made: in this process, or on other machines."""

    async def attempt(self, task: Task, brief: Brief, skill: SkillDocument) -> Attempt:
        """The target's attempt at a task, within the benchmark's episode where it has one.

        Raises:
            EpisodeFailed: the episode could not be opened or closed, or failed.
            FatalBackendError: no attempt can succeed.
        """
        ...
