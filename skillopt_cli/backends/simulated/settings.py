"""The section `model.simulated`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from skillopt_cli.config.section import Setting, SettingsSection
from skillopt_cli.config.validation_messages import clash


class SimulatedConfig(SettingsSection):
    """The simulated model (no network): a deterministic world with faults on request."""

    latency_ms: Annotated[float, Setting(free_in_replay=True)] = Field(0.0, ge=0)
    """Time each call takes."""
    noise: float = Field(0.0, ge=0, le=1)
    """Share of tasks the target gets wrong whatever is in the skill."""
    lapse_rate: float = Field(0.0, ge=0, le=1)
    """Share of tasks where the target follows a rule only if the skill's appendix re-states it."""
    flaky_rate: float = Field(0.0, ge=0, le=1)
    """Share of tasks whose outcome differs from one draw to the next, whatever is in the skill."""
    right_rate: float = Field(0.6, ge=0, le=1)
    """Share of the optimizer's lessons that teach the rule a failing task needs."""
    harmful_rate: float = Field(0.2, ge=0, le=1)
    """Share of the optimizer's lessons that do harm; what is left over is of no use."""
    forget_rate: float = Field(0.0, ge=0, le=1)
    """Share of analyses that also propose to delete a rule the tasks they read do not need."""
    rate_limit_rate: Annotated[float, Setting(free_in_replay=True)] = Field(0.0, ge=0, le=1)
    """Share of calls answered with 429."""
    server_error_rate: Annotated[float, Setting(free_in_replay=True)] = Field(0.0, ge=0, le=1)
    """Share of calls answered with 500."""
    permanent_failure_rate: Annotated[float, Setting(free_in_replay=True)] = Field(0.0, ge=0, le=1)
    """Share of target requests that fail at every try."""
    hangs: Annotated[int, Setting(free_in_replay=True)] = Field(0, ge=0)
    """How many calls never answer."""
    malformed_rate: float = Field(0.0, ge=0, le=1)
    """Share of optimizer answers that are not valid JSON at the first try."""
    auth_failure: Annotated[bool, Setting(free_in_replay=True)] = False
    """Refuse every call as if the key were wrong."""
    seed: int = 0
    """Seed of the world and of its faults."""

    @model_validator(mode="after")
    def _shares_of_one_whole(self) -> SimulatedConfig:
        if self.right_rate + self.harmful_rate > 1:
            raise clash(
                f"`right_rate` of {self.right_rate:g} and `harmful_rate` of {self.harmful_rate:g}"
                " are more than 1 together",
                ("right_rate", "harmful_rate"),
                "lower one of the two",
            )
        return self
