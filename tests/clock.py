"""Time limits that are reached when a test says so, however fast or slow the machine is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def out_of_time(work: Coroutine[Any, Any, T], seconds: float, sign: Callable[[], bool]) -> T:
    """What `work` returns where `seconds` pass at once as soon as `sign` holds."""
    task = asyncio.ensure_future(work)
    while not (task.done() or sign()):  # noqa: ASYNC110 - another program gives the sign
        await asyncio.sleep(0.01)
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]
    return await task
