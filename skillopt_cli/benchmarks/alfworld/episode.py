"""One game as an episode: what the model is told, and what its answers do."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skillopt_cli.benchmarks.alfworld.engine import Game, View
from skillopt_cli.core.episode import Heard, ToolCall, ToolResult

SHOWN_STEPS = 2
"""Steps that are told of after each answer, which sees nothing else of the past."""
HIDDEN = "help"
"""Not listed among the actions."""
NOTHING = "Nothing happens."
"""The engine's words for an action that cannot be done."""
UNUSABLE = (
    "Your answer held no action between <action> and </action>, so nothing was done. It counts as a"
    " step."
)
_ACTION = re.compile(r"<action>((?:(?!</?action>).)*)(?:</action>|\Z)", re.IGNORECASE | re.DOTALL)
_BANNER = re.compile(r"\A-= .*? =-\s*|\s*Your task is to: .*\Z", re.DOTALL)


def action_of(reply: str) -> str:
    """What a reply wants done: the last `<action>…</action>` in lower case; "" for nothing.

    The closing tag may be missing at the end. What stands elsewhere is never taken for an action.
    """
    found = _ACTION.findall(reply)
    return " ".join(found[-1].lower().split()).strip("\"'`.") if found else ""


@dataclass(slots=True)
class Moves:
    """What was done in an episode.

    Attributes:
        pairs: what was seen and what was then done, "" for nothing usable.
        unusable: answers without an action.
        idle: actions that changed nothing because they could not be done.
    """

    pairs: list[tuple[str, str]] = field(default_factory=list)
    unusable: int = 0
    idle: int = 0


class GameEpisode:
    """An `Episode` that ends when the game is won, or after `max_steps` answers.

    Args:
        task: the goal, as the brief states it.
        begin: opens the game, which is done when the first word is needed.
    """

    def __init__(self, task: str, max_steps: int, begin: Callable[[], Awaitable[Game]]) -> None:
        self._task, self._max_steps, self._begin = task, max_steps, begin
        self._game: Game | None = None
        self._view = View("", (), won=False)
        self._moves = Moves()

    async def opening(self) -> str:
        """The room and what can be done in it."""
        await self._playing()
        return _scene(self._view)

    async def use(self, call: ToolCall) -> ToolResult:
        """There are no tools."""
        return ToolResult("There are no tools here. Answer with an action.", failed=True)

    async def hear(self, reply: str) -> Heard | None:
        """Do what the reply says. What follows stands for itself: it is all that is seen next."""
        game = await self._playing()
        action = action_of(reply)
        seen, moves = self._view.observation, self._moves
        if action:
            self._view = await game.act(action)
            moves.idle += self._view.observation == NOTHING
        else:
            self._view = View(UNUSABLE, self._view.actions, won=False)
            moves.unusable += 1
        moves.pairs.append((seen, action))
        if self._view.won or len(moves.pairs) >= self._max_steps:
            return None
        return Heard(self._situation(), afresh=True)

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """Whether the game is won, and how it was played."""
        return {
            "won": self._view.won,
            "steps": len(self._moves.pairs),
            "unusable": self._moves.unusable,
            "idle": self._moves.idle,
        }

    async def _playing(self) -> Game:
        if self._game is None:
            self._game = await self._begin()
            first = self._game.first
            self._view = View(_BANNER.sub("", first.observation), first.actions, first.won)
        return self._game

    def _situation(self) -> str:
        steps = len(self._moves.pairs)
        told = [
            f'Step {number}: saw "{" ".join(seen.split())}", did `{action or "(nothing)"}`'
            for number, (seen, action) in enumerate(self._moves.pairs, 1)
        ]
        past = "\n".join((f"Steps taken: {steps}. The last ones:", *told[-SHOWN_STEPS:]))
        return f"## Task\n{self._task}\n\n## Past\n{past}\n\n{_scene(self._view)}"


def _scene(view: View) -> str:
    actions = "\n".join(f"- {action}" for action in view.actions if action != HIDDEN)
    return f"## Observation\n{view.observation}\n\n## Admissible actions\n{actions}"
