"""Errors of the OpenAI SDK, translated into ours: what happened, where, and never the key."""

from __future__ import annotations

import json
import math
import re
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import SecretStr

from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    BackendUnusable,
    CallTimedOut,
    NetworkFailed,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    ServerFailed,
    UnknownModel,
)

if TYPE_CHECKING:
    import openai

_QUOTA = {
    "insufficient_quota",
    "quota_exceeded",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "insufficient_credits",
}
_CONTEXT = re.compile(r"context[ _]?(?:length|window|size)|prompt is too long", re.IGNORECASE)
_NO_MODEL = re.compile(r"\bmodels?\b|\bdeployment\b", re.IGNORECASE)
_KEY_LIKE = re.compile(r"\b(?:sk|pk|key)-[^\s\"',}]+|(?<=Bearer )\S+")
_LONGEST_DETAIL = 300
_SHORTEST_KEY = 4


@dataclass(frozen=True, slots=True)
class Place:
    """A model at an address, for messages.

    Attributes:
        url: the base URL without credentials and query.
        secret: the key, so that it can be taken out of what a server echoes.
        variables: names of the variables a key could stand in, for who gave none.
    """

    model: str
    url: str
    secret: SecretStr | None
    variables: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"model `{self.model}` at {self.url}"

    def scrubbed(self, text: str) -> str:
        """One line of `text`, of bounded length, without anything that is or looks like a key."""
        key = self.secret.get_secret_value() if self.secret else ""
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key, "[key]")
        line = _KEY_LIKE.sub("[key]", " ".join(text.split()))
        return line if len(line) <= _LONGEST_DETAIL else line[:_LONGEST_DETAIL] + "..."


def public_url(url: str) -> str:
    """The address without user name, password, query and fragment; any text will do."""
    return re.sub(r"^(\w+://)?[^/@]*@", r"\1", re.split(r"[?#]", url)[0]).rstrip("/")


def detail(error: openai.APIStatusError) -> str:
    """What the server says went wrong: the body's message where it has one, else all of it."""
    body = error.body
    if isinstance(body, Mapping):
        message = body.get("message")
        return message if isinstance(message, str) else json.dumps(body, default=str)
    return body if isinstance(body, str) and body else error.message


def translated(error: openai.OpenAIError, place: Place) -> BackendError:
    """Our error for one of the SDK's."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return CallTimedOut(f"{place} did not answer in time")
    if isinstance(error, openai.APIConnectionError):
        return _unreached(error, place)
    if isinstance(error, openai.APIStatusError):
        return _by_status(error, place)
    return ServerFailed(f"{place} gave no usable answer: {place.scrubbed(str(error))}")


def _unreached(error: BaseException, place: Place) -> NetworkFailed:
    """Our error for a connection that could not be made, by what stands at its root."""
    roots = list(_causes(error))
    if any(isinstance(root, socket.gaierror) for root in roots):
        host = urlsplit(place.url).hostname
        return NetworkFailed(
            f"{place} could not be reached: the host `{host}` is unknown",
            "check the spelling of base_url, and the network",
        )
    if any(isinstance(root, ConnectionRefusedError) for root in roots):
        return NetworkFailed(
            f"{place} could not be reached: the connection was refused",
            "check that the server is running, and the port in base_url",
        )
    return NetworkFailed(f"{place} could not be reached", "check that the server is running")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that it was raised from; several attempts to connect come as a group."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _causes(part)
    cause = error.__cause__ or error.__context__
    if cause is not None:
        yield from _causes(cause)


def _by_status(error: openai.APIStatusError, place: Place) -> BackendError:
    """Our error for an HTTP status, its body and its headers."""
    status = error.status_code
    codes = {str(error.code), str(error.type)}
    text = detail(error)
    said = f"HTTP {status}: {place.scrubbed(text)}"
    wait = retry_after(error.response.headers, time.time())
    if "model_not_found" in codes or (status == 404 and _NO_MODEL.search(text)):
        hint = "check the spelling of the model's name, and that the key may use it"
        return UnknownModel(f"{place} does not exist ({said})", hint)
    if status == 401 and place.secret is None:
        names = ", ".join(place.variables)
        hint = f"set one of {names}, or name the variable that holds it in api_key_env"
        return AuthFailed(f"{place} wants a key, and no key was given ({said})", hint)
    if status in (401, 403):
        hint = "check that the variable named by api_key_env holds a valid key for this server"
        return AuthFailed(f"{place} refused the key ({said})", hint)
    if status == 402 or (status == 429 and codes & _QUOTA):
        return QuotaExhausted(f"the quota of {place} is used up ({said})", "check plan and billing")
    if status in (404, 405):
        hint = "check base_url; for most servers it ends in /v1"
        return BackendUnusable(f"{place} offers no chat completions ({said})", hint)
    if status in (429, 529):
        return RateLimited(f"{place} is rate limited ({said})", retry_after=wait)
    if status in (408, 409, 425) or not 400 <= status < 500:
        return ServerFailed(f"{place} failed ({said})", retry_after=wait)
    if _CONTEXT.search(f"{error.code} {text}"):
        hint = "shorten the prompt, or lower max_completion_tokens"
        return RequestRefused(f"{place} has no room for this request ({said})", hint)
    return RequestRefused(f"{place} refused the request ({said})")


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the server asks us to wait, at least 0; None when it does not say.

    Reads `retry-after-ms`, then `retry-after` in seconds or as an HTTP date (RFC 9110, 10.2.3).

    Args:
        headers: with lower-case or case-insensitive names.
        now: Unix seconds.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
