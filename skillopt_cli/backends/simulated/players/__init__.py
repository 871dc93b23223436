"""How the simulated target plays tasks that take more than reading: one file per kind of task.

A player sees the request and nothing else: no reference, no scorer, no game.
"""

from __future__ import annotations

from typing import Protocol

from skillopt_cli.backends.simulated.players.actions import ActionPlayer
from skillopt_cli.backends.simulated.players.choice import ChoicePlayer
from skillopt_cli.backends.simulated.players.looking import LookingPlayer
from skillopt_cli.backends.simulated.players.repositories import RepositoryPlayer
from skillopt_cli.backends.simulated.players.workbooks import WorkbookPlayer
from skillopt_cli.core.task import ChatReply, ChatRequest


class Player(Protocol):
    """Knows one kind of task by its brief and its tools."""

    def plays(self, request: ChatRequest) -> bool:
        """Whether the request is of its kind."""
        ...

    def play(self, request: ChatRequest) -> ChatReply:
        """The next reply; a function of the request. Its usage is filled in by the backend."""
        ...


PLAYERS: tuple[Player, ...] = (
    WorkbookPlayer(),
    RepositoryPlayer(),
    LookingPlayer(),
    ChoicePlayer(),
    ActionPlayer(),
)
"""The first one that plays a request does."""


def player_of(request: ChatRequest) -> Player | None:
    """Who plays a request; None for one that is answered by reading."""
    return next((player for player in PLAYERS if player.plays(request)), None)
