"""A benchmark's own keys of the `env` section."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt_cli.config.wording import advice, fault_words, first_fault
from skillopt_cli.core.errors import ConfigError


class BenchmarkOptions(BaseModel):
    """The `env.*` keys of a benchmark; what stands below a field is its help."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)


Options = TypeVar("Options", bound=BenchmarkOptions)


def read_options(model: type[Options], options: Mapping[str, Any], benchmark: str) -> Options:
    """A benchmark's options, checked.

    Raises:
        ConfigError: one is unknown or malformed.
    """
    refuse_unknown(options, model.model_fields, benchmark)
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        fault = first_fault(error)
        key = ".".join(str(part) for part in ("env", *fault["loc"]))
        raise ConfigError(f"`{key}`{fault_words(fault)}", advice(fault, model)) from None


def refuse_unknown(options: Mapping[str, Any], known: Collection[str], benchmark: str) -> None:
    """Check the names of a benchmark's options.

    Raises:
        ConfigError: one is not among `known`; the hint names the nearest.
    """
    for key in options:
        if key in known:
            continue
        near = difflib.get_close_matches(key, known, n=1)
        if near:
            hint = f"did you mean `env.{near[0]}`?"
        elif known:
            hint = "its options are " + ", ".join(f"`env.{name}`" for name in sorted(known))
        else:
            hint = "it has no options of its own"
        raise ConfigError(f"`env.{key}` is not an option of the {benchmark} benchmark", hint)
