"""A cluster whose workers live in this process; all that passes between is pickled."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Coroutine
from typing import Any

from skillopt_cli.cluster.attempt_worker import AttemptWorker, ModelFacts, NodePlan
from skillopt_cli.cluster.messages import AttemptJob, CallAnswered, Content, Step, WorkerOpened
from skillopt_cli.cluster.workers import WorkerLost
from skillopt_cli.core.errors import SkillOptError

NEVER = "it cannot start"


def sent(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


class HereWorker:
    """A `Worker` that can be lost like one on a node."""

    def __init__(self, cluster: HereCluster, number: int) -> None:
        self.node = ""
        self.name = f"node-{number}"
        self.held: set[str] = set()
        self.inner: AttemptWorker | None = None
        self._cluster = cluster
        self._calls: set[asyncio.Task[Any]] = set()
        self.dead = False

    async def open(self) -> WorkerOpened:
        if self.dead:
            raise WorkerLost(self.why, unusable=self.why == NEVER)
        plan, model = sent((self._cluster.plan, self._cluster.model))
        self.inner = AttemptWorker(plan, model)
        opened = await self._called(self.inner.open())
        if isinstance(opened, SkillOptError):
            raise opened
        self.node = self.name
        self.held |= opened.held
        return opened

    async def begin(self, job: AttemptJob) -> None:
        contents = [self._cluster.contents[key] for key in job.sent]
        self._cluster.sent += [(self.name, key) for key in job.sent]
        assert self.inner is not None
        await self._called(self.inner.begin(sent(job), *sent(contents)))
        self.held |= set(job.sent)

    async def next(self) -> Step:
        assert self.inner is not None
        return await self._called(self.inner.next())

    async def answer(self, answer: CallAnswered) -> None:
        assert self.inner is not None
        await self._called(self.inner.answer(sent(answer)))

    async def cancel(self) -> None:
        if self.inner is not None:
            await self._called(self.inner.cancel())

    async def close(self) -> None:
        assert self.inner is not None
        await self._called(self.inner.close())

    def kill(self) -> None:
        self.lose("killed")
        if self.inner is not None:
            self.inner._opened.close()
            if self.inner._attempt is not None:
                self.inner._attempt.cancel()

    @property
    def busy(self) -> bool:
        """Whether an attempt is under way."""
        return not self.dead and self.inner is not None and self.inner._attempt is not None

    def lose(self, why: str = "the node died") -> None:
        """All calls under way end, and so will every later one."""
        if not self.dead:
            self.dead, self.why = True, why
        for call in self._calls:
            call.cancel()

    async def _called(self, call: Coroutine[Any, Any, Any]) -> Any:
        if self.dead:
            call.close()
            raise WorkerLost(self.why, unusable=self.why == NEVER)
        task = asyncio.ensure_future(call)
        self._calls.add(task)
        try:
            return sent(await task)
        except asyncio.CancelledError:
            if self.dead:
                raise WorkerLost(self.why) from None
            task.cancel()
            raise
        finally:
            self._calls.discard(task)


class HereCluster:
    """A `Cluster` of this process.

    Args:
        asked: what else it was made for.

    Attributes:
        sent: which worker was sent which content.
        doomed: how many workers are yet to be lost as soon as they are started.
    """

    needs = "1 CPU(s) and 100 MB"

    def __init__(self, asked: object = None) -> None:
        self.asked = asked
        self.contents: dict[str, Content] = {}
        self.sent: list[tuple[str, str]] = []
        self.workers: list[HereWorker] = []
        self.doomed = 0

    async def open(self, plan: NodePlan, model: ModelFacts) -> None:
        self.plan, self.model = plan, model

    def has(self, key: str) -> bool:
        return key in self.contents

    def put(self, key: str, content: Content) -> None:
        assert key not in self.contents
        self.contents[key] = content

    def start_worker(self) -> HereWorker:
        worker = HereWorker(self, len(self.workers))
        self.workers.append(worker)
        if self.doomed:
            self.doomed -= 1
            worker.lose(NEVER)
        return worker
