"""The relay of an attempt: the only service that an agent's program can reach."""

from __future__ import annotations

import asyncio
import json
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt_cli.backends.agents.events import is_stream, joined
from skillopt_cli.backends.agents.http import Answer, Asked, serve
from skillopt_cli.backends.agents.wire import AgentForm, status_of
from skillopt_cli.core.errors import BackendError, RequestRefused
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Usage
from skillopt_cli.core.temporary import own_prefix
from skillopt_cli.ports import ChatBackend, Reach

SHOWN = "/skillopt-attempt"
"""What the model sees in the place of an attempt's folder, which is another one each time."""
_BYTES_PER_TOKEN = 4
_NO_ENTRY = "this relay does not know that token"
_NO_TURNS = "the attempt has used up its turns"


@dataclass(frozen=True, slots=True)
class Errand:
    """What an attempt's requests are for.

    Attributes:
        key: digest of all that decides what the attempt asks: with the number of a request, it
            finds that request's answer in the journal.
        folder: the attempt's; all its paths in requests are shown as ones below `SHOWN`.
        skill: the text that the model shall see; empty for none.
        max_turns: requests that are answered; 0 for any number.
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
        """The lines of the skill that say something."""
        return frozenset(line.strip() for line in self.skill.splitlines() if line.strip())


@dataclass(slots=True)
class Door:
    """Where the program of an attempt reaches its model, and what happened there so far.

    Attributes:
        token: what the program must bring.
        turns: requests for a model's answer.
        usage: what the answered ones cost.
        failure: why the model could not answer; the last one. No request is passed on after one
            that waiting or another request cannot mend.
        fault: an error that is none of the service's, for the attempt to end with.
        skill_loaded: whether the whole skill stood in one of the requests.
        closed: whether the turns were used up before the program was done.
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

    @property
    def url(self) -> str:
        """Its root; the same for a program that reaches it through the socket."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def reach(self) -> Reach:
        """For the executor."""
        return Reach(self.port, self.socket)


@asynccontextmanager
async def relay(chat: ChatBackend, form: AgentForm, errand: Errand) -> AsyncIterator[Door]:
    """A relay for the length of one attempt, on the loopback and on a Unix socket.

    Every request of the form becomes a call of `chat`. When the block ends, calls that are still
    under way are cancelled and all connections are closed.
    """
    with tempfile.TemporaryDirectory(prefix=own_prefix()) as folder:
        socket = Path(folder, "s")
        connections: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # Not a task group's: that would wrap what the block raises.
            connections.add(asyncio.create_task(serve(reader, writer, desk.respond)))

        network = await asyncio.start_server(accept, "127.0.0.1", 0)
        local = await asyncio.start_unix_server(accept, socket)
        port = network.sockets[0].getsockname()[1]
        desk = _Desk(chat, form, errand, Door(port, socket, secrets.token_urlsafe(24)))
        try:
            yield desk.door
        finally:
            network.close()
            local.close()
            for connection in connections:
                connection.cancel()
            ended = await asyncio.gather(*connections, return_exceptions=True)
        # A bug of ours, unless the block has raised something already.
        for error in ended:
            if isinstance(error, Exception):
                raise error


class _Desk:
    """Answers what comes through a door."""

    def __init__(self, chat: ChatBackend, form: AgentForm, errand: Errand, door: Door) -> None:
        self.door = door
        self._chat = chat
        self._form = form
        self._errand = errand

    async def respond(self, asked: Asked) -> Answer:
        """The answer to a request of the program, or of whoever else found the port."""
        if asked.method == "HEAD":
            return Answer(200)
        if not self._admits(asked.headers):
            return self._fault(401, _NO_ENTRY)
        path = asked.path.removeprefix("/v1")
        if (asked.method, path) == ("POST", self._form.path):
            return await self._model(asked)
        if (asked.method, path) == ("POST", f"{self._form.path}/count_tokens"):
            return Answer(200, json.dumps({"input_tokens": len(asked.body) // _BYTES_PER_TOKEN}))
        if (asked.method, path) == ("GET", "/models"):
            known = {"id": self._errand.model, "object": "model", "type": "model"}
            return Answer(200, json.dumps({"object": "list", "data": [known], "has_more": False}))
        return self._fault(404, f"this relay offers no {asked.method} {asked.path}")

    def _admits(self, headers: Any) -> bool:
        shown = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        return secrets.compare_digest(shown.encode(), self.door.token.encode())

    async def _model(self, asked: Asked) -> Answer:
        door, errand = self.door, self._errand
        if door.fault is not None or (
            door.failure is not None and not isinstance(door.failure, RequestRefused)
        ):
            return self._failed(door.failure)
        if errand.max_turns and door.turns >= errand.max_turns:
            door.closed = True
            return self._fault(400, _NO_TURNS)
        turn, door.turns = door.turns, door.turns + 1
        door.skill_loaded = door.skill_loaded or _holds(asked.body, errand.wanted)
        try:
            reply = await self._chat.chat(self._request(asked, turn))
        except BackendError as error:
            door.failure = error
            return self._failed(error)
        # Whatever else went wrong, such as a full disk under the journal, is for the attempt to
        # raise: this task is the connection's, and nobody waits for it.
        except Exception as error:
            door.fault = error
            return self._failed(None)
        door.failure = None
        door.usage += reply.usage
        return self._passed(reply)

    def _request(self, asked: Asked, turn: int) -> ChatRequest:
        errand = self._errand
        own = [
            f"{name}: {value}\n"
            for name, value in sorted(asked.headers.items())
            if name.startswith(self._form.passed)
        ]
        head = "".join(own) or "\n"
        body = asked.body.replace(str(errand.folder), SHOWN)
        return ChatRequest(
            (Message("user", errand.key),),
            stage=errand.stage,
            draw=errand.draw,
            turn=turn,
            wire=f"{head}\n{body}",
        )

    def _passed(self, reply: ChatReply) -> Answer:
        kind = "text/event-stream" if is_stream(reply.wire) else "application/json"
        # In pieces, a path may be cut in two and would not be found.
        wire = joined(reply.wire).replace(SHOWN, str(self._errand.folder))
        return Answer(200, wire, kind)

    def _failed(self, error: BackendError | None) -> Answer:
        if error is None:
            return self._fault(500, "the relay failed")
        return self._fault(status_of(error), error.message)

    def _fault(self, status: int, message: str) -> Answer:
        return Answer(status, json.dumps(self._form.fault(status, message)))


def _holds(body: str, wanted: frozenset[str]) -> bool:
    """Whether every line of a skill stands in some text of a request."""
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
