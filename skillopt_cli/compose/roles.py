"""The models of a run: settings per role, and the stack of wrappers around each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import SecretStr

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.backends.doors import Doors, Guarded
from skillopt_cli.backends.recorded import Recorded
from skillopt_cli.backends.stack import CallPolicy, stack
from skillopt_cli.compose.secrets import names_a_key
from skillopt_cli.compose.settings import ROLES, backend_name
from skillopt_cli.config import RunConfig
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import load_backend
from skillopt_cli.ports import (
    AgentBackend,
    BackendSpec,
    ChatBackend,
    Emit,
    RoleSettings,
    Store,
)
from skillopt_cli.stages import WITH_MODEL, Variants

DEFAULT_TIMEOUT = 120.0
DEFAULT_MAX_TOKENS = 16384


@dataclass(frozen=True, slots=True)
class Models:
    """The two roles of a run.

    Attributes:
        optimizer: behind the journal; None when the optimizer needs no model.
        live: each role's model not behind the journal, to be opened.
        checks: the same models with the few tries of a first check.
        names: what each role is called, for people.
    """

    target: AgentBackend
    optimizer: ChatBackend | None
    variants: Variants
    live: Mapping[Role, ChatBackend]
    checks: Mapping[Role, ChatBackend]
    names: Mapping[Role, str]


def role_settings(config: RunConfig, role: Role, environment: Mapping[str, str]) -> RoleSettings:
    """A role's settings, its own values over the shared ones, with the key itself.

    Raises:
        ConfigError: the variable that should hold the key is not set.
    """
    shared, own = config.model, getattr(config.model, role)

    def pick(name: str) -> object:
        value = getattr(own, name)
        return getattr(shared, name) if value is None else value

    variable = str(pick("api_key_env") or "")
    if variable and variable not in environment:
        raise _no_key(role, variable)
    backend = backend_name(config, role)
    section = getattr(shared, backend, None) if backend in ("simulated", "local") else None
    honoured = load_backend(backend).honours
    temperature = pick("temperature")
    attempting = role == "target"
    return RoleSettings(
        role=role,
        model=own.name or backend,
        base_url=str(pick("base_url") or ""),
        api_key=SecretStr(environment[variable]) if variable else None,
        temperature=float(temperature) if isinstance(temperature, float | int) else None,
        reasoning_effort=str(pick("reasoning_effort") or ""),
        max_completion_tokens=int(str(pick("max_completion_tokens") or DEFAULT_MAX_TOKENS)),
        timeout=float(str(pick("timeout") or DEFAULT_TIMEOUT)),
        workers=config.run.workers if attempting else config.gradient.analyst_workers,
        seed=config.train.seed,
        options={
            **(section.model_dump() if section is not None else {}),
            **{name: value for name in sorted(honoured) if (value := pick(name)) is not None},
        },
        environment=environment,
    )


def _no_key(role: Role, variable: str) -> ConfigError:
    # A name that does not look like one of a key might be the key itself, so it is not shown.
    if names_a_key(variable):
        return ConfigError(
            f"the variable {variable}, which should hold the {role}'s key, is not set",
            f"export {variable}=..., or write it into .env",
        )
    return ConfigError(
        f"the variable named by api_key_env for the {role} is not set",
        "export it, or write it into .env; `skillopt config show` shows its name",
    )


def role_spec(config: RunConfig, role: Role) -> BackendSpec:
    """The backend of a role.

    Raises:
        ConfigError: the backend cannot play this role.
    """
    spec = load_backend(backend_name(config, role))
    if role not in spec.roles:
        raise ConfigError(
            f"backend `{spec.name}` cannot be the {role}",
            f"it plays {', '.join(sorted(spec.roles))}; see `skillopt backends list`",
        )
    return spec


@dataclass(frozen=True, slots=True)
class Wiring:
    """What every model of a run shares."""

    environment: Mapping[str, str]
    doors: Doors
    store: Store
    emit: Emit


def open_models(config: RunConfig, wiring: Wiring, *, with_optimizer: bool) -> Models:
    """The models of a run, each within its stack of wrappers; nothing is called yet.

    Raises:
        ConfigError: a backend does not exist or does not fit its role.
        BackendUnusable: a backend lacks what it needs.
    """
    ceilings: dict[tuple[str, str], asyncio.Semaphore] = {}
    live: dict[Role, ChatBackend] = {}
    checks: dict[Role, ChatBackend] = {}
    names: dict[Role, str] = {}
    agent: AgentBackend | None = None
    variants = WITH_MODEL
    for role in ROLES:
        if role == "optimizer" and not with_optimizer:
            continue
        spec = role_spec(config, role)
        settings = role_settings(config, role, wiring.environment)
        names[role] = f"{spec.name}/{settings.model}" if settings.model != spec.name else spec.name
        if isinstance(spec.stages, Variants) and role == "optimizer":
            variants = spec.stages
        if spec.open is None:
            continue
        place = (spec.name, settings.base_url)
        ceiling = ceilings.setdefault(place, asyncio.Semaphore(config.run.max_concurrency))
        policy = CallPolicy(role, settings.workers, settings.timeout, config.model.retry)
        guarded = Guarded(spec.open(settings), wiring.doors)
        live[role] = stack(guarded, policy, ceiling, wiring.emit)
        few = replace(policy, retry=first_tries(policy.retry))
        checks[role] = stack(guarded, few, ceiling, wiring.emit)
        if role == "target":
            agent = (spec.agent or ChatAgent)(Recorded(live[role], wiring.store))
    if agent is None:
        raise ConfigError(
            f"backend `{backend_name(config, 'target')}` cannot attempt tasks",
            "see `skillopt backends list`",
        )
    optimizer = Recorded(live["optimizer"], wiring.store) if "optimizer" in live else None
    return Models(agent, optimizer, variants, live, checks, names)


def first_tries(retry: RetryConfig) -> RetryConfig:
    """Retries of a first check: a server that is down is told within seconds, before any work."""
    return RetryConfig(
        max_attempts=min(retry.max_attempts, 3),
        base_seconds=min(retry.base_seconds, 0.5),
        max_seconds=min(retry.max_seconds, 2.0),
        total_seconds=min(retry.total_seconds, 30.0),
    )
