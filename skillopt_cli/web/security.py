"""Who may ask: nobody from another site, and beyond this machine only who knows the token."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset(["127.0.0.1", "localhost", "::1"])
HEADERS = {
    # Nothing inline, nothing from elsewhere: what a run holds cannot become a script.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Without any referrer, browsers would keep from us that a form is from a page of ours.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Sent with every answer."""
PARAMETER = "token"
"""Of an address that lets a browser in."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the page listens, and what opens it.

    Attributes:
        token: needed for every page; empty asks for none, which only loopback may do.
    """

    host: str = "127.0.0.1"
    port: int = 7860
    token: str = ""

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK

    @property
    def cookie(self) -> str:
        """The name of the cookie of who was let in; cookies know no ports, so it names ours."""
        return f"skillopt_{self.port}"

    @property
    def pass_value(self) -> str:
        """What that cookie holds."""
        return hmac.new(self.token.encode(), b"cookie", sha256).hexdigest()

    def knows_host(self, header: str) -> bool:
        """Whether a browser that names this host means us, and was not led here by another's name.

        An address in digits cannot be bent to another machine; a name can.
        """
        name = _name_of(header)
        if self.local or name in LOOPBACK:
            return name in LOOPBACK
        return name in {self.host.lower(), socket.gethostname().lower()} or _is_address(name)

    def let_in(self, headers: Headers) -> bool:
        """Whether a request brings the token, as a header or as our cookie."""
        if not self.token:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.is_token(given):
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        found = cookies.get(self.cookie)
        return found is not None and hmac.compare_digest(
            found.value.encode(), self.pass_value.encode()
        )

    def is_token(self, given: str) -> bool:
        """Whether this is the token; takes as long for a wrong one."""
        return hmac.compare_digest(given.strip().encode(), self.token.encode())


class Guard:
    """Stands before the pages: refuses foreign hosts and origins, and whoever lacks the token."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or let the request through and put our headers on the answer."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # we speak no other protocol
        answer: ASGIApp = self._refusal(scope) or self._app

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                raw = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *raw]}
            await send(message)

        await answer(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, access = Headers(scope=scope), self._access
        if not access.knows_host(headers.get("host", "")):
            return _plain(421, "This page does not belong to the host that was named.")
        if not _same_origin(scope["method"], headers):
            return _plain(403, "Another site asked for this, so it is not done.")
        if access.let_in(headers):
            return None
        return self._admitted(scope) or _plain(
            401, "A token is needed: open the address that `skillopt webui` printed."
        )

    def _admitted(self, scope: Scope) -> Response | None:
        """The way on for a browser whose address holds the token, which then leaves the address."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for key, value in query if key == PARAMETER]
        if scope["method"] != "GET" or not any(map(self._access.is_token, given)):
            return None
        rest = urlencode([(key, value) for key, value in query if key != PARAMETER])
        path = "/" + scope["path"].lstrip("/")
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
        answer.set_cookie(
            self._access.cookie, self._access.pass_value, httponly=True, samesite="strict"
        )
        return answer


def _same_origin(method: str, headers: Headers) -> bool:
    """Whether a page of ours asked: what alters something must say so, reading may not deny it.

    Browsers state an origin with every request that alters something, and programs can.
    """
    origin = headers.get("origin")
    if origin is None:
        return method in ("GET", "HEAD")
    host = headers.get("host", "").lower()
    return origin.lower() in (f"http://{host}", f"https://{host}")


def _name_of(host: str) -> str:
    """The host without its port, and an address of version 6 without its brackets."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if name.count(":") == 1 else name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _plain(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status, {"Cache-Control": "no-store"})
