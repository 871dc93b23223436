"""`RunConfig`: everything a run needs to know, frozen."""

from __future__ import annotations

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from skillopt_cli.config.model_section import ModelConfig
from skillopt_cli.config.sections import (
    EnvConfig,
    EvaluationConfig,
    GradientConfig,
    OptimizerConfig,
    RunSection,
    TrainConfig,
)

ENV_PREFIX = "SKILLOPT_"
NESTING = "__"


class RunConfig(BaseSettings):
    """A run's configuration, layered by `config.layers`: YAML, then environment, then flags.

    Constructing it directly reads nothing but the arguments: layers are merged, with the source of
    each value, before the model validates the result.
    """

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=ENV_PREFIX,
        env_nested_delimiter=NESTING,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The arguments only: `config.layers` reads variables, to tell where a value is from."""
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
    run: RunSection = RunSection()
    """Display and limits of this machine."""
