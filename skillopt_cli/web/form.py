"""The form of a new run: its fields, made from the configuration's schema. Pure.

A field that is left empty says nothing, as everywhere in the configuration; what is typed goes to
the run letter by letter, as behind `--set`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from skillopt_cli.compose.flags import FLAG_NAMES
from skillopt_cli.compose.settings import ROLES, Wishes
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import assignment_layers
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import BACKENDS, names

Kind = Literal["text", "number", "truth", "choice"]

FIXED = ("env.name", "env.out_root", "run.display")
"""Settings that the page decides: the benchmark has its own field, runs go where it looks."""
RUN_ID = "run_id"
BENCHMARK = "benchmark"
SOURCE = "the form"
"""Where what was typed comes from."""
PREFIX = "set:"
"""Before the key of a setting in the name of its field."""
_KEY = re.compile(r"[a-z_]+(?:\.[a-z0-9_]+)+\Z")
_NAMED = re.compile(r"`([a-z_]+(?:\.[a-z0-9_]+)+|run_id)[`=]")
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A setting.

    Attributes:
        bounds: what a number must be, in words.
        choices: all it may be, none where that is not known.
    """

    key: str
    kind: Kind
    help: str
    bounds: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Settings that belong together, by the dotted key they begin with."""

    key: str
    help: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """What a person filled in.

    Attributes:
        settings: by dotted key, letter by letter; nothing for fields left empty.
    """

    benchmark: str
    preset: str
    run_id: str
    settings: Mapping[str, str]

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Given:
        """What is in a form that was sent, or in an address."""
        keys = {name.removeprefix(PREFIX): name for name in values if name.startswith(PREFIX)}
        settings = {
            key: values[name].strip()
            for key, name in sorted(keys.items())
            if values[name].strip() and _KEY.match(key) and key not in FIXED
        }
        said = {name: values.get(name, "").strip() for name in (BENCHMARK, "preset", RUN_ID)}
        return cls(said[BENCHMARK], said["preset"], said[RUN_ID], settings)

    @property
    def assignments(self) -> tuple[str, ...]:
        """The settings as behind `--set`."""
        return tuple(f"{key}={text}" for key, text in self.settings.items())

    @property
    def mark(self) -> str:
        """The same for forms that are filled in alike."""
        told = [self.benchmark, self.preset, self.run_id, *self.assignments]
        return sha256(json.dumps(told).encode()).hexdigest()

    def without(self, key: str) -> Given:
        """The same with nothing said of a setting."""
        kept = {name: text for name, text in self.settings.items() if name != key}
        return replace(self, settings=kept)

    def wishes(self, root: Path, roles: tuple[Role, ...] = ROLES) -> Wishes:
        """The same as from the command line; `roles` must be reachable."""
        return Wishes(
            benchmark=self.benchmark,
            preset=self.preset,
            flags={"env.out_root": str(root), "run.display": "plain"},
            layers=assignment_layers(self.assignments, SOURCE),
            roles=roles,
        )

    def command(self, root: Path, run_id: str = "") -> list[str]:
        """The arguments of `skillopt` that train so. No text can be taken for another option."""
        arguments = ["train", self.benchmark]
        if self.preset:
            arguments.append(f"--preset={self.preset}")
        arguments += [f"--set={assignment}" for assignment in self.assignments]
        if run_id or self.run_id:
            arguments.append(f"--run-id={run_id or self.run_id}")
        return [*arguments, f"--out-root={root}", "--display=plain"]


def first_fields() -> tuple[Field, ...]:
    """The settings that have a flag of their own, in that order: what is mostly set."""
    known = {field.key: field for group in _all() for field in group.fields}
    return tuple(known[key] for key in FLAG_NAMES if key not in FIXED)


def other_groups(options: Iterable[str], given: Given) -> list[Group]:
    """All other settings.

    Args:
        options: the benchmark's own keys of `env`.
    """
    groups = []
    for group in _all():
        fields = tuple(field for field in group.fields if field.key not in FLAG_NAMES)
        if group.key == "env":
            # What was typed for another benchmark stays to be seen, and can be taken out.
            left = [key for key in given.settings if key.startswith("env.")]
            known = {field.key for field in group.fields}
            own = sorted({*(f"env.{name}" for name in options), *left} - known)
            about = f"Of the benchmark {given.benchmark}." if given.benchmark else ""
            fields += tuple(Field(key, "text", about) for key in own)
        if fields:
            groups.append(Group(group.key, group.help, fields))
    return groups


def keys_in(text: str) -> list[str]:
    """The settings that an error or its hint names, in order."""
    return _NAMED.findall(text)


@lru_cache(maxsize=1)
def _all() -> tuple[Group, ...]:
    schema = RunConfig.model_json_schema()
    return tuple(_groups(schema, schema["$defs"], "", ""))


def _groups(
    schema: Mapping[str, Any], defs: Mapping[str, Any], key: str, about: str
) -> Iterator[Group]:
    fields, inner = [], []
    for name, about_it in schema["properties"].items():
        dotted = f"{key}.{name}" if key else name
        reference = about_it.get("$ref")
        if reference is None:
            fields.append(_field(dotted, about_it))
        else:
            inner.append((defs[reference.rsplit("/", 1)[-1]], dotted, about_it["description"]))
    shown = tuple(field for field in fields if field.key not in FIXED)
    if shown:
        yield Group(key, about, shown)
    for below, dotted, description in inner:
        yield from _groups(below, defs, dotted, " ".join(description.split()))


def _field(key: str, schema: Mapping[str, Any]) -> Field:
    forms = [f for f in schema.get("anyOf", [schema]) if f.get("type") != "null"]
    about = " ".join(schema.get("description", "").split())
    if key.endswith(".backend"):
        return Field(key, "choice", about, choices=tuple(names(BACKENDS)))
    if len(forms) > 1:
        return Field(key, "text", about)
    (form,) = forms
    if "enum" in form:
        return Field(key, "choice", about, choices=tuple(form["enum"]))
    match form["type"]:
        case "boolean":
            return Field(key, "truth", about, choices=("true", "false"))
        case "integer" | "number":
            bounds = " and ".join(
                f"{word} {form[name]:g}" for name, word in _BOUNDS.items() if name in form
            )
            return Field(key, "number", about, bounds)
    return Field(key, "text", about)
