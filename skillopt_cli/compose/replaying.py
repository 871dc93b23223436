"""Replaying a run: its models are what a recording says, and no backend is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt_cli.backends.recorded import Recorded
from skillopt_cli.backends.replayed import Outcome, Replayed, Script
from skillopt_cli.compose.endpoints import backend_name, effective
from skillopt_cli.compose.roles import (
    DEFAULT_MAX_TOKENS,
    Models,
    agent_of,
    called,
    own_section,
    role_settings,
    role_spec,
)
from skillopt_cli.config import RunConfig
from skillopt_cli.core import errors
from skillopt_cli.core.errors import BackendError, ConfigError, RequestRefused
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import load_backend
from skillopt_cli.ports import ChatBackend, RoleSettings, Store
from skillopt_cli.stages import WITH_MODEL, Variants
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.recording import (
    Ending,
    Failure,
    RecordedRole,
    read_calls,
    read_header,
)

ADDRESS = frozenset({
    "api_version",
    "auth_mode",
    "ad_scope",
    "managed_identity_client_id",
    "region",
})
"""Settings that say where and how a model is reached, not what it answers."""
MACHINE = frozenset({
    "auth_failure",
    "hangs",
    "latency_ms",
    "parallel",
    "path",
    "permanent_failure_rate",
    "rate_limit_rate",
    "server_error_rate",
    "threads",
    "timeout",
    "variables",
})
"""Settings of a backend's own section that alter no reply, only whether and when there is one."""


def one_at_a_time(config: RunConfig) -> RunConfig:
    """The configuration of a replay: attempts one after the other.

    Attempts that wait for no model end in another order than the recorded ones did, and how many
    are begun before a candidate is rejected depends on that. One after the other begins the fewest,
    all of which the recording holds.
    """
    return config.model_copy(update={"run": config.run.model_copy(update={"workers": 1})})


@dataclass(frozen=True, slots=True)
class Replay:
    """What a run is replayed from.

    Attributes:
        environment: where the programs of agents are looked for.
    """

    source: Path
    environment: Mapping[str, str]


def replayed_models(
    config: RunConfig, replay: Replay, journal: Journal, store: Store, wanted: Sequence[Role]
) -> Models:
    """The models of a run as a recording has them, behind the journal that is filled from it.

    Raises:
        ConfigError: the recording is of other models, or lacks a role.
        DataError: it cannot be read.
    """
    source = replay.source
    recorded = read_header(source).roles
    specs = {role: role_spec(config, role) for role in wanted}
    for role in wanted:
        _refuse_others(source, role, recorded.get(role), counting_settings(config, role))
    if specs["target"].networked:
        raise ConfigError(
            f"backend `{specs['target'].name}` cannot be replayed: its program brings its"
            " own model",
            "take another by `model.target.backend=NAME`, whose calls a recording holds",
        )
    script = _filled(source, journal)
    chats: dict[Role, ChatBackend] = {}
    for role in wanted:
        if specs[role].open is not None:
            said = recorded[role]
            offers = frozenset(said.offers)
            chats[role] = Recorded(
                Replayed(role, said.name, said.fingerprint, offers, script), store
            )
    if "target" not in chats:
        raise ConfigError(
            f"backend `{backend_name(config, 'target')}` cannot attempt tasks",
            "see `skillopt backends list`",
        )
    settings = _without_a_key(config, replay.environment)
    agent = agent_of(specs["target"], chats["target"], settings)
    stages = specs["optimizer"].stages if "optimizer" in specs else None
    variants = stages if isinstance(stages, Variants) else WITH_MODEL
    names = {role: called(specs[role].name, recorded[role].settings["name"]) for role in wanted}
    return Models(agent, chats.get("optimizer"), chats.get("judge"), variants, {}, {}, names)


def _without_a_key(config: RunConfig, environment: Mapping[str, str]) -> RoleSettings:
    """The target's settings, without the key that a replay does not need."""
    keyless = config.model.target.model_copy(update={"api_key_env": ""})
    model = config.model.model_copy(update={"target": keyless})
    return role_settings(config.model_copy(update={"model": model}), "target", environment)


def counting_settings(config: RunConfig, role: Role) -> dict[str, Any]:
    """The settings of a role that can alter a reply, as they count: its own over the shared ones.

    Where the model is reached is left out: a replay needs no address.
    """
    backend = backend_name(config, role)
    found: dict[str, Any] = {
        "backend": backend,
        "name": effective(config, role, "name") or backend,
        "temperature": effective(config, role, "temperature"),
        "reasoning_effort": effective(config, role, "reasoning_effort") or "",
        "max_completion_tokens": effective(config, role, "max_completion_tokens")
        or DEFAULT_MAX_TOKENS,
    }
    for name in sorted(load_backend(backend).honours - ADDRESS):
        if (value := effective(config, role, name)) is not None:
            found[name] = value
    section = own_section(config, backend)
    for name, value in (section.model_dump(mode="json") if section else {}).items():
        if name not in MACHINE:
            found[f"{backend}.{name}"] = Path(value).name if name == "model_path" else value
    return found


def failure_of(error: BackendError) -> Failure:
    """A failed call as it is recorded: by the nearest of the program's own kinds of error."""
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return Failure(kind.__name__, error.message, error.hint)


def error_of(failure: Failure) -> BackendError:
    """The error to raise in the place of a recorded failure."""
    kind = getattr(errors, failure.error, None)
    if isinstance(kind, type) and issubclass(kind, BackendError):
        return kind(failure.message, failure.hint)
    return RequestRefused(failure.message, failure.hint)


def _refuse_others(
    source: Path, role: Role, recorded: RecordedRole | None, wanted: Mapping[str, Any]
) -> None:
    if recorded is None:
        raise ConfigError(
            f"{source} holds no calls of the {role}",
            "it was made by `skillopt eval`; a training is replayed from one made by"
            " `skillopt train`",
        )
    names = [*recorded.settings, *(name for name in wanted if name not in recorded.settings)]
    for name in names:
        was, now = recorded.settings.get(name), wanted.get(name)
        if was != now:
            raise ConfigError(
                f"{source} was recorded with {name} {was!r} of the {role}, not {now!r}",
                f"{_said_again(role, name, was)}, or record it anew",
            )


def _said_again(role: Role, name: str, value: object) -> str:
    """How to ask for a recorded setting."""
    key = f"model.{name}" if "." in name else f"model.{role}.{name}"
    return f"leave {key} out" if value in (None, "") else f"add `{key}={value}`"


def _filled(source: Path, journal: Journal) -> Script:
    """Put the recorded replies into the journal; what also failed is left to be said in order."""
    outcomes: dict[str, list[Outcome]] = {}
    ending = Ending(0)
    with journal.filling():
        for call in read_calls(source):
            if isinstance(call, Ending):
                ending = call
            elif call.failures:
                outcomes[call.key] = [error_of(failure) for failure in call.failures]
                outcomes[call.key] += [call.reply] if call.reply else []
            elif call.reply is not None:
                journal.remember_call(call.key, call.reply)
    return Script(str(source), outcomes, _why(ending))


def _why(ending: Ending) -> str:
    """Why a call may be missing, the likeliest reason first."""
    changed = "a prompt, the skill, the data or a setting changed since: record it anew"
    if ending.ended_early:
        return f"the recorded run ended early ({ending.ended_early}), or {changed}"
    if ending.secrets_removed:
        return f"{ending.secrets_removed} of its replies had a secret removed, or {changed}"
    return changed
