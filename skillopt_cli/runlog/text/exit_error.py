"""Why a training that reached its end has an exit code above 0."""

from __future__ import annotations

from skillopt_cli.core.errors import Indecisive, NoImprovement, SkillOptError


def exit_error(exit_code: int) -> SkillOptError | None:
    """The error that a finished training with this exit code ends with; None with 0."""
    if exit_code == NoImprovement.exit_code:
        return NoImprovement(
            "the best skill does not score above the seed on the selection split, which"
            " `run.require_improvement` asks for"
        )
    if exit_code == Indecisive.exit_code:
        return Indecisive(
            "no candidate could be compared: at every gate too few attempts could be scored",
            "remove the cause of the broken attempts and train again",
        )
    return None
