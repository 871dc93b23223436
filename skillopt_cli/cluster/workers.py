"""What the driver needs of a cluster and of a worker there, whatever runs them."""

from __future__ import annotations

from typing import Protocol

from skillopt_cli.cluster.attempt_worker import ModelFacts, NodePlan
from skillopt_cli.cluster.messages import AttemptJob, CallAnswered, Content, Step, WorkerOpened


class WorkerLost(Exception):
    """A worker or its node has gone, or cannot be reached; the message is one line.

    Args:
        unusable: whether its node cannot start one at all, as without this package.

    Attributes:
        begun: whether an attempt was under way there.
    """

    def __init__(self, why: str, *, unusable: bool = False) -> None:
        super().__init__(why)
        self.unusable = unusable
        self.begun = False


class Worker(Protocol):
    """An `AttemptWorker` as the driver calls it. Every call may raise `WorkerLost`.

    Attributes:
        node: name of its machine; empty until it is open.
        held: keys of the contents that it has.
    """

    node: str
    held: set[str]

    async def open(self) -> WorkerOpened:
        """Open it, once there is a node with room for it.

        Raises:
            SkillOptError: something is missing on its node, or differs from this machine.
        """
        ...

    async def begin(self, job: AttemptJob) -> None:
        """Begin an attempt; the contents of `job.sent` come along."""
        ...

    async def next(self) -> Step:
        """See `AttemptWorker.next`."""
        ...

    async def answer(self, answer: CallAnswered) -> None:
        """See `AttemptWorker.answer`."""
        ...

    async def cancel(self) -> None:
        """See `AttemptWorker.cancel`."""
        ...

    async def close(self) -> None:
        """See `AttemptWorker.close`."""
        ...

    def kill(self) -> None:
        """End its process, or give it up where it has none yet."""
        ...


class Cluster(Protocol):
    """Where workers are started."""

    @property
    def needs(self) -> object:
        """What a worker takes of its node, for people."""
        ...

    async def open(self, plan: NodePlan, model: ModelFacts) -> None:
        """Connect to it, and have its workers use this plan and model.

        Raises:
            SkillOptError: that is impossible.
        """
        ...

    def has(self, key: str) -> bool:
        """Whether a content can be sent to workers."""
        ...

    def put(self, key: str, content: Content) -> None:
        """Keep a content, to be sent to workers."""
        ...

    def start_worker(self) -> Worker:
        """A worker, which starts once a node has room for it."""
        ...
