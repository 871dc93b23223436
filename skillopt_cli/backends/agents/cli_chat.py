"""A program that is asked: each request is one run of it, and its last word is the answer."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from skillopt_cli.backends.agents.course import Course
from skillopt_cli.backends.agents.program import Layout, Program, Told
from skillopt_cli.backends.agents.relay import Door, Errand, relay
from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.errors import BackendError, CallTimedOut, RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Usage
from skillopt_cli.ports import ChatBackend, Executor, Finished

RENDERING = "cli_chat/1"
"""Changes whenever the same request would be put before a program in other words."""
ASKED_OFFERS = frozenset({"json_schema"})
"""What a program offers that can be told the form of its answer."""
_OPENING = (
    "Answer from this text alone: there are no files, and nothing is to be done but to answer."
)
_HEADINGS = {"user": "# Request", "assistant": "# Your answer so far", "tool": "# Result"}


class CliChat(Wrapper):
    """A `ChatBackend` that runs a program in an empty folder of its own for each request.

    The program's requests to its model become calls of the inner backend, which is opened and
    closed with this one. A program that brings its own model is one call of it.
    """

    def __init__(
        self,
        inner: ChatBackend,
        program: Program,
        executor: Executor,
        offers: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(inner)
        self.fingerprint = f"{RENDERING} {program.fingerprint} {inner.fingerprint}"
        self.offers = offers
        self._program = program
        self._executor = executor

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The program's answer.

        Raises:
            TransientError: the model service failed, the program came to no answer, or took longer
                than it may.
            RequestRefused: the service refused what the program asked, the program used up its
                turns, or the request holds what no program can be told: pictures or tools.
            FatalBackendError: no request can succeed.
        """
        prompt = written(request)
        async with self._executor.workspace(request.stage) as folder:
            layout = Layout(
                folder.resolve(),
                isolated=self._executor.isolates,
                asked=True,
                schema=_named_schema(request) if "json_schema" in self.offers else None,
            )
            await asyncio.to_thread(layout.make_folders)
            async with self._door(layout, request) as door:
                if door is not None:
                    layout = replace(layout, url=door.url, token=door.token)
                course = Course(self._program, layout, door)
                finished = await course.run(prompt, self._executor)
        told = course.ending(finished)
        if told.ending != "answered":
            raise self._error(told, finished, door)
        return ChatReply(told.answer, door.usage if door else Usage(1))

    @asynccontextmanager
    async def _door(self, layout: Layout, request: ChatRequest) -> AsyncIterator[Door | None]:
        asked = f"{self.fingerprint}\n{request.identity}"
        key = hashlib.sha256(asked.encode(errors="surrogatepass")).hexdigest()
        program = self._program
        if program.form is None:
            message = Message("user", key)
            await self._inner.chat(ChatRequest((message,), stage=request.stage))
            yield None
            return
        errand = Errand(
            key=key,
            stage=request.stage,
            draw=request.draw,
            model=self.name,
            folder=layout.folder,
            max_turns=program.max_turns,
        )
        async with relay(self._inner, program.form, errand) as door:
            yield door

    def _error(self, told: Told, finished: Finished, door: Door | None) -> BackendError:
        """What came in the place of an answer; what it cost is booked already."""
        name = self._program.name
        if door is not None and door.failure is not None:
            return door.failure
        if told.ending == "gave_up":
            return RequestRefused(f"{name} gave no answer: {told.error}")
        if finished.timed_out:
            return CallTimedOut(
                f"{name} gave no answer: {told.error}", f"raise model.{name}.timeout"
            )
        return ServerFailed(f"{name} gave no answer: {told.error}")


def written(request: ChatRequest) -> str:
    """A request as one text: what it is about, the instructions, then what was said, in turn.

    Raises:
        RequestRefused: it holds pictures or tools.
    """
    if request.tools or any(message.images for message in request.messages):
        raise RequestRefused("a program can be asked with text alone, without tools and pictures")
    return "\n\n".join((_OPENING, *_parts(request.messages)))


def _named_schema(request: ChatRequest) -> Mapping[str, Any] | None:
    """The schema with its name as its title, since a program has no other place for that."""
    if request.schema is None or not request.schema_name:
        return request.schema
    return {**request.schema, "title": request.schema_name}


def _parts(messages: tuple[Message, ...]) -> Iterator[str]:
    for message in messages:
        if message.role == "system":
            yield message.content.strip()
        else:
            yield f"{_HEADINGS[message.role]}\n\n{message.content.strip()}"
