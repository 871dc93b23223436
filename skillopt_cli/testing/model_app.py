"""The ASGI application of the model server: simulated replies, scripted failures, a log."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import AuthFailed, BackendError, RateLimited, UnknownModel
from skillopt_cli.core.task import ChatReply, Usage
from skillopt_cli.testing.model_dialects import DIALECTS, ServerDialect, tokens
from skillopt_cli.testing.model_process import ScriptedResponse

_STATUS: Mapping[type[BackendError], int] = {AuthFailed: 401, UnknownModel: 404, RateLimited: 429}


class ModelApp:
    """The endpoints and their state.

    Args:
        bodies: whether the log holds the bodies of calls.
        key: the bearer token that calls must have, else they get 401; empty for none.
        model: the model that calls must name, else they get 404; empty for any.
    """

    def __init__(
        self,
        config: SimulatedConfig,
        log: Path | None,
        *,
        bodies: bool,
        key: str = "",
        model: str = "",
    ) -> None:
        self._config = config
        self._model = Simulated(config)
        self._key = key
        self._model_name = model
        self._log = log.open("a", encoding="utf-8", buffering=1) if log else None
        self._bodies = bodies
        self._script: deque[ScriptedResponse] = deque()

    def build(self) -> Starlette:
        """Build the application."""
        return Starlette(
            routes=[
                *(
                    Route(f"/v1{dialect.path}", partial(self._answer, dialect), methods=["POST"])
                    for dialect in DIALECTS
                ),
                Route("/v1/models", self._models),
                Route("/v1/script", self._queue, methods=["POST"]),
                Route("/v1/reset", self._reset, methods=["POST"]),
            ]
        )

    async def _answer(self, dialect: ServerDialect, request: Request) -> Response:

        raw = await request.body()
        step = self._script.popleft() if self._script else None
        if step is not None and step.action != "call":
            answered = step.action == "reply"
            self._record(
                request, raw, step.status if answered else 0, step.body if answered else ""
            )
            return await _play(step)
        body = json.loads(raw)
        refused = self._refusal(_authorization(request), body.get("model"))
        first_call = dialect.first_call(body) if step is None else None
        if step is not None:
            # The id is unique in its conversation.
            wanted = step.body
            arguments = json.dumps(wanted["arguments"])
            first_call = ToolCall(f"toolu_{len(raw)}", wanted["name"], arguments)
        try:
            if refused is not None:
                raise refused
            if first_call is None:
                reply = dialect.adapt(body, await self._model.chat(dialect.read(body)))
            else:
                reply = ChatReply("", Usage(1, len(raw) // 4, 10), "tool_calls", (first_call,))
        except BackendError as error:
            status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
            answer = dialect.error(status, error)
        else:
            status, answer = 200, dialect.write(body["model"], reply)
        self._record(request, raw, status, answer)
        if dialect.stream is not None and status == 200 and body.get("stream"):
            return Response(dialect.stream(answer), media_type="text/event-stream")
        return JSONResponse(answer, status)

    def _refusal(self, authorization: str | None, model: object) -> BackendError | None:
        if self._key and authorization != f"Bearer {self._key}":
            return AuthFailed("the key is missing or wrong")
        if self._model_name and model != self._model_name:
            return UnknownModel("there is no such model here")
        return None

    async def _models(self, request: Request) -> Response:

        name = self._model_name or "simulated"
        return JSONResponse({"object": "list", "data": [{"id": name, "object": "model"}]})

    async def _queue(self, request: Request) -> Response:

        steps = [ScriptedResponse(**step) for step in await request.json()]
        self._script.extend(steps)
        return JSONResponse({"queued": len(steps)})

    async def _reset(self, request: Request) -> Response:

        self._script.clear()
        self._model = Simulated(self._config)
        if self._log is not None:
            self._log.truncate(0)
        return JSONResponse({})

    def _record(self, request: Request, raw: bytes, status: int, answer: object) -> None:
        """Append a line to the log; status 0 is a call without a response."""
        if self._log is None:
            return
        body = json.loads(raw)
        prompt, completion = tokens(answer)
        entry = {
            "time": time.time(),
            "path": request.url.path,
            "model": body.get("model"),
            "authorization": _authorization(request),
            "sha256": hashlib.sha256(raw).hexdigest(),
            "status": status,
            "prompt_tokens": prompt,
            "completion_tokens": completion,
        }
        if self._bodies:
            entry["body"] = body
        self._log.write(json.dumps(entry) + "\n")


def _authorization(request: Request) -> str | None:
    """The key as a bearer token; Anthropic's API also accepts `x-api-key`."""
    key = request.headers.get("x-api-key")
    return request.headers.get("authorization") or (f"Bearer {key}" if key else None)


async def _play(step: ScriptedResponse) -> Response:

    if step.action == "hang":
        await asyncio.Event().wait()
    text = step.body if isinstance(step.body, str) else json.dumps(step.body)
    headers = {"content-type": "application/json", **step.headers}
    if step.action == "drop":
        # A content length above the body makes the server close the connection.
        short = {**headers, "content-length": str(len(text) + 1000)}
        return StreamingResponse(_once(text), 200, short)
    return Response(text, step.status, headers)


async def _once(text: str) -> AsyncIterator[str]:
    yield text
