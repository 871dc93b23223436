"""An attempt's surroundings: a benchmark's episode, whose failures are no fault of the target."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from skillopt_cli.core.episode import Episode, Heard, Opened, ToolCall, ToolResult
from skillopt_cli.core.errors import EpisodeFailed, FatalBackendError
from skillopt_cli.core.task import Task
from skillopt_cli.ports import Executor, Interactive


@asynccontextmanager
async def surroundings(
    benchmark: Interactive, task: Task, executor: Executor
) -> AsyncIterator[Episode]:
    """A task's episode, open as long as the attempt lasts.

    Raises:
        EpisodeFailed: it could not be opened or closed, or failed when it was played.
        FatalBackendError: so will every other.
    """
    async with AsyncExitStack() as stack:
        with _as_ours():
            episode = await stack.enter_async_context(benchmark.episode(task, executor))
        yield _Guarded(episode)
        with _as_ours():
            await stack.aclose()


class _Guarded:
    """An episode whose errors are `EpisodeFailed`, unless they are fatal to the run."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def opening(self) -> str:
        if not isinstance(self._episode, Opened):
            return ""
        with _as_ours():
            return await self._episode.opening()

    async def use(self, call: ToolCall) -> ToolResult:
        with _as_ours():
            return await self._episode.use(call)

    async def hear(self, reply: str) -> Heard | None:
        with _as_ours():
            return await self._episode.hear(reply)

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        with _as_ours():
            return await self._episode.outcome(answer)


@contextmanager
def _as_ours() -> Iterator[None]:
    try:
        yield
    except FatalBackendError:
        # Such as a search service that refuses the token: no other attempt would fare better.
        raise
    # An episode may be a plug-in's and fail in any way; that says nothing about the target, so the
    # attempt is broken, never wrong (method, decision 2).
    except Exception as error:
        raise EpisodeFailed(repr(error)) from error
