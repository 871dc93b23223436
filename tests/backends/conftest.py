"""A loopback server for the tests of a module, which mostly share their backends as well."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from loopback import Loopback, loopback


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running() -> AsyncIterator[Loopback]:
    async with loopback() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def server(running: Loopback) -> Loopback:
    """The running server, as new."""
    running.clear()
    return running
