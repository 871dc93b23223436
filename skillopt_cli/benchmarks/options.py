"""A benchmark's own keys of the `env` section."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from skillopt_cli.core.errors import ConfigError


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
