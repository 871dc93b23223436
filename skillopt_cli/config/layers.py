"""Layers of settings, weakest first, and where each effective value came from.

Defaults < YAML files < provider variables < `SKILLOPT_*` variables < flags. Among files: base files
< the preset `default` < the benchmark's own < other presets < others. Null and the empty string
never override anything: they mean "as before". A role's own setting of a model wins over the shared
one of the same strength; a stronger shared one wins over it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from skillopt_cli.config.declarations import declared, known_keys
from skillopt_cli.config.environment import file_of
from skillopt_cli.config.model import ENV_PREFIX, NESTING, RunConfig
from skillopt_cli.config.model_section import Endpoint
from skillopt_cli.config.scalars import Written, is_null, read_value, settle_written
from skillopt_cli.config.suggestions import suggestion
from skillopt_cli.config.validation_messages import (
    CLASH,
    advice,
    clash_words,
    fault_words,
    first_fault,
    names_within,
)
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.plugins import backend_options, sound_backends

DEFAULT = "default"
ENVIRONMENT = "environment"
ROLES = ("optimizer", "target", "judge")
_LONGEST_NAME = 40
_SECRET_ENDS = ("_key", "token", "secret", "password")


class Strength(IntEnum):
    """Which kind of layer wins over which."""

    DEFAULT = 0
    FILE = 1
    PROVIDER = 2
    OURS = 3
    FLAG = 4


class Tier(IntEnum):
    """Which file wins over which."""

    BASE = 0
    DEFAULT = 1
    BENCHMARK = 2
    PRESET = 3
    OWN = 4


@dataclass(frozen=True, slots=True)
class Layer:
    """Nested settings from one source, such as a file name, "environment NAME" or "flag --NAME".

    Attributes:
        file: which was read for it; None for what the user gave: flags, variables of the
            process, shipped files and those in the user's own configuration folder.
    """

    source: str
    values: Mapping[str, Any]
    strength: Strength = Strength.FILE
    tier: Tier = Tier.OWN
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """The configuration; by dotted key, where each value that is not a default came from.

    Attributes:
        sources: a file's name, "environment NAME", "flag --NAME", and the like.
        ranks: what kind of layer that was.
        files: the file that was read for it; nothing for what the user gave.
        unused: what of own tasks no attempt reads, in a few words; empty where all is used.
    """

    config: RunConfig
    sources: Mapping[str, str] = field(default_factory=dict)
    ranks: Mapping[str, Strength] = field(default_factory=dict)
    files: Mapping[str, Path | None] = field(default_factory=dict)
    unused: str = ""

    def rank(self, *keys: str) -> Strength:
        """The strongest layer that set one of these keys."""
        return max(self.ranks.get(key, Strength.DEFAULT) for key in keys)

    def rows(self) -> list[dict[str, Any]]:
        """Every effective value as {key, value, source}, in the order of the model."""
        values = self.config.model_dump(mode="json")
        for spec in sound_backends():
            values["model"].pop(spec.name, None)
            if section := self.config.model.section(spec.name):
                values["model"][spec.name] = section.model_dump(mode="json")
        return [
            {"key": key, "value": value, "source": self.sources.get(key, DEFAULT)}
            for key, value in flatten(values)
        ]


def resolve(layers: Sequence[Layer]) -> Resolved:
    """Merge layers and validate the result. Of equal strength and tier, the later wins.

    Null, an empty text and an empty mapping mean "as before".

    Raises:
        ConfigError: a key is unknown or a value is out of range; names key and source.
    """
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    ranks: dict[str, Strength] = {}
    files: dict[str, Path | None] = {}
    for layer in sorted(layers, key=lambda layer: (layer.strength, layer.tier)):
        for key, written in flatten(_named_models(layer.values)):
            value = typed(key, written) if isinstance(written, Written) else settle_written(written)
            if value is None or value in ("", {}):
                continue
            put(merged, key, value, layer.source)
            sources[key], ranks[key], files[key] = layer.source, layer.strength, layer.file
            for own in _own_forms(key):
                if ranks.get(own, layer.strength) < layer.strength:
                    _take(merged, own)
                    del sources[own], ranks[own], files[own]
    try:
        return Resolved(RunConfig(**merged), sources, ranks, files)
    except ValidationError as error:
        raise explained(error, sources) from None


def environment_layers(environment: Mapping[str, str]) -> list[Layer]:
    """Settings from `SKILLOPT_SECTION__KEY` variables, a layer each.

    Raises:
        ConfigError: a variable names no section, or is one of ours misspelt.
    """
    layers = []
    for name, text in sorted(environment.items()):
        if not name.startswith(ENV_PREFIX):
            continue
        path = name[len(ENV_PREFIX) :].lower().split(NESTING)
        if len(path) > 1 and path[0] in RunConfig.model_fields:
            source, file = f"{ENVIRONMENT} {name}", file_of(environment, name)
            layers.append(leaf_layer(source, ".".join(path), text, Strength.OURS, file))
            continue
        ours = [f"{ENV_PREFIX}{key.upper().replace('.', NESTING)}" for key in known_keys()]
        close = difflib.get_close_matches(name, ours, n=1, cutoff=0.8)
        if close or len(path) > 1:
            raise ConfigError(
                f"the variable {name} names no setting",
                f"did you mean {close[0]}?" if close else f"such as {ours[0]}",
            )
    return layers


def assignment_layers(assignments: Sequence[str], source: str = "flag --set") -> list[Layer]:
    """Settings from `section.key=value` texts, a layer each.

    Raises:
        ConfigError: a text has no `=` or no section.
    """
    layers = []
    for text in assignments:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or "." not in key:
            # What is no assignment may be anything, a key as well: it is not shown.
            shown = f"`{key}`" if equals and len(key) <= _LONGEST_NAME else "an argument"
            near = suggestion(key, known_keys()) if equals else "such as train.batch_size=20"
            raise ConfigError(f"{shown} of {source} is not of the form section.key=value", near)
        layers.append(leaf_layer(source, key, value, Strength.FLAG))
    return layers


def leaf_layer(
    source: str, key: str, value: object, strength: Strength, file: Path | None = None
) -> Layer:
    """A layer of one setting; `typed` reads a text."""
    values: dict[str, Any] = {}
    put(values, key, typed(key, value) if isinstance(value, str) else value, source)
    return Layer(source, values, strength, file=file)


def typed(key: str, text: str) -> Any:
    """A text as the value of `key`: kept as it is where a text is wanted, else read as YAML."""
    if is_null(text):
        return None
    return str(text) if _wants_text(key) else read_value(str(text))


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested mappings as (dotted key, value)."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{key}.")
        else:
            yield key, value


def _named_models(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """`model.target: NAME` as `model.target.name: NAME`, so that layers merge key by key."""
    model = values.get("model")
    if not isinstance(model, Mapping):
        return values
    named = {
        role: {"name": value} if role in ROLES and isinstance(value, str) else value
        for role, value in model.items()
    }
    return {**values, "model": named}


def put(into: dict[str, Any], key: str, value: Any, source: str) -> None:
    """Store a value in nested mappings under its dotted key.

    Raises:
        ConfigError: the key lies inside a plain value; names the source.
    """
    *path, last = key.split(".")
    for name in path:
        into = into.setdefault(name, {})
        if not isinstance(into, dict):
            raise ConfigError(f"`{key}` ({source}) is inside `{name}`, which holds a plain value")
    into[last] = value


def _own_forms(key: str) -> list[str]:
    """The roles' own forms of a shared setting of models."""
    section, _, name = key.partition(".")
    shared = section == "model" and name in Endpoint.model_fields
    return [f"model.{role}.{name}" for role in ROLES] if shared else []


def _take(merged: dict[str, Any], key: str) -> None:
    *path, last = key.split(".")
    for name in path:
        merged = merged[name]
    del merged[last]


def _wants_text(key: str) -> bool:
    if key in [f"model.{role}" for role in ROLES]:
        return True
    found = declared(key)
    if found is not None:
        annotation = found.info.annotation
        return annotation is str or str in get_args(annotation)
    # What a benchmark's own key wants is not known here; of any other unknown key nothing is.
    section, *inside = key.split(".")
    return section in RunConfig.model_fields and not (section == "env" or len(inside) > 1)


def explained(
    error: ValidationError, sources: Mapping[str, str], options: type[BaseModel] | None = None
) -> ConfigError:
    """The first fault in one sentence. A value that might be a key is never quoted.

    Args:
        options: of the benchmark, where the error is about those.
    """
    fault = first_fault(error)
    if fault["type"] == CLASH:
        return ConfigError(*clash_words(fault, lambda key: f" ({sources.get(key, DEFAULT)})"))
    group, within, place = _group_of(fault["loc"], options)
    key = ".".join(str(part) for part in (*within, *place))
    source = next((s for k, s in sources.items() if _touch(k, key)), "")
    origin = f" ({source})" if source else ""
    if fault["type"] == "extra_forbidden":
        if key.endswith(_SECRET_ENDS):
            hint = "put the key into an environment variable and name it in `api_key_env`"
        else:
            beside = names_within(group, place[:-1])
            begun = key.removesuffix(str(place[-1]))
            hint = suggestion(key, [*known_keys(), *(f"{begun}{name}" for name in beside)])
        return ConfigError(f"unknown configuration key `{key}`{origin}", hint)
    if fault["type"] in ("model_type", "model_attributes_type"):
        hint = f"such as `{key}.{names_within(group, place)[0]}`"
        return ConfigError(f"`{key}`{origin} is a group of settings", hint)
    return ConfigError(f"`{key}`{origin}{fault_words(fault)}", advice(fault, group, place))


Place = tuple[int | str, ...]


def _group_of(
    place: Place, options: type[BaseModel] | None
) -> tuple[type[BaseModel], Place, Place]:
    """The group that declares what is at a place, the group's own place, and the place in it."""
    if options is not None:
        return options, ("env",), place
    if place[:1] == ("model",) and len(place) > 1 and (found := backend_options(str(place[1]))):
        return found, place[:2], place[2:]
    return RunConfig, (), place


def _touch(one: str, other: str) -> bool:
    """Whether one of two keys is the other, or lies in it."""
    shorter, longer = sorted((one, other), key=len)
    return f"{longer}.".startswith(f"{shorter}.")
