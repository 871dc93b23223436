"""A benchmark's own keys of the `env` section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt_cli.config.env_section import EnvConfig
from skillopt_cli.config.suggestions import suggestion
from skillopt_cli.config.validation_messages import advice, fault_words, first_fault
from skillopt_cli.core.errors import ConfigError


class BenchmarkOptions(BaseModel):
    """The `env.*` keys of a benchmark; the docstring below a field is its help."""

    model_config = ConfigDict(
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
        defer_build=True,
    )


Options = TypeVar("Options", bound=BenchmarkOptions)


def read_options(model: type[Options], options: Mapping[str, Any], benchmark: str) -> Options:
    """A benchmark's options, checked.

    Raises:
        ConfigError: one is unknown or malformed.
    """
    known = model.model_fields
    unknown = next((key for key in options if key not in known), None)
    if unknown is not None:
        listed = ", ".join(f"`env.{name}`" for name in sorted(known))
        hint = suggestion(
            f"env.{unknown}",
            [f"env.{name}" for name in (*known, *EnvConfig.model_fields)],
            f"its options are {listed}" if known else "it has no options of its own",
        )
        raise ConfigError(f"`env.{unknown}` is not an option of the {benchmark} benchmark", hint)
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        fault = first_fault(error)
        key = ".".join(str(part) for part in ("env", *fault["loc"]))
        raise ConfigError(f"`{key}`{fault_words(fault)}", advice(fault, model)) from None
