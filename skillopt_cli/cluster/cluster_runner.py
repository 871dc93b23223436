"""Attempts on the nodes of a cluster, as many at a time as there are workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Self

from skillopt_cli.cluster.attempt_worker import ModelFacts, NodePlan
from skillopt_cli.cluster.messages import (
    AttemptJob,
    CallAnswered,
    CallAsked,
    Crashed,
    Step,
    file_key,
)
from skillopt_cli.cluster.node_files import packed
from skillopt_cli.cluster.workers import Cluster, Worker, WorkerLost
from skillopt_cli.core.errors import (
    BackendUnusable,
    DataError,
    RequestRefused,
    SkillOptError,
    TransientError,
)
from skillopt_cli.core.events import CLUSTER, Degraded
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, Task, TaskFile
from skillopt_cli.ports import ChatBackend, Emit
from skillopt_cli.stages.concurrency import first_cause

TRIES = 3
"""Workers that an attempt may lose before it is broken, and that may fail to open in a row."""
PATIENCE = 60.0
"""Seconds without any worker after which that is said."""
RESTART = 1.0
"""Seconds until a worker that failed to open is replaced, doubled with each one in a row."""
_CLOSING = 10.0
"""Seconds that workers are given to end their programs and remove their folders."""


class ClusterRunner:
    """The `AttemptRunner` of a cluster; opened and closed as a context manager.

    An attempt is made by a worker on some node; its model calls come back here and pass the
    target's limits, budget and journal. When a worker is lost, its attempt is made again, in which
    calls that were journaled are not repeated.

    Args:
        workers: how many to start; each makes one attempt at a time.
        plan: what they open.
        chat: the target's model, behind the journal.
        files_of: the files that the episode of a task reads.
    """

    def __init__(  # noqa: PLR0913 - the parts of a run that attempts elsewhere need
        self,
        cluster: Cluster,
        workers: int,
        plan: NodePlan,
        chat: ChatBackend,
        files_of: Callable[[Task], Sequence[TaskFile]],
        emit: Emit,
    ) -> None:
        self._cluster = cluster
        self._wanted = workers
        self._plan = plan
        self._chat = chat
        self._files_of = files_of
        self._emit = emit
        self._announced: set[Degraded] = set()
        self._idle: asyncio.Queue[Worker | Exception] = asyncio.Queue()
        self._workers: set[Worker] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._packing = asyncio.Lock()
        self._failed_starts = 0
        self._last_failure = ""

    async def attempt(self, task: Task, brief: Brief, skill: SkillDocument) -> Attempt:
        """See `ports.AttemptRunner`; an attempt that lost too many workers is broken."""
        lost = 0
        while True:
            worker = await self._free_worker()
            job = await self._job(worker, task, brief, skill)
            try:
                return await self._made_by(worker, job)
            except WorkerLost as error:
                if not error.begun:  # it was lost while it was idle, through no attempt
                    continue
                lost, why = lost + 1, f"{worker.node}: {error}"
            if lost == TRIES:
                why = f"its worker was lost {lost} times, at last on {why}"
                return Attempt("", ending="broken", error=why)
            self._emit(Degraded(CLUSTER, f"a lost attempt is made again ({why})"))

    async def __aenter__(self) -> Self:
        model = ModelFacts(self._chat.name, self._chat.fingerprint, self._chat.offers)
        await self._cluster.open(self._plan, model)
        for _ in range(self._wanted):
            self._start_worker()
        try:
            # What every node lacks is said before anything is spent.
            self._idle.put_nowait(await self._free_worker())
        # Ctrl-C as well: no worker is left on the cluster.
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        closings = [asyncio.ensure_future(w.close()) for w in self._workers if w.node]
        ending = [*self._tasks, *closings]
        if ending:
            await asyncio.wait(ending, timeout=_CLOSING)
        for closing in closings:
            if not closing.cancel():
                closing.exception()  # a lost worker needs no closing
        for worker in self._workers:
            worker.kill()

    async def _free_worker(self) -> Worker:
        """A worker that makes no attempt, once there is one."""
        while True:
            try:
                async with asyncio.timeout(PATIENCE):
                    found = await self._idle.get()
                    break
            except TimeoutError:
                self._announce_none()
        if isinstance(found, Exception):
            self._idle.put_nowait(found)  # the next attempt gets the error as well
            raise found
        return found

    def _announce_none(self) -> None:
        if any(worker.node for worker in self._workers):
            return  # all are at work
        why = self._last_failure
        needs = f"which takes {self._cluster.needs} (run.ray.cpus, run.ray.memory_mb)"
        reason = f"no worker starts: {why}" if why else f"no node has room for a worker, {needs}"
        self._notice(Degraded(CLUSTER, reason))

    async def _job(
        self, worker: Worker, task: Task, brief: Brief, skill: SkillDocument
    ) -> AttemptJob:
        """The job of an attempt; what the worker lacks for it is put where it can be had."""
        files = tuple(self._files_of(task))
        wanted = {file_key(Path(f.path), f.digest): f.path for f in (*brief.files, *files)}
        wanted |= {file_key(Path(i.path), i.digest): i.path for i in brief.images}
        lacking = [key for key in wanted if key not in worker.held]
        for key in lacking:
            await self._put_file(key, Path(wanted[key]))
        if skill.digest not in worker.held:
            lacking.append(skill.digest)
            if not self._cluster.has(skill.digest):
                self._cluster.put(skill.digest, skill)
        return AttemptJob(task, brief, skill.digest, files, tuple(lacking))

    async def _put_file(self, key: str, file: Path) -> None:
        """Put a file's content where it can be had, once for all attempts that need it."""
        async with self._packing:
            if self._cluster.has(key):
                return
            try:
                content = await asyncio.to_thread(packed, file)
            except OSError as error:
                raise DataError(f"cannot read {file}: {error.strerror}") from error
            self._cluster.put(key, content)

    async def _made_by(self, worker: Worker, job: AttemptJob) -> Attempt:
        """The attempt of one worker, which is free again afterwards.

        Raises:
            WorkerLost: it has gone. The calls under way were ended first: their answers are in the
                journal by then.
        """
        step: Step | WorkerLost | None = None
        try:
            async with asyncio.TaskGroup() as group:
                step = await self._last_step(worker, job, group)
        except ExceptionGroup as failures:
            raise first_cause(failures) from failures
        finally:
            self._release(worker, step)
        return _attempt_of(step)

    async def _last_step(
        self, worker: Worker, job: AttemptJob, group: asyncio.TaskGroup
    ) -> Step | WorkerLost:
        """The end of an attempt, whose calls are made in the group."""
        calls: list[asyncio.Task[None]] = []
        begun = False
        try:
            await worker.begin(job)
            begun = True
            while isinstance(step := await worker.next(), CallAsked):
                calls.append(group.create_task(self._answer(worker, step)))
        except WorkerLost as lost:
            lost.begun = begun
            return lost
        for call in calls:
            call.cancel()
        return step

    async def _answer(self, worker: Worker, asked: CallAsked) -> None:
        """Make a call for an attempt. What ends the run is raised, and not sent to the node."""
        try:
            answer = CallAnswered(asked.number, await self._chat.chat(asked.request))
        except (TransientError, RequestRefused) as error:
            answer = CallAnswered(asked.number, error=error)
        try:
            await worker.answer(answer)
        except WorkerLost:
            return  # which the next step tells as well

    def _release(self, worker: Worker, step: Step | WorkerLost | None) -> None:
        """Have a worker free again; None is an attempt that is to be ended before that."""
        if step is None:
            self._begin(self._cleared(worker))
        elif isinstance(step, WorkerLost):
            self._replace(worker)
        else:
            self._idle.put_nowait(worker)

    async def _cleared(self, worker: Worker) -> None:
        try:
            await worker.cancel()
        except WorkerLost:
            self._replace(worker)
        else:
            self._idle.put_nowait(worker)

    def _replace(self, worker: Worker) -> None:
        self._workers.discard(worker)
        worker.kill()
        self._start_worker()

    def _start_worker(self) -> None:
        worker = self._cluster.start_worker()
        self._workers.add(worker)
        self._begin(self._opened(worker))

    async def _opened(self, worker: Worker) -> None:
        """Open a worker, once a node has room for it."""
        try:
            found = await worker.open()
        except WorkerLost as lost:
            self._failed_starts += 1
            self._last_failure = str(lost)
            if self._failed_starts < TRIES or not lost.unusable:
                await asyncio.sleep(min(RESTART * 2**self._failed_starts, PATIENCE))
                self._replace(worker)
                return
            self._idle.put_nowait(
                BackendUnusable(
                    f"no worker can be opened on the nodes of the cluster: {lost}",
                    "install the same skillopt-cli[ray] on each; Ray's session folder has its logs",
                )
            )
        # What a node could not do, or a bug: nobody awaits this task, so an attempt raises it.
        except Exception as error:
            self._idle.put_nowait(error)
        else:
            self._failed_starts, self._last_failure = 0, ""
            for notice in found.notices:
                self._notice(notice)
            self._idle.put_nowait(worker)

    def _notice(self, notice: Degraded) -> None:
        if notice not in self._announced:
            self._announced.add(notice)
            self._emit(notice)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _attempt_of(step: Step | WorkerLost | None) -> Attempt:
    """The attempt that a last step is.

    Raises:
        WorkerLost, SkillOptError: the step is that.
        RuntimeError: it was a bug.
    """
    if isinstance(step, WorkerLost | SkillOptError):
        raise step
    if isinstance(step, Crashed):
        raise RuntimeError(f"an attempt failed on a node:\n{step.traceback}")
    assert isinstance(step, Attempt)
    return step
