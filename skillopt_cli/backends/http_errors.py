"""What a model service answers instead of a reply, as our errors: what, where, never the key.

Knows nothing of any SDK, so that all backends over HTTP tell their troubles in one voice.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from pydantic import SecretStr

from skillopt_cli.backends.failure import Failure, failure_within
from skillopt_cli.backends.limit_headers import retry_after
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
    TransientError,
    UnknownModel,
)

_QUOTA = {
    "insufficient_quota",
    "quota_exceeded",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "insufficient_balance",
    "insufficient_credits",
    "contract_spend_limit_reached",
    "enforced_spend_limit_reached",
}
_PAY = re.compile(
    r"credit balance is too low|insufficient[ _](?:quota|balance|credits?|funds)"
    r"|specified (?:workspace )?API usage limits|billing (?:hard )?limit|account is not active"
    r"|out of (?:quota|credits?)",
    re.IGNORECASE,
)
# Some services say this of a limit per minute too, and then also when to come back.
_OVER_QUOTA = re.compile(r"exceeded your (?:current )?quota", re.IGNORECASE)
_SOON = re.compile(r"(?:retry|try again) (?:in|after)|per minute|per day", re.IGNORECASE)
_CONTEXT = re.compile(
    r"context[ _]?(?:length|window|size|limit)|(?:prompt|input) is too long", re.IGNORECASE
)
_LONG_ANSWER = re.compile(
    r"max_(?:completion_|output_)?tokens\b.*"
    r"(?:too large|at most|exceed|maximum|less than or equal|no more than|out of range)",
    re.IGNORECASE,
)
_FLAGGED = re.compile(
    r"\bmoderation\b|\b(?:content|input|message|prompt|request)s? (?:has been|is|was|were) flagged",
    re.IGNORECASE,
)
_WRONG_KEY = re.compile(
    r"\bapi[ _]key (?:is )?(?:not valid|invalid|expired)|\b(?:invalid|incorrect) api[ _]key",
    re.IGNORECASE,
)
_MODEL_CODES = {"model_not_found", "unknown_model", "DeploymentNotFound"}
_NAMES_MODEL = re.compile(r"\bmodels?\b|\bdeployment\b", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"\bmodel\b.{0,100}\b(?:does not|doesn't|not) (?:exist|found)\b|(?:unknown|invalid) model\b",
    re.IGNORECASE,
)
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|key)-[^\s\"',}]+|(?<=Bearer )\S+|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?"
)
_ADDRESS = "check base_url; for most servers it ends in /v1"
_SHORTER = "lower `model.max_completion_tokens=N`"
_LONGEST_DETAIL = 300
_SHORTEST_KEY = 4
_SHORT_WAIT = 90.0


@dataclass(frozen=True, slots=True)
class Place:
    """A model at an address, for messages.

    Attributes:
        url: the base URL without credentials and query.
        secret: the key, so that it can be taken out of what a server echoes.
        variables: names of the variables a key could stand in, for who gave none.
        key_from: the variable that the key came from; "" where it is not told.
        credentials: what to check when a proof of identity that is no key is refused; "" where a
            key is the proof.
    """

    model: str
    url: str
    secret: SecretStr | None
    variables: tuple[str, ...] = ()
    credentials: str = ""
    key_from: str = ""

    def __str__(self) -> str:
        return f"model `{self.model}` at {self.url}"

    def scrubbed(self, text: str) -> str:
        """One line of `text`, of bounded length, without anything that is or looks like a key."""
        key = self.secret.get_secret_value() if self.secret else ""
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key, "[key]")
        line = _KEY_LIKE.sub("[key]", " ".join(text.split()))
        return line if len(line) <= _LONGEST_DETAIL else line[:_LONGEST_DETAIL] + "..."


class Answered(Protocol):
    """An answer of an HTTP client: headers, whose names are case-insensitive, and a body."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What came before the body."""

    def json(self) -> Any:
        """The body, decoded.

        Raises:
            ValueError: it is no JSON.
        """


def public_url(url: str) -> str:
    """The address without user name, password, query and fragment; any text will do."""
    return re.sub(r"^(\w+://)?[^/@]*@", r"\1", re.split(r"[?#]", url)[0]).rstrip("/")


def refused(failure: Failure, place: Place) -> BackendError:
    """Our error for an HTTP status with its body and headers."""
    status = failure.status
    told = place.scrubbed(failure.text)
    said = f"HTTP {status}: {told}" if told else f"HTTP {status}"
    wait = retry_after(failure.headers, time.time())
    if _unknown_model(failure):
        hint = "check the spelling of the model's name, and that the key may use it"
        return UnknownModel(f"{place} does not exist ({said})", hint)
    if status == 402 or _out_of_quota(failure, wait):
        return QuotaExhausted(f"the quota of {place} is used up ({said})", "check plan and billing")
    if status == 403 and _FLAGGED.search(failure.text):
        return RequestRefused(f"{place} declined to read this request ({said})")
    if status in (401, 403) or (status == 400 and _WRONG_KEY.search(failure.text)):
        return _no_entry(status, place, said)
    if status in (404, 405):
        return BackendUnusable(f"{place} offers no {failure.offered} ({said})", _ADDRESS)
    if status in (429, 529):
        # A short wait is kept without a word.
        long = f", and asks to wait {wait / 60:.0f} min" if wait and wait > _SHORT_WAIT else ""
        return RateLimited(f"{place} is rate limited ({said}){long}", retry_after=wait)
    if status in (408, 409, 425) or not 400 <= status < 500:
        return ServerFailed(f"{place} failed ({said})", retry_after=wait)
    if _CONTEXT.search(" ".join([*sorted(failure.codes), failure.text])):
        hint = f"shorten the prompt, or {_SHORTER}"
        return RequestRefused(f"{place} has no room for this request ({said})", hint)
    if _LONG_ANSWER.search(failure.text):
        return RequestRefused(f"{place} does not write answers that long ({said})", _SHORTER)
    return RequestRefused(f"{place} refused the request ({said})")


def checked(answer: Answered, place: Place, offered: str) -> Any:
    """What an answer with status 200 holds, decoded.

    Args:
        offered: what the address was hoped to offer, such as "chat completions".

    Raises:
        BackendError: it tells of a failure, as routers do with this status.
        ServerFailed: it is no JSON.
    """
    try:
        data = answer.json()
    except (ValueError, RecursionError):
        data = None
    # Raised out here so that the decoder's error, which quotes the body, is not chained to ours.
    if data is None and answer.headers.get("content-type", "").lower().startswith("text/html"):
        raise ServerFailed(f"{place} answered with a web page", _ADDRESS)
    if data is None:
        raise ServerFailed(f"{place} answered with malformed JSON")
    failure = failure_within(data, answer.headers, offered)
    if failure is not None:
        raise refused(failure, place)
    return data


def _unknown_model(failure: Failure) -> bool:
    return bool(
        failure.codes & _MODEL_CODES
        or (failure.status == 404 and _NAMES_MODEL.search(failure.text))
        or (failure.status in (400, 422) and _NO_MODEL.search(failure.text))
    )


def _out_of_quota(failure: Failure, wait: float | None) -> bool:
    """Whether money, not patience, is missing, which services tell with several statuses."""
    if failure.status not in (400, 403, 429):
        return False
    if failure.codes & _QUOTA or _PAY.search(failure.text):
        return True
    return bool(_OVER_QUOTA.search(failure.text) and wait is None) and not _SOON.search(
        failure.text
    )


def _no_entry(status: int, place: Place, said: str) -> AuthFailed:
    if place.credentials:
        return AuthFailed(f"{place} refused the credentials ({said})", place.credentials)
    if status == 401 and place.secret is None:
        names = ", ".join(place.variables)
        hint = f"set one of {names}, or name the variable that holds it in api_key_env"
        return AuthFailed(f"{place} wants a key, and no key was given ({said})", hint)
    variable = place.key_from or "the variable named by api_key_env"
    hint = f"check that {variable} holds a valid key for this server"
    return AuthFailed(f"{place} refused the key ({said})", hint)


def unreached(error: BaseException, place: Place) -> TransientError:
    """Our error for an answer that never came whole, by what stands at the root of `error`."""
    roots = list(_causes(error))
    names = {kind.__name__ for root in roots for kind in type(root).__mro__}
    if names & {"TimeoutError", "TimeoutException"}:
        return CallTimedOut(f"{place} did not answer in time")
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
    if any(isinstance(root, ssl.SSLCertVerificationError) for root in roots):
        return NetworkFailed(
            f"{place} could not be reached: its certificate cannot be verified",
            "name the file of the authority that signed it in SSL_CERT_FILE",
        )
    if "TooManyRedirects" in names:
        return NetworkFailed(f"{place} sends every call on to another address", _ADDRESS)
    if "DecodingError" in names:
        return ServerFailed(f"{place} answered with a body that cannot be unpacked")
    if names & {"RemoteProtocolError", "ReadError", "WriteError"}:
        return NetworkFailed(f"{place} broke off the connection before its answer was whole")
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
