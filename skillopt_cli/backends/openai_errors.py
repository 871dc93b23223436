"""Errors of the OpenAI SDK, translated into ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_cli.backends.failure import Failure
from skillopt_cli.backends.http_errors import Place, refused, unreached
from skillopt_cli.core.errors import BackendError, ServerFailed

if TYPE_CHECKING:
    import openai


def failure_of(error: openai.APIStatusError, offered: str) -> Failure:
    """The answer that is no success.

    Args:
        offered: what the address was hoped to offer, such as "chat completions".
    """
    return Failure.of(error.status_code, error.body, error.response.headers, offered)


def translated(error: openai.OpenAIError, place: Place, offered: str) -> BackendError:
    """Our error for one of the SDK's.

    Args:
        offered: as `failure_of` is told.
    """
    import openai

    if isinstance(error, openai.APIConnectionError):
        return unreached(error, place)
    if isinstance(error, openai.APIStatusError):
        return refused(failure_of(error, offered), place)
    return ServerFailed(f"{place} gave no usable answer: {place.scrubbed(str(error))}")
