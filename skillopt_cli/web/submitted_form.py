"""Submitted forms: read within bounds, and known by the token of the server's own forms."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request

from skillopt_cli.core.errors import UsageError

FORM_TOKEN = "form_token"
"""Name of the hidden field with the token."""
LONGEST_FORM = 256 * 1024
"""Limit on the bytes of a form."""
_MOST_ENTRIES = 1000
"""Limit on the entries of a form."""
STALE_FORM = UsageError(
    "the page is older than the server behind it, so nothing was done", "send it once more"
)


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """The values of a submitted form.

    Attributes:
        values: the last value of each name.
        genuine: whether it has our form token; nothing may be done for one without it.
    """

    values: Mapping[str, str]
    genuine: bool

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")


async def read_form(request: Request, form_token: str) -> SubmittedForm:
    """Read the form of a request, and compare its token with `form_token`.

    Raises:
        UsageError: it is too long, or is not a form.
    """
    values = await form_values(request)
    given = values.pop(FORM_TOKEN, "").encode(errors="replace")
    return SubmittedForm(values, hmac.compare_digest(given, form_token.encode()))


async def form_values(request: Request) -> dict[str, str]:
    """The last value of each name in a form.

    Raises:
        UsageError: it is too long, or is not a form.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            raise UsageError(f"a form may hold {LONGEST_FORM // 1024} kB at most", "shorten it")
    try:
        return dict(
            parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_ENTRIES)
        )
    except ValueError:
        raise UsageError("the request is not a form", "use the page's own buttons") from None
