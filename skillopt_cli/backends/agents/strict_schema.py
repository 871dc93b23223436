"""JSON schemas in the strict form that OpenAI's models are held to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every property required and no other allowed, as strictness asks for.

    A property that may be left out elsewhere has to be there, if only empty; so nothing has a
    default.
    """
    changed = {name: _strict(name, value) for name, value in schema.items() if name != "default"}
    if "properties" in changed:
        changed["required"] = list(changed["properties"])
        changed["additionalProperties"] = False
    return changed


def _strict(keyword: str, value: Any) -> Any:
    if keyword in ("properties", "$defs") and isinstance(value, Mapping):
        # The names in there are not keywords, whatever they are.
        return {name: strict_schema(inner) for name, inner in value.items()}
    if isinstance(value, Mapping):
        return strict_schema(value)
    if isinstance(value, list):
        return [strict_schema(part) if isinstance(part, Mapping) else part for part in value]
    return value
