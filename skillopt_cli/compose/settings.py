"""From what the user said to one configuration: files, variables, flags, in that order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from skillopt_cli.compose.endpoints import (
    DEFAULT_BACKEND,
    ROLES,
    backend_layers,
    backend_name,
    check_roles,
    playing,
    provider_layers,
)
from skillopt_cli.compose.flags import flag_layers
from skillopt_cli.compose.secrets import Secrets
from skillopt_cli.config.files import benchmark_layers, file_layers, preset_layers
from skillopt_cli.config.layers import (
    Layer,
    Resolved,
    Strength,
    assignment_layers,
    environment_layers,
    explained,
    resolve,
    suggestion,
)
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import load_benchmark, load_tracker

__all__ = ["DEFAULT_BACKEND", "ROLES", "Wishes", "backend_name", "settle"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user said on the command line.

    Attributes:
        flags: settings by dotted key, from dedicated flags.
        assignments: `section.key=value` texts of `--set`.
        layers: settings from elsewhere, below the flags of the command line where as strong.
        roles: roles the command needs; only these must be reachable.
        example: a command that names a benchmark, for who named none.
    """

    benchmark: str = ""
    preset: str = ""
    config: Path | None = None
    flags: Mapping[str, object] = field(default_factory=dict)
    assignments: Sequence[str] = ()
    layers: Sequence[Layer] = ()
    roles: tuple[Role, ...] = ROLES
    example: str = "skillopt train searchqa"


def settle(wishes: Wishes, environment: Mapping[str, str]) -> Resolved:
    """The effective configuration and the source of each value. `wishes.roles` must be reachable.

    Raises:
        ConfigError: anything about it does not hold.
    """
    own = file_layers(wishes.config) if wishes.config else []
    files = [*(preset_layers(wishes.preset) if wishes.preset else []), *own]
    above = [*environment_layers(environment), *wishes.layers, *_flag_layers(wishes)]
    named = wishes.benchmark or resolve([*files, *above]).config.env.name
    if wishes.benchmark:
        argument = {"env": {"name": wishes.benchmark}}
        above.append(Layer("argument BENCHMARK", argument, Strength.FLAG))
    layers = [*benchmark_layers(named), *files, *above]
    draft = resolve(layers)
    if named:
        _check_options(draft)
    elif wishes.roles:
        raise ConfigError(
            "no benchmark is named", f"for example `{wishes.example}`, or env.name in YAML"
        )
    layers += backend_layers(draft, environment)
    draft = resolve(layers)
    roles = wishes.roles
    judged = named and load_benchmark(named).needs_judge(draft.config.env.options)
    if judged and "target" in roles:
        roles = (*roles, "judge")
    specs = playing(draft, roles)
    layers += provider_layers(draft, environment, specs)
    settled = resolve(layers)
    Secrets.of(environment, settled.config).refuse(settled)
    _check_seed(settled)
    for tracker in settled.config.run.trackers:
        load_tracker(tracker)
    check_roles(settled, specs, roles)
    return settled


def _flag_layers(wishes: Wishes) -> Iterator[Layer]:
    yield from flag_layers(wishes.flags)
    yield from assignment_layers(wishes.assignments)


def _check_options(draft: Resolved) -> None:
    """Refuse `env` keys that the benchmark does not know, and values that cannot be theirs.

    Raises:
        ConfigError: a key is unknown to it, or a value is out of its range.
    """
    env = draft.config.env
    spec = load_benchmark(env.name)
    known = spec.option_names
    for key in env.options:
        if key not in known:
            source = next(
                (s for k, s in draft.sources.items() if f"{k}.".startswith(f"env.{key}.")), ""
            )
            keys = [f"env.{name}" for name in (*type(env).model_fields, *sorted(known))]
            raise ConfigError(
                f"unknown configuration key `env.{key}` ({source}) of benchmark `{env.name}`",
                suggestion(f"env.{key}", keys),
            )
    if spec.options is None:
        return
    try:
        spec.options.model_validate(dict(env.options))
    except ValidationError as error:
        raise explained(error, draft.sources, spec.options) from None


def _check_seed(settled: Resolved) -> None:
    """Refuse two seeds at once, where neither is a default.

    Raises:
        ConfigError: a seed skill is named by as strong a word as an empty one.
    """
    env = settled.config.env
    both = ("env.skill_init", "env.from_scratch")
    if env.skill_init and env.from_scratch and {*map(settled.rank, both)} == {Strength.FLAG}:
        raise ConfigError(
            "`env.skill_init` and `env.from_scratch` exclude each other", "give one of the two"
        )
