"""One attempt of a target, within the episode of its benchmark where that has episodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from skillopt_cli.core.episode import Episode, Heard, Opened, ToolCall, ToolResult
from skillopt_cli.core.errors import EpisodeFailed, FatalBackendError
from skillopt_cli.core.secrets import Hide, hidden
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, Task
from skillopt_cli.ports import AgentBackend, Executor, Interactive


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """The `AttemptRunner` of this process.

    Attributes:
        interactive: the benchmark, where it has episodes.
        hide: takes secrets out of what an episode returns.
    """

    target: AgentBackend
    interactive: Interactive | None
    executor: Executor
    hide: Hide

    async def attempt(self, task: Task, brief: Brief, skill: SkillDocument) -> Attempt:
        """The target's attempt, with what it left behind; see `ports.AttemptRunner`."""
        if self.interactive is None:
            return await self.target.attempt(brief, skill, self.executor)
        async with surroundings(self.interactive, task, self.executor, self.hide) as episode:
            brief = replace(brief, episode=episode)
            made = await self.target.attempt(brief, skill, self.executor)
            if made.ending != "answered":
                return made
            return replace(made, outcome=await episode.outcome(made.answer))


@asynccontextmanager
async def surroundings(
    benchmark: Interactive, task: Task, executor: Executor, hide: Hide
) -> AsyncIterator[Episode]:
    """A task's episode, open as long as the attempt lasts; its texts hold no secret.

    Raises:
        EpisodeFailed: it could not be opened or closed, or failed when it was played.
        FatalBackendError: so will every other.
    """
    async with AsyncExitStack() as stack:
        with _as_ours():
            episode = await stack.enter_async_context(benchmark.episode(task, executor))
        yield _Guarded(episode, hide)
        with _as_ours():
            await stack.aclose()


class _Guarded:
    """An episode without secrets, whose errors are `EpisodeFailed` unless they end the run."""

    def __init__(self, episode: Episode, hide: Hide) -> None:
        self._episode = episode
        self._hide = hide

    async def opening(self) -> str:
        if not isinstance(self._episode, Opened):
            return ""
        with _as_ours():
            return self._hide(await self._episode.opening())

    async def use(self, call: ToolCall) -> ToolResult:
        with _as_ours():
            return hidden(await self._episode.use(call), self._hide)

    async def hear(self, reply: str) -> Heard | None:
        with _as_ours():
            return hidden(await self._episode.hear(reply), self._hide)

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        with _as_ours():
            return hidden(await self._episode.outcome(answer), self._hide)


@contextmanager
def _as_ours() -> Iterator[None]:
    try:
        yield
    except FatalBackendError:
        # Such as a search service that refuses the token: no other attempt would fare better.
        raise
    # An episode may be a plug-in's and fail in any way, which is no evidence about the target: the
    # attempt is broken, never wrong (method, decision 2).
    except Exception as error:
        raise EpisodeFailed(repr(error)) from error
