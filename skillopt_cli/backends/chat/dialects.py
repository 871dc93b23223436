"""The API dialects of chat backends: chat completions, Responses, Messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from skillopt_cli.backends.chat import anthropic_messages as anthropic_messages
from skillopt_cli.backends.chat import chat_completions, responses
from skillopt_cli.backends.chat.anthropic_messages import MessageSampling
from skillopt_cli.backends.chat.bodies import (
    Join,
    join_completion,
    join_message,
    join_response,
)
from skillopt_cli.backends.chat.chat_completions import Sampling, refused_parameter
from skillopt_cli.backends.chat.http_errors import HttpFailure
from skillopt_cli.core.task import ChatReply, ChatRequest

S = TypeVar("S", Sampling, MessageSampling)


@dataclass(frozen=True, slots=True)
class Dialect(Generic[S]):
    """One API.

    Attributes:
        name: as in the setting `model.api`.
        path: below the base URL.
        title: for messages.
        body: writes the request's body without the parameters that the server refused.
        read: parses a decoded answer; its second argument is model and host, for messages.
        join: joins a stream of events into a decoded answer.
        refused_parameter: returns the optional parameter that a refusal of a body names, or None.
    """

    name: str
    path: str
    title: str
    body: Callable[[ChatRequest, S, Collection[str]], dict[str, Any]]
    read: Callable[[object, str], ChatReply]
    join: Join
    refused_parameter: Callable[[HttpFailure, Mapping[str, Any]], str | None]


def _openai_refusal(failure: HttpFailure, body: Mapping[str, Any]) -> str | None:
    return refused_parameter(failure.parameter, failure.text, body)


CHAT_COMPLETIONS = Dialect(
    "chat_completions",
    "/chat/completions",
    "chat completions",
    chat_completions.request_body,
    chat_completions.read_reply,
    join_completion,
    _openai_refusal,
)
RESPONSES = Dialect(
    "responses",
    "/responses",
    "Responses API",
    responses.request_body,
    responses.read_reply,
    join_response,
    _openai_refusal,
)
MESSAGES = Dialect(
    "messages",
    "/v1/messages",
    "Messages API",
    anthropic_messages.request_body,
    anthropic_messages.read_reply,
    join_message,
    lambda failure, body: anthropic_messages.refused_parameter(failure.text, body),
)
OPENAI_DIALECTS = {dialect.name: dialect for dialect in (CHAT_COMPLETIONS, RESPONSES)}
