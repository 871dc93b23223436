"""Slots: so many at a time, a number that may change while some are taken."""

from __future__ import annotations

import asyncio


class Slots:
    """Whoever came first gets the first free slot. Fewer slots take none away from those inside.

    Args:
        size: how many there are, at least 1.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._taken = 0
        self._first = asyncio.Lock()
        self._news = asyncio.Event()

    def resize(self, size: int) -> None:
        """Have another number of slots from now on."""
        self._size = size
        self._news.set()

    async def __aenter__(self) -> None:
        async with self._first:
            while self._taken >= self._size:
                self._news.clear()
                await self._news.wait()
            self._taken += 1

    async def __aexit__(self, *failure: object) -> None:
        self._taken -= 1
        self._news.set()
