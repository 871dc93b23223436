"""A Ray cluster: the connection to it, its object store, and its workers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from skillopt_cli.cluster.attempt_worker import AttemptWorker, ModelFacts, NodePlan
from skillopt_cli.cluster.messages import (
    AttemptJob,
    CallAnswered,
    Content,
    Step,
    WorkerOpened,
)
from skillopt_cli.cluster.workers import WorkerLost
from skillopt_cli.config.run_section import LOCAL_CLUSTER
from skillopt_cli.core.errors import BackendUnusable, ConfigError, SkillOptError

_CLIENT = "ray://"
_MB = 1_000_000
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class WorkerNeeds:
    """What a worker takes of its node: CPUs, which may be a part of one, and megabytes."""

    cpus: float
    memory_mb: int

    def __str__(self) -> str:
        return f"{self.cpus:g} CPU(s) and {self.memory_mb} MB"


class RayCluster:
    """The `Cluster` of an address.

    The connection is Ray's own, one for the whole process, and stays until that ends. Contents are
    in Ray's object store, from which each node fetches them once.

    Args:
        address: as `ray.init` takes it; `local` starts a cluster for the life of this process.
    """

    def __init__(self, address: str, needs: WorkerNeeds) -> None:
        self.needs = needs
        self._address = address
        self._contents: dict[str, Any] = {}

    async def open(self, plan: NodePlan, model: ModelFacts) -> None:
        """Connect, and have workers use this plan and model.

        Raises:
            ConfigError: Ray is not installed, the address is that of Ray's client protocol, or the
                benchmark cannot be sent.
            BackendUnusable: there is no cluster.
        """
        await _connect(self._address)
        import ray

        try:
            self._plan = ray.put(plan)
        # Whatever a plug-in's benchmark raises when it is pickled.
        except Exception as error:
            raise ConfigError(
                f"the benchmark cannot be sent to the nodes of a cluster: {_in_a_line(error)}",
                "have it open files and processes in `episode`, or use another `run.executor`",
            ) from error
        self._model = model
        self._actor = ray.remote(AttemptWorker).options(
            num_cpus=self.needs.cpus,
            memory=self.needs.memory_mb * _MB,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )

    def has(self, key: str) -> bool:
        """Whether a content is in the store."""
        return key in self._contents

    def put(self, key: str, content: Content) -> None:
        """Put a content into the store, for the life of this object."""
        import ray

        self._contents[key] = ray.put(content)

    def start_worker(self) -> RayWorker:
        """A worker, which starts once a node has room for it."""
        return RayWorker(self._actor.remote(self._plan, self._model), self._contents)


class RayWorker:
    """An `AttemptWorker` on a node as an actor of Ray; see `Worker`."""

    def __init__(self, actor: Any, contents: dict[str, Any]) -> None:
        self.node = ""
        self.held: set[str] = set()
        self._actor = actor
        self._contents = contents

    async def open(self) -> WorkerOpened:
        """See `Worker.open`."""
        opened: WorkerOpened | SkillOptError = await _called(self._actor.open.remote())
        if isinstance(opened, SkillOptError):
            raise opened
        self.node = opened.node
        self.held |= opened.held
        return opened

    async def begin(self, job: AttemptJob) -> None:
        """See `Worker.begin`."""
        # Not within a list: Ray fetches what is an argument itself.
        contents = [self._contents[key] for key in job.sent]
        await _called(self._actor.begin.remote(job, *contents))
        self.held |= set(job.sent)

    async def next(self) -> Step:
        """See `AttemptWorker.next`."""
        step: Step = await _called(self._actor.next.remote())
        return step

    async def answer(self, answer: CallAnswered) -> None:
        """See `AttemptWorker.answer`."""
        await _called(self._actor.answer.remote(answer))

    async def cancel(self) -> None:
        """See `AttemptWorker.cancel`."""
        await _called(self._actor.cancel.remote())

    async def close(self) -> None:
        """See `AttemptWorker.close`."""
        await _called(self._actor.close.remote())

    def kill(self) -> None:
        """See `Worker.kill`."""
        import ray

        ray.kill(self._actor)


async def _connect(address: str) -> None:
    try:
        import ray
        from ray._common.usage.usage_lib import set_usage_stats_enabled_via_env_var
    except ImportError as error:
        raise ConfigError(
            "`run.executor` is `ray`, and Ray is not installed", "pip install 'skillopt-cli[ray]'"
        ) from error
    if address.startswith(_CLIENT):
        raise ConfigError(
            f"`run.ray.address` is {address}, the protocol of a client outside of the cluster",
            "start the run on a machine of the cluster, with `run.ray.address=auto`",
        )
    if ray.is_initialized():
        return
    logging.getLogger("ray").setLevel(logging.ERROR)  # it tells how it starts
    own: dict[str, Any] = {}
    if address == LOCAL_CLUSTER:
        own = {"include_dashboard": False}
        set_usage_stats_enabled_via_env_var(False)
    try:
        await asyncio.to_thread(
            ray.init,
            address=address,
            log_to_driver=False,
            configure_logging=False,
            logging_level=logging.ERROR,
            **own,
        )
    # Ray raises `Exception` itself where a node of this machine takes too long to start.
    except Exception as error:
        raise BackendUnusable(
            f"there is no Ray cluster at `{address}`: {_in_a_line(error)}",
            "name the head of a running one by `run.ray.address=HOST:PORT`",
        ) from error


async def _called(ref: Awaitable[Any]) -> Any:
    """The result of a call.

    Raises:
        WorkerLost: there is none.
    """
    from ray.exceptions import ActorDiedError, RayError, RayTaskError

    try:
        return await ref
    except RayTaskError:  # a bug, on the node
        raise
    except RayError as error:
        if isinstance(error, ActorDiedError) and error.actor_init_failed:
            raise WorkerLost(str(error).strip().splitlines()[-1], unusable=True) from error
        raise WorkerLost(_in_a_line(error)) from error


def _in_a_line(error: Exception) -> str:
    """The words of Ray's error, without the fields in it."""
    said = " ".join(line for line in str(error).splitlines() if not line.startswith("\t"))
    return f"{type(error).__name__}: {said.strip()}"[:_LONGEST_REASON].rstrip(". ")
