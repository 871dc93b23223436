"""Errors of the OpenAI SDK, translated into ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillopt_cli.backends.http_errors import Failure, Place, refused, unreached
from skillopt_cli.core.errors import BackendError, ServerFailed

if TYPE_CHECKING:
    import openai


def detail(error: openai.APIStatusError) -> str:
    """What the server says went wrong: the body's message where it has one, else all of it."""
    body = error.body
    if isinstance(body, Mapping):
        message = body.get("message")
        return message if isinstance(message, str) else json.dumps(body, default=str)
    return body if isinstance(body, str) and body else error.message


def translated(error: openai.OpenAIError, place: Place, offered: str) -> BackendError:
    """Our error for one of the SDK's.

    Args:
        offered: what the address was hoped to offer, such as "chat completions".
    """
    import openai

    if isinstance(error, openai.APIConnectionError):
        return unreached(error, place)
    if isinstance(error, openai.APIStatusError):
        codes = frozenset(word for word in (error.code, error.type) if isinstance(word, str))
        headers = error.response.headers
        return refused(Failure(error.status_code, detail(error), codes, headers, offered), place)
    return ServerFailed(f"{place} gave no usable answer: {place.scrubbed(str(error))}")
