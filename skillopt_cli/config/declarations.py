"""Every setting there is, with what its field declares: flag, words, bounds, default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeGuard, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from skillopt_cli.config.model import RunConfig
from skillopt_cli.config.model_section import RoleConfig
from skillopt_cli.config.section import Setting, setting_of
from skillopt_cli.plugins import OWN_TASKS, backend_options, load_benchmark, sound_backends

_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


@dataclass(frozen=True, slots=True)
class Declared:
    """A setting.

    Attributes:
        key: dotted.
        setting: with what its sections declare for it.
        section: description of the section it is in.
    """

    key: str
    info: FieldInfo
    setting: Setting
    section: str = ""

    @property
    def about(self) -> str:
        """What it is, in one line."""
        return " ".join((self.info.description or "").split())

    @property
    def words(self) -> tuple[str, ...]:
        """All words it may be; none where it may be something else."""
        kinds = [kind for kind in _kinds(self.info.annotation) if kind is not type(None)]
        if any(get_origin(kind) is not Literal for kind in kinds):
            return ()
        return tuple(word for kind in kinds for word in get_args(kind))

    @property
    def bounds(self) -> tuple[str, ...]:
        """What a number must be, in words."""
        return tuple(
            f"{words} {getattr(limit, name):g}"
            for limit in self.info.metadata
            for name, words in _BOUNDS.items()
            if hasattr(limit, name)
        )

    @property
    def number(self) -> bool:
        """Whether it is a number and nothing else."""
        kinds = {kind for kind in _kinds(self.info.annotation) if kind is not type(None)}
        return len(kinds) == 1 and kinds <= {int, float}

    def takes(self, kind: type) -> bool:
        """Whether a value of this type is among those it takes."""
        return kind in _kinds(self.info.annotation)


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The types of a union, or the one there is."""
    plain = get_origin(annotation) in (None, Literal, tuple)
    return (annotation,) if plain else get_args(annotation)


def settings_in(
    group: type[BaseModel], name: str = "", around: Setting | None = None, about: str = ""
) -> Iterator[Declared]:
    """The settings of a group in the order of its fields, those of the groups inside it included.

    Args:
        name: the group's dotted key.
        around: what the group itself declares.
        about: description of the group.
    """
    for field, info in group.model_fields.items():
        key = f"{name}.{field}" if name else field
        setting = setting_of(info).within(field, around or Setting(), name.rsplit(".", 1)[-1])
        if is_section(kind := info.annotation):
            yield from settings_in(kind, key, setting, info.description or "")
        else:
            yield Declared(key, info, setting, about)


def is_section(annotation: Any) -> TypeGuard[type[BaseModel]]:
    """Whether a field holds a group of settings."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


@cache
def own_settings() -> dict[str, Declared]:
    """By key, the settings that belong to no backend and no benchmark."""
    return {found.key: found for found in settings_in(RunConfig)}


def every_setting() -> dict[str, Declared]:
    """By key, all settings but those of benchmarks; sections of backends end the group `model`."""
    own = own_settings()
    model = {key: found for key, found in own.items() if key.startswith("model.")}
    return {**model, **backend_settings(), **own}


def backend_settings() -> dict[str, Declared]:
    """By key, the settings in sections of installed backends."""
    return {
        found.key: found
        for spec in sound_backends()
        if spec.options
        for found in settings_in(
            spec.options, f"model.{spec.name}", about=f"Settings of the backend `{spec.name}`."
        )
    }


def declared(key: str) -> Declared | None:
    """A setting by its key; None for one that is not known, such as a benchmark's own.

    Raises:
        ConfigError: it lies in the section of a backend whose plug-in is broken.
    """
    found = own_settings().get(key)
    section, _, inside = key.partition(".")
    backend = inside.partition(".")[0]
    if found or section != "model" or not (options := backend_options(backend)):
        return found
    return {d.key: d for d in settings_in(options, f"model.{backend}")}.get(key)


@cache
def own_flags() -> dict[str, Declared]:
    """By flag, the settings of `own_settings` that have one, in the order of the help pages."""
    flagged = [found for found in own_settings().values() if found.setting.flag]
    return {f.setting.flag: f for f in sorted(flagged, key=lambda found: found.setting.order)}


def live_settings() -> list[str]:
    """The keys of what may be changed while a run works."""
    return [key for key, found in own_settings().items() if found.setting.live]


@dataclass(frozen=True, slots=True)
class PluginFlag:
    """A flag that a backend or the benchmark of own tasks declares.

    Attributes:
        plugin: what it is of, for people.
        of_roles: whether it sets a setting of each role that the backend plays, rather than one in
            the backend's own section.
    """

    flag: str
    plugin: str
    declared: Declared
    of_roles: bool

    @property
    def about(self) -> str:
        """What the setting is, in a sentence."""
        return self.declared.setting.brief or re.split(r"(?<=[a-z)])\. ", self.declared.about)[0]


def plugin_flags() -> dict[str, PluginFlag]:
    """By flag, those of own tasks, then those of installed backends in the order of their names."""
    found = dict(own_task_flags())
    for spec in sound_backends():
        for setting, flag in spec.flags.items():
            one = Declared(f"model.{setting}", RoleConfig.model_fields[setting], Setting(flag=flag))
            found[flag] = PluginFlag(flag, spec.name, one, of_roles=True)
        for inside in settings_in(spec.options, f"model.{spec.name}") if spec.options else ():
            if flag := inside.setting.flag:
                found[flag] = PluginFlag(flag, spec.name, inside, of_roles=False)
    return found


@cache
def own_task_flags() -> dict[str, PluginFlag]:
    """By flag, the settings of the benchmark of own tasks that have one."""
    options = load_benchmark(OWN_TASKS).options
    found = settings_in(options, "env") if options else ()
    return {
        one.setting.flag: PluginFlag(one.setting.flag, "own tasks", one, of_roles=False)
        for one in found
        if one.setting.flag
    }


def flag_of(key: str) -> str:
    """The flag of a setting; empty where it has none."""
    found = own_settings().get(key)
    if found is None and key.startswith("env."):
        return next((f.flag for f in own_task_flags().values() if f.declared.key == key), "")
    found = found or backend_settings().get(key)
    return found.setting.flag if found else ""


def known_keys() -> list[str]:
    """Every documented key, dotted."""
    return list(every_setting())
