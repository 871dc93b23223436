"""The ASGI application of the test model server: simulated answers, scripted failures, a log."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.config.model_section import SimulatedConfig
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import AuthFailed, BackendError, RateLimited, UnknownModel
from skillopt_cli.core.task import ChatReply, Usage
from skillopt_cli.testing.model_forms import FORMS, Form, tokens

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_STATUS: Mapping[type[BackendError], int] = {AuthFailed: 401, UnknownModel: 404, RateLimited: 429}


@dataclass(frozen=True, slots=True)
class Scripted:
    """What the server does with one call instead of answering it.

    Attributes:
        body: a JSON value, or a string to be sent as it is.
        action: `reply` sends status, headers and body; `hang` never answers; `drop` closes the
            connection in the middle of the answer; `call` has the model call a tool, whose `name`
            and `arguments` are the body.
    """

    status: int = 500
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    action: Literal["reply", "hang", "drop", "call"] = "reply"


@dataclass(frozen=True, slots=True)
class Admission:
    """What a call must bring to be answered; empty asks for nothing.

    Attributes:
        key: sent as a bearer token, else 401.
        model: the name of the model, else 404.
    """

    key: str = ""
    model: str = ""

    def fault(self, authorization: str | None, model: object) -> BackendError | None:
        """Why a call is refused, None when it is not."""
        if self.key and authorization != f"Bearer {self.key}":
            return AuthFailed("the key is missing or wrong")
        if self.model and model != self.model:
            return UnknownModel("there is no such model here")
        return None


class ModelService:
    """The endpoints, and the state behind them."""

    def __init__(
        self,
        config: SimulatedConfig,
        log: Path | None,
        bodies: bool,
        admission: Admission | None = None,
    ) -> None:
        self._model = Simulated(config)
        self._admission = admission or Admission()
        self._log = log.open("a", encoding="utf-8", buffering=1) if log else None
        self._bodies = bodies
        self._script: deque[Scripted] = deque()

    def app(self) -> Starlette:
        """The application to serve."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        asked = [
            Route(f"/v1{form.path}", partial(self._answer, form), methods=["POST"])
            for form in FORMS
        ]
        return Starlette(
            routes=[
                *asked,
                Route("/v1/models", self._models),
                Route("/v1/script", self._queue, methods=["POST"]),
            ]
        )

    async def _answer(self, form: Form, request: Request) -> Response:
        from starlette.responses import JSONResponse, Response

        raw = await request.body()
        step = self._script.popleft() if self._script else None
        if step is not None and step.action != "call":
            answered = step.action == "reply"
            self._note(request, raw, step.status if answered else 0, step.body if answered else "")
            return await _play(step)
        body = json.loads(raw)
        refused = self._admission.fault(_authorization(request), body.get("model"))
        wish = _call(step.body, len(raw)) if step else form.wish(body)
        try:
            if refused is not None:
                raise refused
            if wish is None:
                reply = form.dress(body, await self._model.chat(form.read(body)))
            else:
                reply = ChatReply("", Usage(1, len(raw) // 4, 10), "tool_calls", (wish,))
        except BackendError as error:
            status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
            answer = form.fault(status, error)
        else:
            status, answer = 200, form.write(body["model"], reply)
        self._note(request, raw, status, answer)
        if form.stream is not None and status == 200 and body.get("stream"):
            return Response(form.stream(answer), media_type="text/event-stream")
        return JSONResponse(answer, status)

    async def _models(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        name = self._admission.model or "simulated"
        return JSONResponse({"object": "list", "data": [{"id": name, "object": "model"}]})

    async def _queue(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        steps = [Scripted(**step) for step in await request.json()]
        self._script.extend(steps)
        return JSONResponse({"queued": len(steps)})

    def _note(self, request: Request, raw: bytes, status: int, answer: object) -> None:
        """Add a line to the log. Status 0 stands for a call without an answer."""
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


def _call(wanted: Mapping[str, Any], turn: int) -> ToolCall:
    """A scripted call, with an identifier that no other turn of its conversation has."""
    return ToolCall(f"toolu_{turn}", wanted["name"], json.dumps(wanted["arguments"]))


def _authorization(request: Request) -> str | None:
    """The key as a bearer token, which is one of the two ways Anthropic's interface takes it."""
    key = request.headers.get("x-api-key")
    return request.headers.get("authorization") or (f"Bearer {key}" if key else None)


async def _play(step: Scripted) -> Response:
    from starlette.responses import Response, StreamingResponse

    if step.action == "hang":
        await asyncio.Event().wait()
    text = step.body if isinstance(step.body, str) else json.dumps(step.body)
    headers = {"content-type": "application/json", **step.headers}
    if step.action == "drop":
        # Promising more than is sent makes the server close the connection.
        short = {**headers, "content-length": str(len(text) + 1000)}
        return StreamingResponse(_once(text), 200, short)
    return Response(text, step.status, headers)


async def _once(text: str) -> AsyncIterator[str]:
    yield text
