"""What a form sends: read, bounded, and known to be from a page of ours."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request

from skillopt_cli.core.errors import UsageError
from skillopt_cli.web.site import Site

SIGN = "sign"
"""Name of the hidden entry that says which page a form is from."""
LONGEST = 256 * 1024
"""Bytes of a form."""
_MOST = 1000
"""Entries of a form."""
STALE = UsageError(
    "the page is older than the server behind it, so nothing was done", "send it once more"
)


@dataclass(frozen=True, slots=True)
class Posted:
    """A form that was sent.

    Attributes:
        values: the last of each name.
        genuine: whether it bears our sign; nothing may be done for one that does not.
    """

    values: Mapping[str, str]
    genuine: bool

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")


async def posted(site: Site, request: Request) -> Posted:
    """The form in a request.

    Raises:
        UsageError: it is too long, or no form.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST:
            raise UsageError(f"a form may hold {LONGEST // 1024} kB at most", "shorten it")
    try:
        values = dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST))
    except ValueError:
        raise UsageError("what was sent is no form", "use the page's own buttons") from None
    sign = values.pop(SIGN, "").encode(errors="replace")
    return Posted(values, hmac.compare_digest(sign, site.sign.encode()))
