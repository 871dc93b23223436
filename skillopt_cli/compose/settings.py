"""From what the user said to one configuration: files, variables, flags, in that order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt_cli.compose.secrets import Secrets
from skillopt_cli.config import RunConfig
from skillopt_cli.config.files import benchmark_layers, file_layers, preset_layers
from skillopt_cli.config.layers import (
    DEFAULT,
    ENVIRONMENT,
    Layer,
    Resolved,
    assignment_layers,
    environment_layers,
    resolve,
    suggestion,
)
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import load_backend, load_benchmark

DEFAULT_BACKEND = "openai_compatible"
ROLES: tuple[Role, ...] = ("optimizer", "target")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user said on the command line.

    Attributes:
        flags: settings by dotted key, from dedicated flags.
        assignments: `section.key=value` texts of `--set`.
        roles: roles the command needs; only these must be reachable.
        example: a command that names a benchmark, for who named none.
    """

    benchmark: str = ""
    preset: str = ""
    config: Path | None = None
    flags: Mapping[str, object] = field(default_factory=dict)
    assignments: Sequence[str] = ()
    roles: tuple[Role, ...] = ROLES
    example: str = "skillopt train searchqa"


def settle(wishes: Wishes, environment: Mapping[str, str]) -> Resolved:
    """The effective configuration and the source of each value. `wishes.roles` must be reachable.

    Raises:
        ConfigError: anything about it does not hold.
    """
    own = file_layers(wishes.config) if wishes.config else []
    files = [*(preset_layers(wishes.preset) if wishes.preset else []), *own]
    above = [*environment_layers(environment), *_flag_layers(wishes)]
    named = wishes.benchmark or resolve([*files, *above]).config.env.name
    if wishes.benchmark:
        above.append(Layer("argument BENCHMARK", {"env": {"name": wishes.benchmark}}))
    below = [*benchmark_layers(named), *files]
    draft = resolve([*below, *above])
    if named:
        _check_options(draft)
    elif wishes.roles:
        raise ConfigError(
            "no benchmark is named", f"for example `{wishes.example}`, or env.name in YAML"
        )
    provider = Layer(ENVIRONMENT, dict(_provider_values(draft, environment)))
    settled = resolve([*below, provider, *above])
    Secrets.of(environment, settled.config).refuse(settled)
    _check_seed(settled)
    _check_endpoints(settled.config, wishes.roles)
    return settled


def backend_name(config: RunConfig, role: Role) -> str:
    """The backend of a role: its own, else the shared one, else the default."""
    return getattr(config.model, role).backend or config.model.backend or DEFAULT_BACKEND


def _flag_layers(wishes: Wishes) -> Iterator[Layer]:
    for key, value in wishes.flags.items():
        if value is not None:
            option = FLAG_NAMES.get(key, key)
            section, *rest = key.split(".")
            nested: object = value
            for name in reversed(rest):
                nested = {name: nested}
            yield Layer(f"flag {option}", {section: nested})
    yield from assignment_layers(wishes.assignments)


FLAG_NAMES = {
    "model.optimizer.name": "--optimizer-model",
    "model.target.name": "--target-model",
    "model.optimizer.backend": "--optimizer-backend",
    "model.target.backend": "--target-backend",
    "train.num_epochs": "--epochs",
    "train.batch_size": "--batch-size",
    "train.seed": "--seed",
    "optimizer.learning_rate": "--learning-rate",
    "optimizer.lr_scheduler": "--lr-scheduler",
    "evaluation.patience": "--patience",
    "env.skill_init": "--skill-init",
    "env.from_scratch": "--from-scratch",
    "env.split_dir": "--split-dir",
    "env.out_root": "--out-root",
    "run.workers": "--workers",
    "run.display": "--display",
    "run.require_improvement": "--require-improvement",
}
"""The dedicated flags, by the setting each one stands for."""


def _check_options(draft: Resolved) -> None:
    """Refuse `env` keys the benchmark does not know.

    Raises:
        ConfigError: a key is unknown to it.
    """
    env = draft.config.env
    known = load_benchmark(env.name).options
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


def _check_seed(settled: Resolved) -> None:
    """Refuse two seeds at once, where neither is a default.

    Raises:
        ConfigError: a seed skill is named by as strong a word as an empty one.
    """
    env, sources = settled.config.env, settled.sources
    both = (sources.get("env.skill_init", DEFAULT), sources.get("env.from_scratch", DEFAULT))
    if env.skill_init and env.from_scratch and all(s.startswith("flag") for s in both):
        raise ConfigError(
            "--skill-init and --from-scratch exclude each other", "give one of the two"
        )


def _provider_values(
    draft: Resolved, environment: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """What provider variables say, where nothing stronger (a flag, SKILLOPT_*) has spoken.

    The key's variable is taken only when no layer names one: naming it is already a reference to
    the environment.
    """
    values: dict[str, dict[str, str]] = {}
    for role in ROLES:
        spec = load_backend(backend_name(draft.config, role))
        shared, own = draft.config.model, getattr(draft.config.model, role)
        keyed = own.api_key_env or shared.api_key_env
        values[role] = {
            setting: variable if setting == "api_key_env" else environment[variable].strip()
            for setting, variable in spec.said(role, environment).items()
            if not (keyed if setting == "api_key_env" else _spoken(draft, role, setting))
        }
    yield "model", values


def _spoken(draft: Resolved, role: Role, name: str) -> bool:
    """Whether a flag or a SKILLOPT_ variable sets a value for the role or for both."""
    sources = [
        draft.sources.get(f"model.{role}.{name}", ""),
        draft.sources.get(f"model.{name}", ""),
    ]
    return any(source.startswith(("flag", ENVIRONMENT)) for source in sources)


def _check_endpoints(config: RunConfig, roles: Sequence[Role]) -> None:
    """One clear error before any call when a role has nowhere to go.

    Raises:
        ConfigError: the default backend has neither address nor key, or a role no model.
    """
    for role in roles:
        if backend_name(config, role) != DEFAULT_BACKEND:
            continue
        shared, own = config.model, getattr(config.model, role)
        where = own.base_url or shared.base_url
        if not (where or own.api_key_env or shared.api_key_env):
            raise ConfigError(
                f"no model endpoint is configured for the {role}",
                "set OPENAI_COMPATIBLE_BASE_URL or OPENAI_API_KEY, or try --preset demo",
            )
        if not own.name:
            raise ConfigError(f"no model is named for the {role}", f"add --{role}-model NAME")
