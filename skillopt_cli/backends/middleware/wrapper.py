"""The base class of backends around a backend."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Self

from skillopt_cli.ports import ChatBackend, lifetime


class Wrapper:
    """A `ChatBackend` with the name, fingerprint and abilities of its inner backend.

    As an async context manager it opens and closes the inner backend if that is one.
    """

    def __init__(self, inner: ChatBackend) -> None:
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.offers = inner.offers
        self._inner = inner
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._opened.enter_async_context(lifetime(self._inner))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()
