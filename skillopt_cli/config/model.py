"""`RunConfig`: everything a run needs to know, frozen."""

from __future__ import annotations

from typing import Annotated

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from skillopt_cli.config.env_section import EnvConfig
from skillopt_cli.config.model_section import ModelConfig
from skillopt_cli.config.run_section import RunSection
from skillopt_cli.config.section import Setting, SettingsSection
from skillopt_cli.config.sections import (
    EvaluationConfig,
    GradientConfig,
    OptimizerConfig,
    TrainConfig,
)

ENV_PREFIX = "SKILLOPT_"
NESTING = "__"


class RunConfig(SettingsSection, BaseSettings):
    """A run's configuration, layered by `config.layers`: YAML, then environment, then flags.

    Constructing it directly reads nothing but the arguments: layers are merged, with the source of
    each value, before the model validates the result.
    """

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_nested_delimiter=NESTING)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The arguments only: `config.layers` reads variables, to name the source of a value."""
        return (init_settings,)

    model: ModelConfig = ModelConfig()
    """Models and how to reach them."""
    train: TrainConfig = TrainConfig()
    """The schedule."""
    gradient: GradientConfig = GradientConfig()
    """From trajectories to edits."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """From edits to a new skill."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """Gate and tests."""
    env: EnvConfig = EnvConfig()
    """Benchmark and data."""
    run: Annotated[RunSection, Setting(free_on_resume=True)] = RunSection()
    """Display and limits of this machine."""
