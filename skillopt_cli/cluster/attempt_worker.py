"""The side of a node: makes one attempt at a time, and has the driver make its model calls."""

from __future__ import annotations

import asyncio
import itertools
import os
import platform
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from skillopt_cli.cluster.messages import (
    AttemptJob,
    CallAnswered,
    CallAsked,
    Content,
    Crashed,
    FileContent,
    Step,
    WorkerOpened,
    file_key,
)
from skillopt_cli.cluster.node_files import NodeFiles
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest, Image, Message, TaskFile
from skillopt_cli.executors.workspaces import temp_prefix
from skillopt_cli.ports import AttemptRunner, ChatBackend


@dataclass(frozen=True, slots=True)
class NodeSite:
    """What a node makes attempts with.

    Attributes:
        read_at: has the benchmark read the files of a task's episode where they are here.
        notices: what is weaker here than asked for.
    """

    runner: AttemptRunner
    read_at: Callable[[Sequence[TaskFile]], None]
    notices: tuple[Degraded, ...] = ()


class NodePlan(Protocol):
    """What the driver sends a node once: how to open what attempts are made with."""

    def open(self, chat: ChatBackend, files: Path, workspaces: Path) -> NodeSite:
        """Open it on this machine.

        Args:
            chat: the target's model, asked of the driver.
            files: where files of tasks are kept, which no program may read.
            workspaces: folder of the workspaces.

        Raises:
            SkillOptError: something is missing here, or differs from the driver's machine.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What an agent may know of its model; see `ports.ChatBackend`."""

    name: str
    fingerprint: str
    offers: frozenset[str]


class DriverChat:
    """The `ChatBackend` of a node: the driver makes each call, within its limits and its journal.

    Attributes:
        steps: where calls are put.
        images: the driver's pictures by those of this node, in whose place they are sent.
    """

    def __init__(self, model: ModelFacts) -> None:
        self.name = model.name
        self.fingerprint = model.fingerprint
        self.offers = model.offers
        self.steps: asyncio.Queue[Step] = asyncio.Queue()
        self.images: Mapping[Image, Image] = {}
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[ChatReply]] = {}

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request; see `ports.ChatBackend` for the errors."""
        number = next(self._numbers)
        asked = replace(request, messages=self.as_sent(request.messages))
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self.steps.put_nowait(CallAsked(number, asked))
        try:
            return await self._waiting[number]
        finally:
            del self._waiting[number]

    def answer(self, answer: CallAnswered) -> None:
        """Pass an answer on; one that nobody waits for any more is dropped."""
        waiting = self._waiting.get(answer.number)
        if waiting is None or waiting.done():
            return
        if answer.reply is not None:
            waiting.set_result(answer.reply)
        elif answer.error is not None:
            waiting.set_exception(answer.error)

    def as_sent(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Messages with the driver's pictures in the place of this node's."""
        if not self.images:
            return messages
        known = self.images
        return tuple(
            replace(message, images=tuple(known.get(image, image) for image in message.images))
            for message in messages
        )


class AttemptWorker:
    """Makes attempts, one at a time; a process of its own on a node.

    An attempt is begun and asked for its next step until that is its end. Calls are numbered over
    all attempts, so that an answer for an earlier one is dropped.
    """

    def __init__(self, plan: NodePlan, model: ModelFacts) -> None:
        self._plan = plan
        self._chat = DriverChat(model)
        self._opened = ExitStack()
        # The parent of a worker is the node's own process.
        self._files = NodeFiles.of_this_node(os.getppid())
        self._skills: dict[str, SkillDocument] = {}
        self._site: NodeSite | None = None
        self._attempt: asyncio.Task[None] | None = None

    async def open(self) -> WorkerOpened | SkillOptError:
        """Open what attempts are made with; why that is impossible here."""
        workspaces = self._opened.enter_context(TemporaryDirectory(prefix=temp_prefix()))
        try:
            self._site = await asyncio.to_thread(
                self._plan.open, self._chat, self._files.root, Path(workspaces)
            )
        except SkillOptError as error:
            return error
        return WorkerOpened(platform.node(), self._site.notices, self._files.held())

    async def begin(self, job: AttemptJob, *contents: Content) -> None:
        """Begin an attempt.

        Args:
            contents: what comes along with the job, in the order of `job.sent`.
        """
        await self.cancel()
        for key, content in zip(job.sent, contents, strict=True):
            if isinstance(content, FileContent):
                await asyncio.to_thread(self._files.write, key, content)
            else:
                self._skills[key] = content
        self._chat.steps = asyncio.Queue()
        self._attempt = asyncio.create_task(self._make(job))

    async def next(self) -> Step:
        """The next step of the attempt."""
        return await self._chat.steps.get()

    async def answer(self, answer: CallAnswered) -> None:
        """Take the answer to a call that the attempt asked for."""
        self._chat.answer(answer)

    async def cancel(self) -> None:
        """End the attempt under way, with all its programs, if there is one."""
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            attempt.cancel()
            await asyncio.gather(attempt, return_exceptions=True)
            # For a driver that asked for its next step, and waits no more.
            self._chat.steps.put_nowait(Crashed("it was ended"))

    async def close(self) -> None:
        """End the attempt under way, and remove all workspaces."""
        await self.cancel()
        await asyncio.to_thread(self._opened.close)

    async def _make(self, job: AttemptJob) -> None:
        steps = self._chat.steps
        try:
            steps.put_nowait(await self._made(job))
        except SkillOptError as error:
            steps.put_nowait(error)
        # A bug of ours or of a plug-in's; that of a plug-in may not survive being sent.
        except Exception:
            steps.put_nowait(Crashed(traceback.format_exc()))

    async def _made(self, job: AttemptJob) -> Attempt:
        assert self._site is not None
        brief = self._local(job.brief)
        self._chat.images = dict(zip(brief.images, job.brief.images, strict=True))
        self._site.read_at([self._local_file(file) for file in job.files])
        made = await self._site.runner.attempt(job.task, brief, self._skills[job.skill])
        if not self._chat.images or not isinstance(made, Attempt):  # a plug-in's may be anything
            return made
        return replace(made, messages=self._chat.as_sent(made.messages))

    def _local(self, brief: Brief) -> Brief:
        """A brief whose files and pictures are those of this node."""
        images = tuple(
            replace(image, path=str(self._files.path(file_key(Path(image.path), image.digest))))
            for image in brief.images
        )
        files = tuple(self._local_file(file) for file in brief.files)
        return replace(brief, images=images, files=files)

    def _local_file(self, file: TaskFile) -> TaskFile:
        key = file_key(Path(file.path), file.digest)
        return replace(file, path=str(self._files.path(key)))
