"""HTTP error answers of model services, translated into our errors, without any key in them.

Independent of any SDK, so that all HTTP backends report failures alike.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import urlsplit

from skillopt_cli.backends.chat.endpoint import ModelAddress
from skillopt_cli.backends.rate_limiter.limit_headers import retry_after
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

_BROKEN_OFF = frozenset({
    "BrokenPipeError",
    "ClientPayloadError",
    "ClientResponseError",
    "ConnectionResetError",
    "ReadError",
    "RemoteProtocolError",
    "ServerDisconnectedError",
    "WriteError",
})
"""Exceptions of Python, aiohttp and HTTPX about a connection that ended before its answer."""
_SAID = ("message", "detail", "error_message", "error_msg", "msg")
"""Where bodies without an answer have the words of an error."""
_ANSWERED = frozenset({"choices", "output", "content"})
"""What only answers hold, in one interface or the other."""
_STATUS = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "overloaded_error": 529,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
}
"""The status of an error type, for errors without one."""
TYPES = {status: kind for kind, status in _STATUS.items() if kind.endswith("_error")}
"""What Anthropic's interface calls an error with a status."""
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
_MEANT = ((_NO_MODEL, 404), (_PAY, 402), (_WRONG_KEY, 401), (_CONTEXT, 400))
"""The status of an error without one, by its words."""
ADDRESS_HINT = "check base_url; for most servers it ends in /v1"
_STATUS_FIRST = re.compile(r"[1-5]\d\d\b")
_SHORTER = "lower `model.max_completion_tokens=N`"
_SHORT_WAIT = 90.0


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """An HTTP answer that is no success.

    Attributes:
        text: the server's message; "" for none.
        codes: its machine-readable codes, such as "insufficient_quota".
        headers: with lower-case or case-insensitive names.
        offered: the expected API, such as "chat completions".
        parameter: the request parameter it names; "" for none.
        sent: whether its status is one that the server sent or named, and not concluded.
    """

    status: int
    text: str
    codes: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    offered: str = "chat completions"
    parameter: str = ""
    sent: bool = True

    @classmethod
    def of(cls, status: int, body: object, headers: Mapping[str, str], offered: str) -> Self:
        """Parse the failure in a body.

        Args:
            body: decoded JSON or plain text: an object that is or contains the error, a list that
                begins with one, or words.
        """
        error = _error(body)
        if not isinstance(error, Mapping):
            return cls(status, "" if error is None else str(error), frozenset(), headers, offered)
        details = error.get("details")
        inner = details.get("error_code") if isinstance(details, Mapping) else None
        words = (error.get("type"), error.get("code"), inner)
        codes = frozenset(str(word) for word in words if isinstance(word, str | int) and word)
        texts = map(error.get, _SAID)
        text = next((one for one in texts if isinstance(one, str) and one), None)
        written = json.dumps(error, default=str, ensure_ascii=False) if text is None else text
        return cls(status, written, codes, headers, offered, str(error.get("param") or ""))


def failure_within(body: object, headers: Mapping[str, str], offered: str) -> HttpFailure | None:
    """Return the failure in a body with status 200, as routers send it; else None.

    Its status is the one it names, or else that of its error type, or else 500.
    """
    if not isinstance(body, Mapping) or any(body.get(name) is not None for name in _ANSWERED):
        return None
    told = any(isinstance(body.get(name), str) for name in _SAID) and "choices" not in body
    if not body.get("error") and not told:
        return None
    return stream_failure(body, headers, offered)


def stream_failure(body: object, headers: Mapping[str, str], offered: str) -> HttpFailure:
    """Return the failure in a body without an HTTP status, as `failure_within`."""
    failure = HttpFailure.of(500, body, headers, offered)
    error = _error(body)
    named = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(named, int) and 400 <= named < 600:
        return HttpFailure.of(named, body, headers, offered)
    for code in sorted(failure.codes & _STATUS.keys()):
        return replace(failure, status=_STATUS[code])
    meant = next((status for words, status in _MEANT if words.search(failure.text)), 500)
    return replace(failure, status=meant, sent=False)


def _error(body: object) -> object:
    """Return the error object within a body."""
    if isinstance(body, list):
        body = body[0] if body else None
    return body.get("error") or body if isinstance(body, Mapping) else body


def response_error(failure: HttpFailure, address: ModelAddress) -> BackendError:
    """Our error for an HTTP status with its body and headers."""
    status = failure.status
    text = address.scrubbed(failure.text)
    said = f"HTTP {status}" if failure.sent else "an error in an answer with status 200"
    said = f"{said}: {text}" if text else said
    wait = retry_after(failure.headers, time.time())
    if _unknown_model(failure):
        hint = "check the spelling of the model's name, and that the key may use it"
        return UnknownModel(f"{address} does not exist ({said})", hint)
    if status == 402 or _out_of_quota(failure, wait):
        return QuotaExhausted(
            f"the quota of {address} is used up ({said})", "check plan and billing"
        )
    if status == 403 and _FLAGGED.search(failure.text):
        return RequestRefused(f"{address} declined to read this request ({said})")
    if status in (401, 403, 407) or (status == 400 and _WRONG_KEY.search(failure.text)):
        return _no_entry(status, address, said)
    if status in (404, 405):
        return BackendUnusable(f"{address} offers no {failure.offered} ({said})", ADDRESS_HINT)
    if status in (429, 529):
        # A short wait is not worth mentioning.
        long = f", and asks to wait {wait / 60:.0f} min" if wait and wait > _SHORT_WAIT else ""
        return RateLimited(f"{address} is rate limited ({said}){long}", retry_after=wait)
    if status in (408, 409, 425) or not 400 <= status < 500:
        return ServerFailed(f"{address} failed ({said})", retry_after=wait)
    if _CONTEXT.search(" ".join([*sorted(failure.codes), failure.text])):
        hint = f"shorten the prompt, or {_SHORTER}"
        return RequestRefused(f"{address} has no room for this request ({said})", hint)
    if _LONG_ANSWER.search(failure.text):
        return RequestRefused(f"{address} does not write answers that long ({said})", _SHORTER)
    return RequestRefused(f"{address} refused the request ({said})")


def _unknown_model(failure: HttpFailure) -> bool:
    return bool(
        failure.codes & _MODEL_CODES
        or (failure.status == 404 and _NAMES_MODEL.search(failure.text))
        or (failure.status in (400, 422) and _NO_MODEL.search(failure.text))
    )


def _out_of_quota(failure: HttpFailure, wait: float | None) -> bool:
    """Whether the quota is exhausted, which services report with several statuses."""
    if failure.status not in (400, 403, 429):
        return False
    if failure.codes & _QUOTA or _PAY.search(failure.text):
        return True
    return bool(_OVER_QUOTA.search(failure.text) and wait is None) and not _SOON.search(
        failure.text
    )


def _no_entry(status: int, address: ModelAddress, said: str) -> BackendError:
    if status == 407:
        return _proxy_error(status, address)
    if address.credentials:
        return AuthFailed(f"{address} refused the credentials ({said})", address.credentials)
    if status == 401 and not address.keyed:
        names = ", ".join(address.variables)
        hint = f"set one of {names}, or name the variable that holds it in api_key_env"
        return AuthFailed(f"{address} wants a key, and no key was given ({said})", hint)
    variable = address.key_from or "the variable named by api_key_env"
    hint = f"check that {variable} holds a valid key for this server"
    return AuthFailed(f"{address} refused the key ({said})", hint)


def connection_error(error: BaseException, address: ModelAddress) -> BackendError:
    """Return our error for a missing or incomplete answer, by the root cause of `error`."""
    roots = list(_root_causes(error))
    names = {kind.__name__ for root in roots for kind in type(root).__mro__}
    proxy = address.connection.proxy_hint
    if "ProxyError" in names:
        answered = _STATUS_FIRST.match(str(error.__cause__ or error))
        return _proxy_error(int(answered[0]) if answered else 0, address)
    # The SDK's transport has all of aiohttp's broken connections as timeouts: only Python's own
    # is one.
    if "TimeoutError" in names:
        return CallTimedOut(f"{address} did not answer in time")
    if any(isinstance(root, socket.gaierror) for root in roots):
        host = urlsplit(address.connection.proxy or address.url).hostname
        return NetworkFailed(
            f"{address} could not be reached: the host `{host}` is unknown",
            proxy or "check the spelling of base_url, and the network",
        )
    if any(isinstance(root, ConnectionRefusedError) for root in roots):
        return NetworkFailed(
            f"{address} could not be reached: the connection was refused",
            proxy or "check that the server is running, and the port in base_url",
        )
    if any(isinstance(root, ssl.SSLCertVerificationError) for root in roots):
        return NetworkFailed(
            f"{address} could not be reached: its certificate cannot be verified",
            address.connection.certificate_hint,
        )
    if "TooManyRedirects" in names:
        return NetworkFailed(f"{address} sends every call on to another address", ADDRESS_HINT)
    if "DecodingError" in names:
        return ServerFailed(f"{address} answered with a body that cannot be unpacked")
    if names & _BROKEN_OFF:
        return NetworkFailed(f"{address} broke off the connection before its answer was whole")
    return NetworkFailed(
        f"{address} could not be reached", proxy or "check that the server is running"
    )


def _proxy_error(status: int, address: ModelAddress) -> BackendError:
    """Return our error for what a proxy answered in place of a connection; 0 for no answer."""
    way = address.connection
    if status == 407:
        return AuthFailed(
            f"{address} could not be reached: the proxy wants a user and a password (HTTP 407)",
            f"write them into {way.proxy_from or 'the address of the proxy'}, as in"
            " http://USER:PASSWORD@HOST:PORT, or name the host in NO_PROXY",
        )
    why = f"answered HTTP {status}" if status else "cannot be reached"
    return NetworkFailed(f"{address} could not be reached: the proxy {why}", way.proxy_hint)


def _root_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all its causes; several connection attempts are a group."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _root_causes(part)
    cause = error.__cause__ or error.__context__
    if cause is not None:
        yield from _root_causes(cause)
