"""Access control: refuses other sites and clients without the token."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillopt_cli.core.errors import UsageError
from skillopt_cli.web.submitted_form import form_values

LOOPBACK = frozenset(["127.0.0.1", "localhost", "::1"])
HEADERS = {
    # Nothing inline and nothing from other sites: no content of a run can become a script.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Without a referrer, browsers would not send the origin of our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Sent with every response that has no such header of its own."""
LOGIN = "/"
"""The address that admits a browser."""
CODE = "code"
"""Parameter of that address with the code of a link."""
TOKEN = "token"
"""Field of a form that is sent there with the token."""
_LOCKED = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Token needed - skillopt</title>
<main>
<h1>This page needs its token</h1>
<p>Open the link that <code>skillopt webui</code> printed last: each link opens one browser.
Or enter the token.</p>
<form action="{LOGIN}" method="post">
<p><label>Token <input type="password" name="{TOKEN}" autocomplete="off" required></label>
<button>Open</button></p>
</form>
</main>
</html>
"""
_ADMITTED = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>skillopt</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<main><p><a href="{LOGIN}">Open the page</a></p></main>
</html>
"""


class LinkCode:
    """The code of the printed link. It opens one browser and is then replaced.

    So what browsers keep of it in their history, and logs in theirs, opens nothing.
    """

    def __init__(self) -> None:
        self.value = secrets.token_urlsafe(24)

    def redeem(self, given: str) -> bool:
        """Replace the code if it is this one."""
        right = _equal(given, self.value)
        if right:
            self.value = secrets.token_urlsafe(24)
        return right


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server listens and who may use it.

    Attributes:
        token: required by every address; empty for none, which is for loopback only.
        link: the code that the next link contains.
    """

    token: str
    host: str = "127.0.0.1"
    port: int = 7860
    link: LinkCode = field(default_factory=LinkCode)

    @property
    def local(self) -> bool:
        """Whether only this machine can connect."""
        return self.host in LOOPBACK

    @property
    def cookie(self) -> str:
        """Name of the access cookie; it contains the port, which cookies do not distinguish."""
        return f"skillopt_{self.port}"

    @property
    def pass_value(self) -> str:
        """Value of that cookie."""
        return hmac.new(self.token.encode(), b"cookie", sha256).hexdigest()

    def accepts_host(self, header: str) -> bool:
        """Whether a `Host` header names this server: protection from DNS rebinding.

        An IP address cannot be rebound to another machine; a name can.
        """
        name = _name_of(header)
        if self.local or name in LOOPBACK:
            return name in LOOPBACK
        return name in {self.host.lower(), socket.gethostname().lower()} or _is_address(name)

    def admits(self, headers: Headers) -> bool:
        """Whether a request has the token, in a header or as our cookie."""
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
        return found is not None and _equal(found.value, self.pass_value)

    def is_token(self, given: str) -> bool:
        """Whether this is the token."""
        return bool(self.token) and _equal(given.strip(), self.token)


class AccessMiddleware:
    """Refuses foreign hosts, foreign origins and requests without the token.

    Args:
        opened: called when a link was used, which then has another code.
    """

    def __init__(self, app: ASGIApp, access: Access, opened: Callable[[], None]) -> None:
        self._app = app
        self._access = access
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on and add our headers to the response."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other protocol is supported

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        # A client that leaves, or is cut off, in the middle of its form needs no answer.
        with suppress(ClientDisconnect):
            answer = await self._own_answer(Request(scope, receive)) or self._app
            await answer(scope, receive, send_with_headers)

    async def _own_answer(self, request: Request) -> Response | None:
        """A refusal, or the answer to a login; None for a request that the application answers."""
        headers, access = request.headers, self._access
        if not access.accepts_host(headers.get("host", "")):
            return _plain(421, "This page does not belong to the host that was named.")
        # From anywhere: who has the token or a code may be admitted, and nothing else is done.
        if request.scope["path"] == LOGIN and await self._logs_in(request):
            return _admitted(access)
        if not access.admits(headers):
            return HTMLResponse(_LOCKED, 401, {"Cache-Control": "no-store"})
        if not _same_origin(request.method, headers):
            return _plain(403, "Another site asked for this, so it is not done.")
        return None

    async def _logs_in(self, request: Request) -> bool:
        access = self._access
        if request.method == "GET" and CODE in request.query_params:
            if used := bool(access.token) and access.link.redeem(request.query_params[CODE]):
                self._opened()
            return used
        if request.method != "POST":
            return False
        try:
            return access.is_token((await form_values(request)).get(TOKEN, ""))
        except UsageError:
            return False


def _admitted(access: Access) -> Response:
    """Sets the cookie and leads to the page, by an address without a code.

    Not by a redirect: the request that follows one counts as the site's that held the link or as
    the login file's, and browsers send no strict cookie with it.
    """
    answer = HTMLResponse(
        _ADMITTED,
        headers={
            "Refresh": f"0; url={LOGIN}",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        },
    )
    answer.set_cookie(access.cookie, access.pass_value, httponly=True, samesite="strict")
    return answer


def _equal(given: str, known: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(errors="replace"), known.encode())


def _same_origin(method: str, headers: Headers) -> bool:
    """Whether the request comes from one of our pages.

    Browsers send an origin with every request that changes something, so a missing one is allowed
    for reading only.
    """
    origin = headers.get("origin")
    if origin is None:
        return method in ("GET", "HEAD")
    host = headers.get("host", "").lower()
    return origin.lower() in (f"http://{host}", f"https://{host}")


def _name_of(host: str) -> str:
    """The host without its port and without the brackets of an IPv6 address."""
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
