"""The base of backends around a backend."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Self

from skillopt_cli.ports import ChatBackend


class Wrapper:
    """A `ChatBackend` that is its inner one in everything but `chat`.

    As an async context manager it opens and closes the inner backend, where that is one.
    """

    def __init__(self, inner: ChatBackend) -> None:
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.offers = inner.offers
        self._inner = inner
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if isinstance(self._inner, AbstractAsyncContextManager):
            await self._opened.enter_async_context(self._inner)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()
