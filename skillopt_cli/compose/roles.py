"""The models of a run: settings per role, and the stack of wrappers around each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from pydantic import SecretStr

from skillopt_cli.backends.budget import Budget
from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.backends.metered import Price, free
from skillopt_cli.backends.prices import known, price_of
from skillopt_cli.backends.recorded import Recorded
from skillopt_cli.backends.stack import CallPolicy, stack
from skillopt_cli.backends.taped import Tape, Taped
from skillopt_cli.compose.endpoints import check_plays, own_settings
from skillopt_cli.compose.lanes import Lanes
from skillopt_cli.compose.secrets import names_a_key
from skillopt_cli.compose.settings import backend_name
from skillopt_cli.config import RunConfig
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.config.section import Section
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import ParameterRefused, Role, Stamped
from skillopt_cli.plugins import load_backend
from skillopt_cli.ports import (
    AgentBackend,
    BackendSpec,
    ChatBackend,
    Emit,
    Executor,
    RoleSettings,
    Store,
)
from skillopt_cli.stages import WITH_MODEL, Variants

SECTIONS = (
    "simulated",
    "local",
    "codex_exec",
    "claude_code_exec",
    "command",
    "cursor_exec",
    "copilot_exec",
    "copilot_chat",
)
"""Backends with a section of their own in the configuration."""
DEFAULT_TIMEOUT = 120.0
DEFAULT_MAX_TOKENS = 16384


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a run.

    Attributes:
        optimizer: behind the journal; None when the optimizer needs no model.
        judge: behind the journal; None when the benchmark needs none.
        live: each role's model not behind the journal, to be opened.
        checks: the same models with the few tries of a first check.
        names: what each role is called, for people.
        trial: the target for that check, where it is a program that brings its own model: a call to
            what stands for the model would show nothing.
    """

    target: AgentBackend
    optimizer: ChatBackend | None
    judge: ChatBackend | None
    variants: Variants
    live: Mapping[Role, ChatBackend]
    checks: Mapping[Role, ChatBackend]
    names: Mapping[Role, str]
    trial: AgentBackend | None = None


def role_settings(config: RunConfig, role: Role, environment: Mapping[str, str]) -> RoleSettings:
    """A role's settings, its own values over the shared ones, with the key itself.

    Raises:
        ConfigError: the variable that should hold the key is not set.
    """
    shared, own = config.model, own_settings(config, role)

    def pick(name: str) -> object:
        value = getattr(own, name)
        return getattr(shared, name) if value is None else value

    variable = str(pick("api_key_env") or "")
    if variable and variable not in environment:
        raise _no_key(role, variable)
    backend = backend_name(config, role)
    section = own_section(config, backend)
    honoured = load_backend(backend).honours
    temperature = pick("temperature")
    attempting = role != "optimizer"
    return RoleSettings(
        role=role,
        model=own.name or backend,
        base_url=str(pick("base_url") or ""),
        api_key=SecretStr(environment[variable]) if variable else None,
        # A name that does not look like one of a key might be the key itself, so it is not told.
        key_from=variable if names_a_key(variable) else "",
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


def own_section(config: RunConfig, backend: str) -> Section | None:
    """The section `model.<backend>` of a backend that has one."""
    section = getattr(config.model, backend, None) if backend in SECTIONS else None
    return section if isinstance(section, Section) else None


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


def called(backend: str, model: str) -> str:
    """What a role is called, for people."""
    return f"{backend}/{model}" if model != backend else backend


def declared_offers(spec: BackendSpec) -> frozenset[str]:
    """What a target will offer once it is opened, as far as its backend says so."""
    return spec.offers | {"turns"} if spec.agent is None else spec.offers


def role_spec(config: RunConfig, role: Role) -> BackendSpec:
    """The backend of a role.

    Raises:
        ConfigError: the backend cannot play this role.
    """
    spec = load_backend(backend_name(config, role))
    check_plays(spec, role)
    return spec


@dataclass(frozen=True, slots=True)
class Wiring:
    """What every model of a run shares.

    Attributes:
        lanes: to the models.
        budget: also told what happens to calls.
        executors: where the programs run that play a role; of such roles only.
        tape: takes down which journaled calls are used; None where nobody records them.
    """

    environment: Mapping[str, str]
    lanes: Lanes
    store: Store
    budget: Budget
    executors: Mapping[Role, Executor] = field(default_factory=dict)
    tape: Tape | None = None

    def asked(self, spec: BackendSpec, chat: ChatBackend, settings: RoleSettings) -> ChatBackend:
        """What is asked in a role: the model itself, or the program that has it.

        Raises:
            BackendUnusable: the program lacks what it needs.
        """
        if settings.role == "target" or spec.program_chat is None:
            return chat
        return spec.program_chat(chat, settings, self.executors[settings.role])

    def journaled(self, chat: ChatBackend, role: Role) -> ChatBackend:
        """A role's model behind the journal."""
        recorded = Recorded(chat, self.store)
        return recorded if self.tape is None else Taped(recorded, role, self.tape)


def open_models(config: RunConfig, wiring: Wiring, roles: Iterable[Role]) -> Models:
    """The models of these roles, each within its stack of wrappers; nothing is called yet.

    Raises:
        ConfigError: a backend does not exist or does not fit its role.
        BackendUnusable: a backend lacks what it needs.
    """
    live: dict[Role, ChatBackend] = {}
    checks: dict[Role, ChatBackend] = {}
    names: dict[Role, str] = {}
    agent: AgentBackend | None = None
    trial: AgentBackend | None = None
    variants = WITH_MODEL
    refused = refused_parameters(wiring.store.facts())
    for role in roles:
        spec = role_spec(config, role)
        settings = role_settings(config, role, wiring.environment)
        settings = _negotiating(settings, refused, wiring.budget.tell)
        names[role] = called(spec.name, settings.model)
        if isinstance(spec.stages, Variants) and role == "optimizer":
            variants = spec.stages
        if spec.open is None:
            continue
        price = role_price(config, spec, settings)
        policy = CallPolicy(role, settings.workers, settings.timeout, config.model.retry, price)
        shared = wiring.lanes.to(spec.name, settings)
        backend = spec.open(settings)
        few = replace(policy, retry=first_tries(policy.retry))
        live[role] = wiring.asked(spec, stack(backend, policy, shared), settings)
        checks[role] = wiring.asked(spec, stack(backend, few, shared), settings)
        if role == "target":
            agent = agent_of(spec, wiring.journaled(live[role], role), settings)
            trial = agent_of(spec, checks[role], settings) if spec.networked else None
    if agent is None:
        raise ConfigError(
            f"backend `{backend_name(config, 'target')}` cannot attempt tasks",
            "see `skillopt backends list`",
        )
    asked: dict[Role, ChatBackend] = {
        role: wiring.journaled(chat, role) for role, chat in live.items() if role != "target"
    }
    optimizer, judge = asked.get("optimizer"), asked.get("judge")
    return Models(agent, optimizer, judge, variants, live, checks, names, trial)


def agent_of(spec: BackendSpec, chat: ChatBackend, settings: RoleSettings) -> AgentBackend:
    """The agent that a backend makes of its model, wrapped by now.

    Raises:
        BackendUnusable: it lacks what it needs.
    """
    return ChatAgent(chat) if spec.agent is None else spec.agent(chat, settings)


def role_price(config: RunConfig, spec: BackendSpec, settings: RoleSettings) -> Price:
    """What a call of a role costs.

    Raises:
        ConfigError: there is a cap on money, and nobody knows the price.
    """
    if spec.free:
        return free
    price = partial(
        price_of,
        provider=spec.prices,
        base_url=settings.base_url,
        model=settings.model,
        overrides=config.model.prices,
    )
    if config.run.max_usd is not None and not known(**price.keywords):
        if not own_settings(config, settings.role).name:
            raise ConfigError(
                f"run.max_usd cannot be kept: no model is named for the {settings.role}",
                f"add `model.{settings.role}.name=NAME`",
            )
        raise ConfigError(
            f"run.max_usd cannot be kept: the price of the {settings.role} model"
            f" `{settings.model}` is not known",
            "state it in model.prices, or leave run.max_usd out and count with `run.max_calls=N`",
        )
    return price


def refused_parameters(facts: Iterable[Stamped]) -> frozenset[ParameterRefused]:
    """What models were found not to take, over all processes of a run."""
    return frozenset(f.event for f in facts if isinstance(f.event, ParameterRefused))


def _negotiating(
    settings: RoleSettings, before: frozenset[ParameterRefused], emit: Emit
) -> RoleSettings:
    """The settings with what is known of the model's dislikes; a new one is told once."""
    role, model = settings.role, settings.model
    told = set(before)

    def tell(parameter: str) -> None:
        fact = ParameterRefused(role, model, parameter)
        if fact not in told:
            told.add(fact)
            emit(fact)

    refused = frozenset(f.parameter for f in before if (f.role, f.model) == (role, model))
    return replace(settings, refused=refused, on_refused=tell)


def first_tries(retry: RetryConfig) -> RetryConfig:
    """Retries of a first check: a server that is down is told within seconds, before any work."""
    return RetryConfig(
        max_attempts=min(retry.max_attempts, 3),
        base_seconds=min(retry.base_seconds, 0.5),
        max_seconds=min(retry.max_seconds, 2.0),
        total_seconds=min(retry.total_seconds, 30.0),
    )
