"""The chat backend over a command-line program: one run of the program per request."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from skillopt_cli.backends.agents.cli_agent import AgentRun, FinishedRun
from skillopt_cli.backends.agents.program import Program, Workspace
from skillopt_cli.backends.agents.relay import RelaySession
from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.core.errors import BackendError, CallTimedOut, RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Message
from skillopt_cli.ports import ChatBackend, Executor

RENDERING = "cli_chat/1"
"""Changes whenever a program would get the same request in other words."""
_OPENING = (
    "Answer from this text alone: there are no files, and nothing is to be done but to answer."
)
_HEADINGS = {"user": "# Request", "assistant": "# Your answer so far", "tool": "# Result"}


class CliChat(Wrapper):
    """A `ChatBackend` that runs a program in an empty folder of its own for each request.

    The inner backend, opened and closed with this one, answers the program's requests to its
    model. A program that brings its own model is one call of it.
    """

    def __init__(self, inner: ChatBackend, program: Program, executor: Executor) -> None:
        super().__init__(inner)
        self.fingerprint = f"{RENDERING} {program.fingerprint} {inner.fingerprint}"
        self.offers = program.chat_offers
        self._program = program
        self._executor = executor

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the program's answer.

        Raises:
            TransientError: the model service failed, or the program gave no answer in time.
            RequestRefused: the service refused a request, the program used up its turns, or the
                request holds pictures or tools, which a program cannot get.
            FatalBackendError: no request can succeed.
        """
        prompt = written(request)
        program = self._program
        asked = f"{self.fingerprint}\n{request.identity}"
        async with self._executor.workspace(request.stage) as folder:
            workspace = Workspace(
                folder.resolve(),
                isolated=self._executor.isolates,
                asked=True,
                schema=_named_schema(request) if "json_schema" in self.offers else None,
            )
            await asyncio.to_thread(workspace.make_folders)
            session = RelaySession(
                key=hashlib.sha256(asked.encode(errors="surrogatepass")).hexdigest(),
                stage=request.stage,
                # The key holds the draw already, which is all that a journal needs.
                draw=request.draw if program.api else 0,
                model=self.name,
                folder=workspace.folder,
                max_turns=program.max_turns,
            )
            run = AgentRun(program, self._inner, session, workspace, self._executor)
            outcome = await run.outcome(prompt)
        if outcome.result.ending != "answered":
            raise self._error(outcome)
        return ChatReply(outcome.result.answer, outcome.usage)

    def _error(self, outcome: FinishedRun) -> BackendError:
        """Return the error for a missing answer; its cost is already accounted for."""
        name, endpoint, result = self._program.name, outcome.endpoint, outcome.result
        if endpoint is not None and endpoint.failure is not None:
            return endpoint.failure
        message = f"{name} gave no answer: {result.error}"
        if result.ending == "gave_up":
            return RequestRefused(message)
        if outcome.finished.timed_out:
            return CallTimedOut(message, f"raise model.{name}.timeout")
        return ServerFailed(message)


def written(request: ChatRequest) -> str:
    """Return a request as one text: opening, instructions, then the messages in order.

    Raises:
        RequestRefused: it holds pictures or tools.
    """
    if request.tools or any(message.images for message in request.messages):
        raise RequestRefused("a program can be asked with text alone, without tools and pictures")
    return "\n\n".join((_OPENING, *_parts(request.messages)))


def _named_schema(request: ChatRequest) -> Mapping[str, Any] | None:
    """Return the schema with its name as its title, the only place a program offers for it."""
    if request.schema is None or not request.schema_name:
        return request.schema
    return {**request.schema, "title": request.schema_name}


def _parts(messages: tuple[Message, ...]) -> Iterator[str]:
    for message in messages:
        if message.role == "system":
            yield message.content.strip()
        else:
            yield f"{_HEADINGS[message.role]}\n\n{message.content.strip()}"
