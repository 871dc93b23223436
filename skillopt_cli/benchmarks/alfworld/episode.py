"""One game as an episode: what the model reads, and what its answers do."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from skillopt_cli.benchmarks.alfworld.engine import Game, View
from skillopt_cli.core.episode import Heard, ToolCall, ToolResult
from skillopt_cli.core.reply_text import read_text

SHOWN_STEPS = 2
"""Steps that are shown after each answer, which sees nothing else of the past."""
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

    The closing tag may be missing at the end. Text elsewhere, or in a thought, is no action.
    """
    found = _ACTION.findall(read_text(reply).text)
    return " ".join(found[-1].lower().split()).strip("\"'`.") if found else ""


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
        self._moves: list[tuple[str, str]] = []
        """What was seen and what was then done, "" for nothing usable."""
        self._unusable = 0
        """Answers without an action."""
        self._idle = 0
        """Actions that changed nothing because they could not be done."""

    async def opening(self) -> str:
        """The room and what can be done in it."""
        await self._playing()
        return _scene(self._view)

    async def use(self, call: ToolCall) -> ToolResult:
        """There are no tools."""
        return ToolResult("There are no tools here. Answer with an action.", failed=True)

    async def hear(self, reply: str) -> Heard | None:
        """Take the action of the reply. The message that follows is all that is seen next."""
        game = await self._playing()
        action = action_of(reply)
        seen = self._view.observation
        if action:
            self._view = await game.act(action)
            self._idle += self._view.observation == NOTHING
        else:
            self._view = View(UNUSABLE, self._view.actions, won=False)
            self._unusable += 1
        self._moves.append((seen, action))
        if self._view.won or len(self._moves) >= self._max_steps:
            return None
        return Heard(self._situation(), afresh=True)

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        """Whether the game is won, and how it was played."""
        return {
            "won": self._view.won,
            "steps": len(self._moves),
            "unusable": self._unusable,
            "idle": self._idle,
        }

    async def _playing(self) -> Game:
        if self._game is None:
            self._game = await self._begin()
            first = self._game.first
            self._view = View(_BANNER.sub("", first.observation), first.actions, first.won)
        return self._game

    def _situation(self) -> str:
        steps = len(self._moves)
        steps_taken = [
            f'Step {number}: saw "{" ".join(seen.split())}", did `{action or "(nothing)"}`'
            for number, (seen, action) in enumerate(self._moves, 1)
        ]
        past = "\n".join((f"Steps taken: {steps}. The last ones:", *steps_taken[-SHOWN_STEPS:]))
        return f"## Task\n{self._task}\n\n## Past\n{past}\n\n{_scene(self._view)}"


def _scene(view: View) -> str:
    actions = "\n".join(f"- {action}" for action in view.actions if action != HIDDEN)
    return f"## Observation\n{view.observation}\n\n## Admissible actions\n{actions}"
