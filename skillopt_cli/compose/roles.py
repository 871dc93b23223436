"""The models of a run: settings per role, and the stack of wrappers around each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pydantic import SecretStr

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.backends.middleware.budget import Budget
from skillopt_cli.backends.middleware.metered import Price, free
from skillopt_cli.backends.middleware.recorder import Cached, CallRecorder, RecordedCalls
from skillopt_cli.backends.middleware.redacting import Redacting
from skillopt_cli.backends.middleware.stack import CallPolicy, stack
from skillopt_cli.backends.prices import known, price_of
from skillopt_cli.backends.rate_limiter.provider_limits import ProviderLimits
from skillopt_cli.compose.endpoints import (
    WITHOUT_KEY,
    backend_name,
    check_plays,
    effective,
    own_settings,
)
from skillopt_cli.compose.secrets import known_secrets, names_a_key
from skillopt_cli.config import RunConfig
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import ParameterRefused, Role
from skillopt_cli.core.secrets import Hide, Secrets
from skillopt_cli.core.task import Task
from skillopt_cli.plugins import load_backend
from skillopt_cli.ports import (
    AgentBackend,
    BackendSpec,
    Benchmark,
    ChatBackend,
    Emit,
    Executor,
    RoleSettings,
    Store,
)
from skillopt_cli.stages import WITH_MODEL, Variants

DEFAULT_TIMEOUT = 120.0
DEFAULT_MAX_TOKENS = 16384
_NO_KEY = SecretStr("none")
"""The key of a model that is not called."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a run.

    Attributes:
        asked: the target's model behind the journal, which the target asks.
        optimizer: behind the journal; None when the optimizer needs no model.
        judge: behind the journal; None when the benchmark needs none.
        live: each role's model not behind the journal, to be opened.
        checks: the same models with the few tries of a first check.
        names: what each role is called, for people.
        trial: the target for that check, where it is a program that brings its own model: a call to
            its stand-in would show nothing.
    """

    target: AgentBackend
    asked: ChatBackend
    optimizer: ChatBackend | None
    judge: ChatBackend | None
    variants: Variants
    live: Mapping[Role, ChatBackend]
    checks: Mapping[Role, ChatBackend]
    names: Mapping[Role, str]
    trial: AgentBackend | None = None


def role_settings(
    config: RunConfig,
    role: Role,
    environment: Mapping[str, str],
    *,
    needs_key: bool = True,
    secrets: Secrets | None = None,
) -> RoleSettings:
    """A role's settings, its own values over the shared ones, with the key itself.

    Args:
        secrets: those of the run; None takes the environment's.
        needs_key: False where no call is made, so that the key may be missing.

    Raises:
        ConfigError: the variable that should hold the key is not set.
    """
    pick = partial(effective, config, role)
    variable = str(pick("api_key_env") or "")
    if needs_key and variable and variable not in environment:
        raise _no_key(role, variable)
    backend = backend_name(config, role)
    section = config.model.section(backend)
    honoured = load_backend(backend).honours
    temperature = pick("temperature")
    attempting = role != "optimizer"
    return RoleSettings(
        role=role,
        model=str(pick("name") or backend),
        base_url=str(pick("base_url") or ""),
        api_key=SecretStr(environment[variable]) if variable in environment else None,
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
        secrets=secrets or known_secrets(environment, config),
    )


def _no_key(role: Role, variable: str) -> ConfigError:
    # A name that does not look like one of a key might be the key itself, so it is not shown.
    if names_a_key(variable):
        return ConfigError(
            f"the variable {variable}, which should hold the {role}'s key, is not set",
            f"export {variable}=..., or write it into .env; {WITHOUT_KEY}",
        )
    return ConfigError(
        f"the variable named by api_key_env for the {role} is not set",
        "export it, or write it into .env; `skillopt config show` shows its name",
    )


def called(backend: str, model: str) -> str:
    """What a role is called, for people."""
    return f"{backend}/{model}" if model != backend else backend


def declared_offers(spec: BackendSpec) -> frozenset[str]:
    """The abilities that a backend declares for its target."""
    return spec.offers | {"turns"} if spec.agent is None else spec.offers


def players_of(config: RunConfig, roles: Iterable[Role]) -> dict[Role, BackendSpec]:
    """The backend of each role; raises as `role_spec` does."""
    return {role: role_spec(config, role) for role in roles}


def optimizer_unsuited(config: RunConfig, benchmark: Benchmark, tasks: Sequence[Task]) -> str:
    """Why the configured optimizer cannot learn from these train tasks; "" where it may."""
    stages = load_backend(backend_name(config, "optimizer")).stages
    unsuited = stages.unsuited if isinstance(stages, Variants) else None
    return unsuited(benchmark, tasks) if unsuited else ""


def role_spec(config: RunConfig, role: Role) -> BackendSpec:
    """The backend of a role.

    Raises:
        ConfigError: the backend cannot play this role.
    """
    spec = load_backend(backend_name(config, role))
    check_plays(spec, role)
    return spec


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What the models of a run share.

    Attributes:
        secrets: of the run.
        hide: hides them, and reports it.
        limits: on calls, by provider.
        budget: also receives what happens to calls.
        executors: where the programs run that play a role; of such roles only.
        recorded: collects the journaled calls that are used; None without a recording.
        refused: parameters that models were found to reject.
        calls: whether the models are called; where they are not, a key may be missing.
    """

    environment: Mapping[str, str]
    secrets: Secrets
    hide: Hide
    limits: ProviderLimits
    store: Store
    budget: Budget
    executors: Mapping[Role, Executor] = field(default_factory=dict)
    recorded: RecordedCalls | None = None
    refused: Sequence[ParameterRefused] = ()
    calls: bool = True

    def asked(self, spec: BackendSpec, chat: ChatBackend, settings: RoleSettings) -> ChatBackend:
        """What is called in a role: the model itself, or the program that has it.

        Raises:
            BackendUnusable: the program lacks what it needs.
        """
        if settings.role != "target" and spec.program_chat is not None:
            chat = spec.program_chat(chat, settings, self.executors[settings.role])
        return Redacting(chat, self.hide)

    def cached(self, chat: ChatBackend, role: Role) -> ChatBackend:
        """A role's model behind the journal."""
        cached = Cached(chat, self.store)
        return cached if self.recorded is None else CallRecorder(cached, role, self.recorded)


def open_models(config: RunConfig, context: ModelContext, roles: Iterable[Role]) -> Models:
    """The models of these roles, each within its middleware; nothing is called yet.

    Raises:
        ConfigError: a backend does not exist or does not fit its role.
        BackendUnusable: a backend lacks what it needs.
    """
    players = players_of(config, roles)
    live: dict[Role, ChatBackend] = {}
    checks: dict[Role, ChatBackend] = {}
    settings: dict[Role, RoleSettings] = {}
    for role, spec in players.items():
        found = _opening(config, role, context)
        found = settings[role] = _negotiating(found, context.refused, context.budget.emit)
        if spec.open is None:
            continue
        price = role_price(config, spec, found)
        retry = config.model.retry
        policy = CallPolicy(role, found.workers, found.timeout, retry, price, backend=spec.name)
        shared = context.limits.for_role(spec.name, found)
        backend = spec.open(found)
        few = replace(policy, retry=first_tries(policy.retry), patient=False)
        live[role] = context.asked(spec, stack(backend, policy, shared), found)
        checks[role] = context.asked(spec, stack(backend, few, shared), found)
    return _models(players, settings, context, live, checks)


def _opening(config: RunConfig, role: Role, context: ModelContext) -> RoleSettings:
    """The settings that a role's model is opened with.

    Raises:
        ConfigError: it is to be called, and the variable that should hold its key is not set.
    """
    secrets, needs_key = context.secrets, context.calls
    found = role_settings(config, role, context.environment, needs_key=needs_key, secrets=secrets)
    # Clients refuse to be made without a key.
    return found if needs_key or found.api_key else replace(found, api_key=_NO_KEY)


def replayed_models(
    config: RunConfig, context: ModelContext, chats: Mapping[Role, ChatBackend]
) -> Models:
    """The models of a run that is replayed: nothing is to be opened or checked.

    Args:
        chats: the model of each role, as a recording has it.

    Raises:
        ConfigError: a backend does not fit its role.
    """
    players = players_of(config, chats)
    settings = {
        role: role_settings(config, role, context.environment, needs_key=False) for role in players
    }
    models = {role: chats[role] for role, spec in players.items() if spec.open is not None}
    return replace(_models(players, settings, context, models, {}), live={}, trial=None)


def _models(
    players: Mapping[Role, BackendSpec],
    settings: Mapping[Role, RoleSettings],
    context: ModelContext,
    live: Mapping[Role, ChatBackend],
    checks: Mapping[Role, ChatBackend],
) -> Models:
    """The models of a run behind its journal.

    Raises:
        ConfigError: the target's backend opens no model.
    """
    target, optimizer = players["target"], players.get("optimizer")
    if "target" not in live:
        raise ConfigError(
            f"backend `{target.name}` cannot attempt tasks", "see `skillopt backends list`"
        )
    cached = {role: context.cached(chat, role) for role, chat in live.items()}
    trial = "target" in checks and target.networked
    stages = optimizer.stages if optimizer else None
    return Models(
        target=agent_of(target, cached["target"], settings["target"]),
        asked=cached["target"],
        optimizer=cached.get("optimizer"),
        judge=cached.get("judge"),
        variants=stages if isinstance(stages, Variants) else WITH_MODEL,
        live=live,
        checks=checks,
        names={role: called(spec.name, settings[role].model) for role, spec in players.items()},
        trial=agent_of(target, checks["target"], settings["target"]) if trial else None,
    )


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


def _negotiating(
    settings: RoleSettings, before: Sequence[ParameterRefused], emit: Emit
) -> RoleSettings:
    """The settings with the parameters that the model refuses; a new one is emitted once."""
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
    """Retries of the preflight: a server that is down is reported within seconds."""
    return RetryConfig(
        max_attempts=min(retry.max_attempts, 3),
        base_seconds=min(retry.base_seconds, 0.5),
        max_seconds=min(retry.max_seconds, 2.0),
        total_seconds=min(retry.total_seconds, 30.0),
    )
