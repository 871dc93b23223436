"""How the simulated target solves tasks that need more than reading: one file per kind of task.

A solver sees the request alone: no reference, no scorer, no game.
"""

from __future__ import annotations

from skillopt_cli.backends.simulated.solvers.lookup import solve_lookup
from skillopt_cli.backends.simulated.solvers.multiple_choice import solve_multiple_choice
from skillopt_cli.backends.simulated.solvers.repositories import solve_repository
from skillopt_cli.backends.simulated.solvers.text_games import solve_text_game
from skillopt_cli.backends.simulated.solvers.workbooks import solve_workbook
from skillopt_cli.core.task import ChatReply, ChatRequest

SOLVERS = (solve_workbook, solve_repository, solve_lookup, solve_multiple_choice, solve_text_game)
"""In order of precedence; each returns None for a request that is not of its kind."""


def solve(request: ChatRequest) -> ChatReply | None:
    """Return the next reply, a pure function of the request, without usage.

    None for a request that is answered by reading.
    """
    return next(filter(None, (solver(request) for solver in SOLVERS)), None)
