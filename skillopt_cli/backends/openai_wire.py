"""Chat completions on the wire: the request body, what servers refuse of it, and the answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from skillopt_cli.core.errors import RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage

OPTIONAL = (
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "reasoning_effort",
    "response_format",
)
_SPELLINGS = {"response_format": r"response[_ ]format|json_schema"}
_UNSUPPORTED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed"
    r"|forbidden|invalid|unavailable|deprecated|instead|must be",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"too (?:large|long|many|high)|at most|at least|exceed|maximum|less than|greater than",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a role asks of its model besides the messages; None and "" are left out."""

    model: str
    max_tokens: int
    temperature: float | None = None
    reasoning_effort: str = ""


def request_body(
    request: ChatRequest, sampling: Sampling, refused: Collection[str]
) -> dict[str, Any]:
    """The JSON body of a chat completion, without the parameters the server refused.

    The answer's length is capped by `max_tokens`, which every compatible server knows; one that
    refuses it gets `max_completion_tokens`, and one that refuses both gets no cap.
    """
    cap = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
    wanted: dict[str, Any] = {cap: sampling.max_tokens}
    if sampling.temperature is not None:
        wanted["temperature"] = sampling.temperature
    if sampling.reasoning_effort:
        wanted["reasoning_effort"] = sampling.reasoning_effort
    if request.schema is not None:
        wanted["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": request.schema_name or "answer", "schema": request.schema},
        }
    return {
        "model": sampling.model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        **{name: value for name, value in wanted.items() if name not in refused},
    }


def refused_parameter(param: str, message: str, sent: Collection[str]) -> str | None:
    """Which optional parameter of a refused request (HTTP 400, 422) the server does not take.

    Args:
        param: the error's own `param` field, "" when it has none.
        message: the error's text.
        sent: top-level names of the request's body.

    Returns:
        A name from `OPTIONAL` that was sent, or None when the refusal is about something else, such
        as a value that is too large: leaving that out would silently ask for something else.
    """
    if _SIZE.search(message):
        return None
    candidates = [name for name in OPTIONAL if name in sent]
    root = re.split(r"[.\[]", param)[0]
    if root in OPTIONAL:
        return root if root in candidates else None
    if not _UNSUPPORTED.search(message):
        return None
    for name in candidates:
        if re.search(rf"(?<!\w)(?:{_SPELLINGS.get(name, name)})(?!\w)", message):
            return name
    return None


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(BaseModel):
    choices: list[_Choice]
    usage: _Usage | None = None


def read_reply(data: object, where: str) -> ChatReply:
    """The reply in a decoded 200 body.

    An answer cut at the token limit may be empty. Any other empty answer is a server's hiccup.

    Args:
        data: the decoded JSON.
        where: model and host, for messages.

    Raises:
        ServerFailed: the body is no chat completion, or holds no text.
        RequestRefused: the model or a filter declined to answer this request.
    """
    completion = _completion(data)
    if completion is None:
        raise ServerFailed(f"{where} answered with {_shape(data)}, not a chat completion")
    if not completion.choices:
        raise ServerFailed(f"{where} answered without a choice")
    choice = completion.choices[0]
    finish = choice.finish_reason or "stop"
    text = choice.message.content or ""
    if not text and finish != "length":
        if choice.message.refusal or finish == "content_filter":
            raise RequestRefused(f"{where} declined to answer this request")
        raise ServerFailed(f"{where} answered with an empty text")
    spent = completion.usage or _Usage()
    return ChatReply(text, Usage(1, spent.prompt_tokens, spent.completion_tokens), finish)


def _completion(data: object) -> _Completion | None:
    try:
        return _Completion.model_validate(data)
    except ValidationError:
        return None


def _shape(data: object) -> str:
    if isinstance(data, Mapping):
        return f"an object of {', '.join(sorted(map(str, data))[:5]) or 'nothing'}"
    if isinstance(data, str):
        return "a page of text"
    return f"a JSON {type(data).__name__}"
