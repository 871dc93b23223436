"""What recordings hold of a run's roles, and the models of a run that is replayed from one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from skillopt_cli import __version__
from skillopt_cli.benchmarks.kit.splits import shown_path
from skillopt_cli.compose.endpoints import backend_name, effective
from skillopt_cli.compose.fingerprint import binding, config_drift
from skillopt_cli.compose.roles import (
    DEFAULT_MAX_TOKENS,
    ModelContext,
    Models,
    players_of,
    replayed_models,
    role_spec,
)
from skillopt_cli.config import RunConfig
from skillopt_cli.config.model_section import RoleConfig
from skillopt_cli.config.section import setting_of
from skillopt_cli.core.errors import ConfigError, UsageError
from skillopt_cli.core.events import Degraded, Role, RunStarted
from skillopt_cli.plugins import load_backend
from skillopt_cli.ports import Benchmark
from skillopt_cli.replay.playback import replayed_chats
from skillopt_cli.replay.recording import Header, RecordedRole, read_header
from skillopt_cli.store.journal import Journal


def open_replay(
    config: RunConfig,
    context: ModelContext,
    recording: Path,
    journal: Journal,
    roles: Sequence[Role],
) -> Models:
    """The models of a run as a recording has them, behind the journal that is filled from it.

    Raises:
        ConfigError: the recording is of other models, or the target cannot be replayed.
        DataError: it cannot be read.
    """
    check_replayable(
        config, "take another by `model.target.backend=NAME`, whose calls a recording holds"
    )
    settings = {role: reply_settings(config, role) for role in roles}
    chats = replayed_chats(recording, settings, journal, _changed(recording, config))
    return replayed_models(config, context, chats)


def check_replayable(config: RunConfig, hint: str) -> None:
    """Refuse a target whose calls no recording can hold.

    Args:
        hint: what to do instead.

    Raises:
        ConfigError: its program calls a model of its own.
    """
    target = role_spec(config, "target")
    if target.networked:
        raise ConfigError(
            f"backend `{target.name}` cannot be replayed: its program brings its own model", hint
        )


def refuse_live(folder: Path, begun: RunStarted | None, replay: Path | None) -> None:
    """Refuse to go on with a replay by calling models, which nobody asked for.

    Args:
        begun: the start of the run, where it has one.
        replay: the recording that it is to go on from.

    Raises:
        UsageError: there is none, and the run is a replay.
    """
    if begun is None or not begun.replay or replay is not None:
        return
    recording = shown_path(Path(begun.replay))
    raise UsageError(
        f"{folder} is a replay of {recording}, which is not continued with calls of models",
        f"go on by `skillopt resume {folder} --replay FILE`, begin it again with --replay, or begin"
        " a run of its own without",
    )


def replay_notices(config: RunConfig, recording: Path | None) -> Iterator[Degraded]:
    """That a replay has other settings than the recorded run, which are named with both values."""
    if recording is not None and (changed := _changed(recording, config)):
        words = "; ".join(changed)
        yield Degraded("replay", f"settings differ from those of {recording}: {words}")


def _changed(recording: Path, config: RunConfig) -> list[str]:
    """The settings in which a run differs from the recorded one, those of its models left out."""
    recorded = read_header(recording).settings
    if not recorded:
        return []
    changes = config_drift({"config": recorded}, _run_settings(config))
    return [change.words for change in changes]


def _run_settings(config: RunConfig) -> dict[str, Any]:
    """The settings that can alter a text or a score, without those of models: each role has its."""
    return {key: value for key, value in binding(config).items() if not key.startswith("model.")}


def recording_header(config: RunConfig, models: Models, benchmark: Benchmark) -> Header:
    """The models that answer in this run, and its benchmark."""
    roles: dict[Role, RecordedRole] = {}
    for role, spec in players_of(config, models.names).items():
        chat = models.live.get(role)
        roles[role] = RecordedRole(
            name=chat.name if chat else spec.name,
            fingerprint=chat.fingerprint if chat else "",
            offers=tuple(sorted(chat.offers)) if chat else (),
            settings=reply_settings(config, role),
        )
    name = f"{benchmark.name}/{benchmark.version}"
    return Header(__version__, name, roles, settings=_run_settings(config))


def reply_settings(config: RunConfig, role: Role) -> dict[str, Any]:
    """The effective settings of a role that can alter a reply.

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
    for name in sorted(load_backend(backend).honours):
        reach = setting_of(RoleConfig.model_fields[name]).free_in_replay
        if not reach and (value := effective(config, role, name)) is not None:
            found[name] = value
    if (section := config.model.section(backend)) is None:
        return found
    for name, value in section.model_dump(mode="json").items():
        setting = setting_of(type(section).model_fields[name])
        if not setting.free_in_replay:
            found[f"{backend}.{name}"] = Path(value).name if setting.file else value
    return found
