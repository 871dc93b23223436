"""The ASGI application of the test model server: simulated answers, scripted failures, a log."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.config.model_section import SimulatedConfig
from skillopt_cli.core.errors import AuthFailed, BackendError, RateLimited, UnknownModel
from skillopt_cli.core.task import ChatReply, ChatRequest, Message

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
            connection in the middle of the answer.
    """

    status: int = 500
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    action: Literal["reply", "hang", "drop"] = "reply"


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

        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/v1/script", self._queue, methods=["POST"]),
            ]
        )

    async def _complete(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        raw = await request.body()
        step = self._script.popleft() if self._script else None
        if step is not None:
            self._note(request, raw, step.status if step.action == "reply" else 0)
            return await _play(step)
        body = json.loads(raw)
        refused = self._admission.fault(request.headers.get("authorization"), body.get("model"))
        try:
            if refused is not None:
                raise refused
            reply = await self._model.chat(_chat_request(body))
        except BackendError as error:
            status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
            self._note(request, raw, status)
            return JSONResponse(_error_body(error), status)
        self._note(request, raw, 200)
        return JSONResponse(_completion(body["model"], reply))

    async def _models(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        name = self._admission.model or "simulated"
        return JSONResponse({"object": "list", "data": [{"id": name, "object": "model"}]})

    async def _queue(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        steps = [Scripted(**step) for step in await request.json()]
        self._script.extend(steps)
        return JSONResponse({"queued": len(steps)})

    def _note(self, request: Request, raw: bytes, status: int) -> None:
        """Add a line to the log. Status 0 stands for a call without an answer."""
        if self._log is None:
            return
        body = json.loads(raw)
        entry = {
            "time": time.time(),
            "path": request.url.path,
            "model": body.get("model"),
            "authorization": request.headers.get("authorization"),
            "sha256": hashlib.sha256(raw).hexdigest(),
            "status": status,
        }
        if self._bodies:
            entry["body"] = body
        self._log.write(json.dumps(entry) + "\n")


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


def _chat_request(body: Mapping[str, Any]) -> ChatRequest:
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    messages = tuple(Message(m["role"], m["content"]) for m in body["messages"])
    return ChatRequest(messages, "http", wanted.get("schema"), wanted.get("name", ""))


def _completion(model: str, reply: ChatReply) -> dict[str, Any]:
    usage = reply.usage
    prompt, completion = usage.prompt_tokens or 0, usage.completion_tokens or 0
    return {
        "id": "chatcmpl-simulated",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text},
                "finish_reason": reply.finish,
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


def _error_body(error: BackendError) -> dict[str, Any]:
    return {"error": {"message": error.message, "type": type(error).__name__, "code": None}}
