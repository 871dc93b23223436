"""The two interfaces of OpenAI's that a backend may speak, each as one value."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from skillopt_cli.backends import chat_completions, responses
from skillopt_cli.backends.chat_completions import Sampling
from skillopt_cli.core.task import ChatReply, ChatRequest


@dataclass(frozen=True, slots=True)
class Form:
    """One interface.

    Attributes:
        name: as in the setting `model.api`.
        path: below the base URL.
        title: for messages.
        body: the request's body, without the parameters the server refused.
        read: the reply in a decoded answer; told model and host, for messages.
    """

    name: str
    path: str
    title: str
    body: Callable[[ChatRequest, Sampling, Collection[str]], dict[str, Any]]
    read: Callable[[object, str], ChatReply]


CHAT_COMPLETIONS = Form(
    "chat_completions",
    "/chat/completions",
    "chat completions",
    chat_completions.request_body,
    chat_completions.read_reply,
)
RESPONSES = Form(
    "responses",
    "/responses",
    "Responses API",
    responses.request_body,
    responses.read_reply,
)
FORMS = {form.name: form for form in (CHAT_COMPLETIONS, RESPONSES)}
