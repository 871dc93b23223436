"""Plays a recording back: models that answer from it, so that no backend is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skillopt_cli.backends.middleware.recorder import Outcome, RecordedFailures, Replayed
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.replay.recorder import error_of
from skillopt_cli.replay.recording import Ending, RecordedRole, read_calls, read_header
from skillopt_cli.store.journal import Journal

_NAMED = 3
"""Most changed settings that are named."""
ReplySettings = Mapping[str, Any]
"""The settings of a role that can alter a reply, by name."""


def one_at_a_time(config: RunConfig) -> RunConfig:
    """The configuration of a replay: attempts one after the other.

    Attempts that wait for no model end in another order than the recorded ones did, and how many
    are begun before a candidate is rejected depends on that. One after the other begins the fewest,
    all of which the recording holds.
    """
    return config.model_copy(update={"run": config.run.model_copy(update={"workers": 1})})


def replayed_chats(
    source: Path,
    settings: Mapping[Role, ReplySettings],
    journal: Journal,
    changed: Sequence[str] = (),
) -> dict[Role, Replayed]:
    """The chat model of each role as a recording has it; fills the journal with its replies.

    Args:
        settings: of each role that the run calls.
        changed: the other settings in which the run differs from the recorded one.

    Raises:
        ConfigError: the recording is of other models, or lacks a role.
        DataError: it cannot be read.
    """
    roles = read_header(source).roles
    for role, wanted in settings.items():
        _check_equal(source, role, roles.get(role), wanted)
    script = _fill(journal, source, changed)
    return {
        role: Replayed(
            role, roles[role].name, roles[role].fingerprint, frozenset(roles[role].offers), script
        )
        for role in settings
    }


def _check_equal(
    source: Path, role: Role, recorded: RecordedRole | None, wanted: ReplySettings
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
                f"{_assignment(role, name, was)}, or record it again",
            )


def _assignment(role: Role, name: str, value: object) -> str:
    """How to give a setting its recorded value."""
    key = f"model.{name}" if "." in name else f"model.{role}.{name}"
    return f"leave {key} out" if value in (None, "") else f"add `{key}={value}`"


def _fill(journal: Journal, source: Path, changed: Sequence[str]) -> RecordedFailures:
    """Put the recorded replies into the journal; the script of the calls that also failed."""
    outcomes: dict[str, list[Outcome]] = {}
    ending = Ending(0)
    with journal.transaction():
        for call in read_calls(source):
            if isinstance(call, Ending):
                ending = call
            elif call.failures:
                outcomes[call.key] = [error_of(failure) for failure in call.failures]
                outcomes[call.key] += [call.reply] if call.reply else []
            elif call.reply is not None:
                journal.remember_call(call.key, call.reply)
    return RecordedFailures(str(source), outcomes, _hint(ending, changed), _changes(changed))


def _changes(changed: Sequence[str]) -> str:
    """The changed settings in a clause, the first three; empty where none did."""
    if not changed:
        return ""
    others = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    return f", and settings changed since: {'; '.join(changed[:_NAMED])}{others}"


def _hint(ending: Ending, changed: Sequence[str]) -> str:
    """Why a call may be missing, the likeliest reason first."""
    why = "a prompt, the skill, the data or a setting changed since: record it again"
    if changed:
        why = "give the settings their recorded values, or record it again"
    if ending.ended_early:
        return f"the recorded run ended early ({ending.ended_early}), or {why}"
    return why
