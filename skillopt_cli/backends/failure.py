"""An answer over HTTP that is no success: what its body says, in any form services write it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

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
"""The status that goes with a word, where an error is told without one."""
TYPES = {status: kind for kind, status in _STATUS.items() if kind.endswith("_error")}
"""What Anthropic's interface calls an error with a status."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP answer that is no success.

    Attributes:
        text: what the server says went wrong; "" where it says nothing.
        codes: its machine-readable words for that, such as "insufficient_quota".
        headers: with lower-case or case-insensitive names.
        offered: what the address was hoped to offer, such as "chat completions".
        parameter: the part of the request that it is about; "" where it names none.
    """

    status: int
    text: str
    codes: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    offered: str = "chat completions"
    parameter: str = ""

    @classmethod
    def of(cls, status: int, body: object, headers: Mapping[str, str], offered: str) -> Self:
        """The failure that a body tells of.

        Args:
            body: decoded JSON, or a text that is none: an object with the error in it or around
                it, a list that begins with one, or plain words.
        """
        told = _error(body)
        if not isinstance(told, Mapping):
            return cls(status, "" if told is None else str(told), frozenset(), headers, offered)
        details = told.get("details")
        inner = details.get("error_code") if isinstance(details, Mapping) else None
        words = (told.get("type"), told.get("code"), inner)
        codes = frozenset(str(word) for word in words if isinstance(word, str | int) and word)
        said = (told.get("message"), told.get("detail"))
        text = next((one for one in said if isinstance(one, str) and one), None)
        written = json.dumps(told, default=str, ensure_ascii=False) if text is None else text
        return cls(status, written, codes, headers, offered, str(told.get("param") or ""))


def failure_within(body: object, headers: Mapping[str, str], offered: str) -> Failure | None:
    """The failure that a body with status 200 tells of, as routers and streams do; else None.

    Its status is the one it names, else the one that goes with its words, else 500.
    """
    if not isinstance(body, Mapping):
        return None
    if not body.get("error") or any(body.get(name) is not None for name in _ANSWERED):
        return None
    return untimely(body, headers, offered)


def untimely(body: object, headers: Mapping[str, str], offered: str) -> Failure:
    """The failure that a body tells of without a status of HTTP, as `failure_within`."""
    failure = Failure.of(500, body, headers, offered)
    told = _error(body)
    named = told.get("code") if isinstance(told, Mapping) else None
    if not (isinstance(named, int) and 400 <= named < 600):
        named = next((_STATUS[code] for code in sorted(failure.codes) if code in _STATUS), 500)
    return Failure.of(named, body, headers, offered)


def _error(body: object) -> object:
    """The error itself."""
    if isinstance(body, list):
        body = body[0] if body else None
    return body.get("error") or body if isinstance(body, Mapping) else body
