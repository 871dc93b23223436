"""The relay of an agent's run: a local HTTP server between the program and its model."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt_cli.backends.agents.http_server import HttpRequest, HttpResponse, serve
from skillopt_cli.backends.agents.model_api import ModelApi, status_of
from skillopt_cli.backends.chat.bodies import is_stream
from skillopt_cli.core.errors import BackendError, RequestRefused
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Usage
from skillopt_cli.executors.workspaces import temp_prefix
from skillopt_cli.permissions import OWNER_ONLY
from skillopt_cli.ports import ChatBackend, ServiceAddress

SHOWN = "/skillopt-attempt"
"""What the model sees instead of the path of a run's folder, which differs each time."""
_BYTES_PER_TOKEN = 4
_NO_ENTRY = "this relay does not know that token"
_NO_TURNS = "the attempt has used up its turns"

_LONGEST_ADDRESS = 100
"""Bytes of a path that a Unix socket takes, about."""


@dataclass(frozen=True, slots=True)
class RelaySession:
    """The purpose and limits of a run's requests.

    Attributes:
        key: digest of everything that decides what the run asks; together with the number of a
            request it identifies that request's answer in the journal.
        folder: of the run; its path in requests is replaced by `SHOWN`.
        skill: the text that the model is expected to see; empty for none.
        max_turns: maximum of answered requests; 0 for no limit.
    """

    key: str
    stage: str
    draw: int
    model: str
    folder: Path
    skill: str = ""
    max_turns: int = 0

    @property
    def wanted(self) -> frozenset[str]:
        """The non-empty lines of the skill."""
        return frozenset(line.strip() for line in self.skill.splitlines() if line.strip())


@dataclass(slots=True)
class RelayEndpoint:
    """Where the program reaches its model, and what happened there so far.

    Attributes:
        token: authorizes the program.
        turns: requests for a model's answer.
        usage: of the answered ones.
        failure: the last error of the model. After one that another request cannot fix, no request
            is passed on.
        fault: an internal error, to be raised by the run.
        skill_loaded: whether one of the requests contained the whole skill.
        closed: whether the turns were used up before the program ended.
    """

    port: int
    socket: Path
    token: str
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    failure: BackendError | None = None
    fault: Exception | None = None
    skill_loaded: bool = False
    closed: bool = False

    def hide(self, text: str) -> str:
        """Return a text of the program without the token, which is another one in every run."""
        return Secrets({self.token: "relay"}).hide(text)

    @property
    def url(self) -> str:
        """Its root, also for a program that connects through the socket."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> ServiceAddress:
        """For the executor."""
        return ServiceAddress(self.port, self.socket)


@asynccontextmanager
async def relay(
    chat: ChatBackend, api: ModelApi, session: RelaySession
) -> AsyncIterator[RelayEndpoint]:
    """Serve a relay on the loopback and on a Unix socket until the block ends.

    Every model request becomes a call of `chat`. At the end, calls in flight are cancelled and all
    connections are closed.
    """
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
        path = Path(folder, "s")
        connections: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # Not in a task group, which would wrap the exceptions of the block.
            connections.add(asyncio.create_task(serve(reader, writer, handler.respond)))

        network = await asyncio.start_server(accept, "127.0.0.1", 0)
        local = await asyncio.start_unix_server(accept, sock=_bound(path))
        port = network.sockets[0].getsockname()[1]
        handler = _Handler(chat, api, session, RelayEndpoint(port, path, secrets.token_urlsafe(24)))
        try:
            yield handler.endpoint
        finally:
            network.close()
            local.close()
            for connection in connections:
                connection.cancel()
            ended = await asyncio.gather(*connections, return_exceptions=True)
        # A bug of ours, unless the block itself has raised.
        for error in ended:
            if isinstance(error, Exception):
                raise error


def _bound(path: Path) -> socket.socket:
    """A socket at a path, also where the folder for temporary files has a long one."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        bound.bind(str(path))
    else:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            bound.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)
    path.chmod(OWNER_ONLY)
    return bound


class _Handler:
    """Answers the requests of an endpoint."""

    def __init__(
        self, chat: ChatBackend, api: ModelApi, session: RelaySession, endpoint: RelayEndpoint
    ) -> None:
        self.endpoint = endpoint
        self._chat = chat
        self._api = api
        self._session = session

    async def respond(self, request: HttpRequest) -> HttpResponse:
        """Answer a request of the program, or of any other process on the port."""
        if request.method == "HEAD":
            return HttpResponse(200)
        if not self._admits(request.headers):
            return self._fault(401, _NO_ENTRY)
        path = request.path.removeprefix("/v1")
        if (request.method, path) == ("POST", self._api.path):
            return await self._model(request)
        if (request.method, path) == ("POST", f"{self._api.path}/count_tokens"):
            return HttpResponse(
                200, json.dumps({"input_tokens": len(request.body) // _BYTES_PER_TOKEN})
            )
        if (request.method, path) == ("GET", "/models"):
            known = {"id": self._session.model, "object": "model", "type": "model"}
            return HttpResponse(
                200, json.dumps({"object": "list", "data": [known], "has_more": False})
            )
        return self._fault(404, f"this relay offers no {request.method} {request.path}")

    def _admits(self, headers: Any) -> bool:
        shown = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        return secrets.compare_digest(shown.encode(), self.endpoint.token.encode())

    async def _model(self, request: HttpRequest) -> HttpResponse:
        endpoint, session = self.endpoint, self._session
        if endpoint.fault is not None or (
            endpoint.failure is not None and not isinstance(endpoint.failure, RequestRefused)
        ):
            return self._failed(endpoint.failure)
        if session.max_turns and endpoint.turns >= session.max_turns:
            endpoint.closed = True
            return self._fault(400, _NO_TURNS)
        turn, endpoint.turns = endpoint.turns, endpoint.turns + 1
        endpoint.skill_loaded = endpoint.skill_loaded or _holds(request.body, session.wanted)
        try:
            reply = await self._chat.chat(self._request(request, turn))
        except BackendError as error:
            endpoint.failure = error
            return self._failed(error)
        # Any other error, such as a full disk under the journal, is raised by the run, since
        # nothing awaits this task of a connection.
        except Exception as error:
            endpoint.fault = error
            return self._failed(None)
        endpoint.failure = None
        endpoint.usage += reply.usage
        return self._passed(reply)

    def _request(self, request: HttpRequest, turn: int) -> ChatRequest:
        session = self._session
        own = [
            f"{name}: {value}\n"
            for name, value in sorted(request.headers.items())
            if name.startswith(self._api.passed)
        ]
        head = "".join(own) or "\n"
        body = self.endpoint.hide(request.body).replace(str(session.folder), SHOWN)
        return ChatRequest(
            (Message("user", session.key),),
            stage=session.stage,
            draw=session.draw,
            turn=turn,
            wire=f"{head}\n{body}",
        )

    def _passed(self, reply: ChatReply) -> HttpResponse:
        kind = "text/event-stream" if is_stream(reply.wire) else "application/json"
        wire = reply.wire.replace(SHOWN, str(self._session.folder))
        return HttpResponse(200, wire, kind)

    def _failed(self, error: BackendError | None) -> HttpResponse:
        if error is None:
            return self._fault(500, "the relay failed")
        return self._fault(status_of(error), error.message)

    def _fault(self, status: int, message: str) -> HttpResponse:
        return HttpResponse(status, json.dumps(self._api.fault(status, message)))


def _holds(body: str, wanted: frozenset[str]) -> bool:
    """Whether every line of a skill occurs in the texts of a request."""
    if not wanted:
        return False
    try:
        texts = "\n".join(_texts(json.loads(body)))
    except ValueError:
        return False
    return all(line in texts for line in wanted)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
