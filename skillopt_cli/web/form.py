"""The form of a new run: its fields, made from the configuration's schema. Pure.

A field that is left empty is unset, as everywhere in the configuration; what is typed goes to
the run letter by letter, as behind `--set`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from skillopt_cli.compose.endpoints import ROLES, SET_ADDRESS, WITHOUT_KEY
from skillopt_cli.compose.own_tasks import TASKS, as_argument, inferred_reason
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config import RunConfig
from skillopt_cli.config.declarations import (
    Declared,
    declared,
    every_setting,
    own_flags,
    own_settings,
    own_task_flags,
)
from skillopt_cli.config.layers import assignment_layers, typed
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import BACKENDS, OWN_TASKS, names

Kind = Literal["text", "number", "truth", "choice"]

RUN_ID = "run_id"
BENCHMARK = "benchmark"
OWN_FILE = "own file"
"""In the place of a benchmark's name: a file of own tasks. No plug-in has a name with a space."""
OWN_FIELDS = (
    *("env.data_path", "env.answer_key", "env.prompt_key", "env.context_key", "env.scorer"),
)
"""The settings beside the field of the benchmark: the file of own tasks, and how it is read."""
SOURCE = "the form"
"""Where what was typed comes from."""
PREFIX = "set:"
"""Before the key of a setting in the name of its field."""
SHARED = ("model.backend", "model.base_url")
"""Settings without a flag that nearly every run needs, shown with those that have one."""
TITLES: Mapping[str, str] = {
    RUN_ID: "Run id",
    "preset": "Preset",
    "train.num_epochs": "Epochs",
    "train.batch_size": "Tasks per step",
    "train.train_size": "Train tasks",
    "optimizer.lr_scheduler": "Schedule of the learning rate",
    "optimizer.lr_control_mode": "Who sets the learning rate",
    "optimizer.use_slow_update": "Slow update",
    "optimizer.use_meta_skill": "Notes of the optimizer",
    "optimizer.verify": "Try edits before the gate",
    "evaluation.patience": "Stop after steps without a gain",
    "evaluation.use_gate": "Gate",
    "evaluation.sel_env_num": "Selection tasks",
    "evaluation.test_env_num": "Test tasks",
    "evaluation.eval_test": "Measure the test split",
    "evaluation.eval_no_skill": "Measure without a skill, too",
    "run.workers": "Attempts at a time",
    "run.max_concurrency": "Calls at a time, per provider",
    "run.max_usd": "Most US dollars",
    "run.max_calls": "Most calls",
    "run.max_tokens": "Most tokens",
    "run.max_rollouts": "Most rollouts",
    "run.max_minutes": "Most minutes",
    "run.require_improvement": "Fail without an improvement",
    "env.skill_init": "Seed skill",
    "env.from_scratch": "Start from an empty skill",
    "env.split_dir": "Folder of the splits",
    "env.data_path": "Task file",
    "env.answer_key": "Answer column",
    "env.prompt_key": "Prompt column",
    "env.context_key": "Context column",
}
"""Labels of settings whose key is no plain name."""
_DOTTED = r"[a-z_]+(?:\.[a-z0-9_]+)+"
_KEY = re.compile(rf"{_DOTTED}\Z")
_ASSIGNED = re.compile(rf"`({RUN_ID}|preset|{_DOTTED})=([^`]*)`")
_MENTIONED = re.compile(rf"`({RUN_ID}|{_DOTTED})`|(?<![\w./-])({_DOTTED})(?![\w/=-]|\.\w)")
_EMPTY = re.compile(r"; empty takes [^.]*")
_STATES_EMPTY = re.compile(r"; empty |; unset\b|\bUnset (?:it|takes)\b|\bwhen unset\b|\(unset\)")
_NAMED = re.compile(rf"`({_DOTTED}|{RUN_ID})[`=]")


def title_of(key: str) -> str:
    """The label of a setting's field, in plain words."""
    *sections, name = key.split(".")
    if key in TITLES:
        return TITLES[key]
    if name == "name" and sections[-1] in (*ROLES, "judge"):
        name = "model"
    # A message has the label without its group.
    words = " ".join([*sections[1:], name])
    return words.replace("_", " ").replace("lr ", "learning rate ").capitalize()


@dataclass(frozen=True, slots=True)
class Field:
    """A setting.

    Attributes:
        bounds: what a number must be, in words: `A whole number, at least 1`.
        choices: all it may be, none where that is not known.
    """

    key: str
    kind: Kind
    help: str
    bounds: str = ""
    choices: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its label in plain words."""
        return title_of(self.key)

    @property
    def states_empty(self) -> bool:
        """Whether its help states what it means to leave it empty."""
        return bool(_STATES_EMPTY.search(self.help))

    @property
    def help_filled(self) -> str:
        """Its help where a file, a preset or a benchmark decides what it is when left empty."""
        return _EMPTY.sub("", self.help)


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
        benchmark: its name, or `OWN_FILE`.
        settings: by dotted key, letter by letter; nothing for fields left empty.
    """

    benchmark: str
    preset: str
    run_id: str
    settings: Mapping[str, str]

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Given:
        """What is in a form that was sent, or in an address.

        As in a shell, tasks without a benchmark are a file of own tasks.
        """
        keys = {name.removeprefix(PREFIX): name for name in values if name.startswith(PREFIX)}
        settings = {
            key: values[name].strip()
            for key, name in sorted(keys.items())
            if values[name].strip() and _KEY.match(key) and not is_decided(key)
        }
        said = {name: values.get(name, "").strip() for name in (BENCHMARK, "preset", RUN_ID)}
        if not said[BENCHMARK] and any(key in settings for key in TASKS):
            said[BENCHMARK] = OWN_FILE
        return cls(said[BENCHMARK], said["preset"], said[RUN_ID], settings)

    @classmethod
    def like(
        cls,
        values: Mapping[str, Any],
        sources: Mapping[str, Any],
        empty: Mapping[str, Any],
        preset: str = "",
    ) -> Given:
        """The form of a run: what is not so where it is left empty. What was inferred stays so.

        Args:
            values: the settings of the run, by dotted key.
            sources: where they come from, as far as that is known.
            empty: the values of empty fields, with the preset.
            preset: that of the run.
        """
        inferred = {key for key, source in sources.items() if inferred_reason(str(source))}
        own = values.get("env.name") == OWN_TASKS and inferred
        changed = {
            f"{PREFIX}{key}": as_typed(key, value)
            for key, value in values.items()
            if key not in inferred and value not in (None, {}) and value != empty.get(key)
        }
        benchmark = OWN_FILE if own else str(values.get("env.name", ""))
        return cls.of({BENCHMARK: benchmark, "preset": preset, **changed})

    @property
    def name(self) -> str:
        """The name of the benchmark; empty where none is chosen."""
        return OWN_TASKS if self.benchmark == OWN_FILE else self.benchmark

    @property
    def tasks(self) -> str:
        """The setting that names the file of own tasks; empty where there is none."""
        own = TASKS if self.benchmark == OWN_FILE else ()
        return next((key for key in own if key in self.settings), "")

    @property
    def argument(self) -> str:
        """The argument BENCHMARK in a shell; empty where there is nothing to run on."""
        if self.tasks:
            return as_argument(self.settings[self.tasks])
        return "" if self.benchmark == OWN_FILE else self.benchmark

    @property
    def assignments(self) -> tuple[str, ...]:
        """The settings as behind `--set`, without the one that is the argument."""
        return tuple(f"{key}={text}" for key, text in self.settings.items() if key != self.tasks)

    @property
    def mark(self) -> str:
        """The same for forms that are filled in alike."""
        told = [self.benchmark, self.preset, self.run_id, [*self.settings.items()]]
        return sha256(json.dumps(told).encode()).hexdigest()

    def without(self, *keys: str) -> Given:
        """The same with some settings unset."""
        kept = {name: text for name, text in self.settings.items() if name not in keys}
        return replace(self, settings=kept)

    def overrides(self, root: Path, roles: tuple[Role, ...] = ROLES) -> Overrides:
        """The same as from the command line; `roles` must be reachable."""
        return Overrides(
            benchmark=self.argument,
            preset=self.preset,
            flags={"env.out_root": str(root), "run.display": "plain"},
            layers=assignment_layers(self.assignments, SOURCE),
            roles=roles,
        )

    def command(self, root: Path, run_id: str = "") -> list[str]:
        """The arguments of `skillopt` that train so. No text can be taken for another option."""
        arguments = ["train", self.argument]
        if self.preset:
            arguments.append(f"--preset={self.preset}")
        flags = {found.declared.key: flag for flag, found in own_task_flags().items()}
        for assignment in self.assignments:
            key, _, text = assignment.partition("=")
            arguments.append(f"{flags[key]}={text}" if key in flags else f"--set={assignment}")
        if run_id or self.run_id:
            arguments.append(f"--run-id={run_id or self.run_id}")
        return [*arguments, f"--out-root={root}", "--display=plain"]


def as_typed(key: str, value: object) -> str:
    """The text that is read as this value of a setting; in quotes where it would be another one."""
    found = declared(key)
    if found is not None and value in found.words:
        return str(value)
    if found is not None and isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if typed(key, text) == value else json.dumps(value, ensure_ascii=False)


def own_fields() -> tuple[Field, ...]:
    """The settings of `OWN_FIELDS`."""
    found = own_settings() | {f.declared.key: f.declared for f in own_task_flags().values()}
    return tuple(_field(found[key]) for key in OWN_FIELDS)


def first_fields() -> tuple[Field, ...]:
    """The other settings that are mostly set: `SHARED`, then those with a flag, in its order."""
    shown = [own_settings()[key] for key in SHARED]
    shown += [found for found in own_flags().values() if found.setting.in_form]
    return tuple(_field(found) for found in shown if found.key not in OWN_FIELDS)


def is_decided(key: str) -> bool:
    """Whether the page decides a setting, such as the benchmark, which has a field of its own."""
    found = own_settings().get(key)
    return found is not None and not found.setting.in_form


def other_groups(options: Iterable[str], given: Given) -> list[Group]:
    """All other settings.

    Args:
        options: the benchmark's own keys of `env`.
    """
    fields: dict[tuple[str, str], list[Field]] = {}
    for found in sorted(every_setting().values(), key=lambda found: _depth(found.key)):
        first = found.key in SHARED or (found.setting.flag and found.key in own_settings())
        if found.setting.in_form and not first:
            group = found.key.rpartition(".")[0], found.section
            fields.setdefault(group, []).append(_field(found))
    # What was typed for another benchmark stays to be seen, and can be taken out.
    left = {key for key in given.settings if key.startswith("env.")}
    own = sorted({*(f"env.{name}" for name in options), *left} - {*every_setting(), *OWN_FIELDS})
    about = f"Of the benchmark {given.name}." if given.name else ""
    groups = []
    for (key, said), shown in fields.items():
        added = [Field(name, "text", about) for name in own] if key == "env" else []
        groups.append(Group(key, said, (*shown, *added)))
    return groups


def _depth(key: str) -> tuple[int, int]:
    """Places a group's own settings before those of the groups inside it."""
    sections = list(RunConfig.model_fields)
    return sections.index(key.partition(".")[0]), key.count(".") > 1


def keys_in(text: str) -> list[str]:
    """The settings that an error or its hint names, in order."""
    return _NAMED.findall(text)


def in_fields(hint: str) -> str:
    """A hint in terms of the form, with the labels of its fields instead of keys and commands."""
    hint = hint.replace(SET_ADDRESS, 'fill in "Base url", or choose a "Backend" that needs none')
    hint = hint.replace(WITHOUT_KEY, 'the backends "local" and "simulated" need no key')
    return in_labels(_ASSIGNED.sub(_as_field, hint))


def in_labels(message: str) -> str:
    """A message that names the settings of the form by their labels, in quotes."""
    return _MENTIONED.sub(_as_label, message)


def _as_field(found: re.Match[str]) -> str:
    key, value = found.groups()
    if not _has_field(key):
        return found[0]
    placeholder = value.isupper()
    return f'"{title_of(key)}"' if placeholder else f'"{title_of(key)}" {value}'


def _as_label(found: re.Match[str]) -> str:
    key = found[1] or found[2]
    return f'"{title_of(key)}"' if _has_field(key) else found[0]


def _has_field(key: str) -> bool:
    """Whether the form has a field for it."""
    if key in (RUN_ID, "preset", *OWN_FIELDS):
        return True
    found = every_setting().get(key) or own_settings().get(key)
    return found is not None and found.setting.in_form


def _field(found: Declared) -> Field:
    if found.key.endswith(".backend"):
        return Field(found.key, "choice", found.about, choices=tuple(names(BACKENDS)))
    if found.words:
        return Field(found.key, "choice", found.about, choices=found.words)
    if found.takes(bool):
        return Field(found.key, "truth", found.about, choices=("true", "false"))
    if found.number:
        kind = "number" if found.takes(float) else "whole number"
        bounds = ", ".join([f"A {kind}", " and ".join(found.bounds)]) if found.bounds else ""
        return Field(found.key, "number", found.about, bounds)
    return Field(found.key, "text", found.about)
