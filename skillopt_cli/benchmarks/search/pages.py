"""Reading a page of the network: few kinds, bounded in size and time, never inside this network."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from skillopt_cli.benchmarks.kit.html_text import html_text
from skillopt_cli.benchmarks.search.cache import AnswerCache
from skillopt_cli.config.connection import client_arguments

if TYPE_CHECKING:
    import httpx2

LONGEST_PAGE = 6_000
"""Characters that are shown of a page."""
_MOST_BYTES = 2_000_000
_MOST_REDIRECTS = 4
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OK = 200
_SERVER = 500


class PageFault(Exception):
    """Why a page cannot be shown, in words for a model.

    Args:
        lasting: whether the page itself is the cause, so that another try would fail as well.
    """

    def __init__(self, why: str, lasting: bool = False) -> None:
        super().__init__(why)
        self.lasting = lasting


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads pages as text.

    Attributes:
        cache: keeps what was read.
        timeout: seconds for a whole page.
        inside: whether addresses of this machine and its network may be read, which a page's
            address could name: for tests.
        environment: variables that name a proxy and certificates.
    """

    cache: AnswerCache
    timeout: float = 20.0
    inside: bool = False
    transport: httpx2.AsyncBaseTransport | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def read(self, url: str) -> str:
        """The text of a page, at most `LONGEST_PAGE` characters.

        Raises:
            PageFault: there is none, for a reason that is the page's.
        """

        async def make() -> dict[str, str]:
            try:
                async with asyncio.timeout(self.timeout):
                    return {"text": await self._fetched(url)}
            except PageFault as fault:
                if not fault.lasting:
                    raise
                return {"fault": str(fault)}
            except TimeoutError as error:
                raise PageFault(f"it did not come within {self.timeout:g} s") from error

        found = await self.cache.kept(("page/1", url), make)
        if "fault" in found:
            raise PageFault(found["fault"])
        return str(found["text"])

    async def _fetched(self, url: str) -> str:
        import httpx2

        way = client_arguments(url, self.environment)
        async with httpx2.AsyncClient(
            timeout=self.timeout, transport=self.transport, **way
        ) as client:
            for _ in range(_MOST_REDIRECTS + 1):
                await self._check(url)
                try:
                    async with client.stream("GET", url) as answer:
                        if answer.status_code in _REDIRECTS:
                            url = urljoin(url, answer.headers.get("location", ""))
                            continue
                        return await _text(answer)
                except httpx2.HTTPError as error:
                    raise PageFault(f"it could not be reached ({type(error).__name__})") from error
        raise PageFault("it redirects too often")

    async def _check(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            raise PageFault("it is not an address") from error
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise PageFault("it is not an address of the web")
        if self.inside:
            return
        loop = asyncio.get_running_loop()
        try:
            places = await loop.getaddrinfo(parts.hostname, port)
        except OSError as error:
            raise PageFault("its host is not known") from error
        for *_, place in places:
            if not ipaddress.ip_address(str(place[0]).partition("%")[0]).is_global:
                raise PageFault("it is no public address")


async def _text(answer: httpx2.Response) -> str:
    if answer.status_code != _OK:
        status = answer.status_code
        raise PageFault(f"the server answered {status}", lasting=status < _SERVER)
    kind = answer.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    if kind not in {"text/html", "application/xhtml+xml", "text/plain"}:
        raise PageFault(f"it is {kind}, not text", lasting=True)
    content = bytearray()
    async for piece in answer.aiter_bytes():
        content += piece
        if len(content) >= _MOST_BYTES:
            break
    raw = bytes(content[:_MOST_BYTES]).decode(answer.charset_encoding or "utf-8", errors="replace")
    text = raw if kind == "text/plain" else html_text(raw)
    if not text.strip():
        raise PageFault("it holds no text", lasting=True)
    return text[:LONGEST_PAGE]
