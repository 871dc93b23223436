"""Commands to a running training and its replies: JSON documents, one per line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config

from skillopt_cli.config.validation_messages import fault_words, first_fault
from skillopt_cli.core.errors import SkillOptError, UsageError
from skillopt_cli.core.events.control import PausePoint

LONGEST = 2000
"""Characters of a hint or a reason."""
PAUSE_PLANNED = "the run will pause when the next edits are chosen"
"""What confirms the command of that name."""

_strict = with_config(ConfigDict(extra="forbid"))


@_strict
@dataclass(frozen=True, slots=True)
class Status:
    """Ask for the state of the run."""

    command: Literal["status"] = "status"


@_strict
@dataclass(frozen=True, slots=True)
class Pause:
    """Start no more model calls; `at` "edits" once the next step's edits are chosen."""

    at: PausePoint = "now"
    command: Literal["pause"] = "pause"


@_strict
@dataclass(frozen=True, slots=True)
class Resume:
    """Resume after a pause, or cancel a planned one; `at` "edits" only the latter."""

    at: PausePoint = "now"
    command: Literal["resume"] = "resume"


@_strict
@dataclass(frozen=True, slots=True)
class Stop:
    """Wait for the calls in flight, then stop; the run can be resumed."""

    command: Literal["stop"] = "stop"


@_strict
@dataclass(frozen=True, slots=True)
class Set:
    """Change a limit, such as "run.max_usd", for the rest of the process. "null" removes a cap."""

    key: str
    value: str
    command: Literal["set"] = "set"


@_strict
@dataclass(frozen=True, slots=True)
class Veto:
    """Remove the chosen edit with this number, from 1."""

    number: Annotated[int, Field(ge=1, strict=True)]
    reason: Annotated[str, Field(max_length=LONGEST)] = ""
    command: Literal["veto"] = "veto"


@_strict
@dataclass(frozen=True, slots=True)
class Allow:
    """Take back the vetoes of the chosen edit with this number, from 1."""

    number: Annotated[int, Field(ge=1, strict=True)]
    command: Literal["allow"] = "allow"


@_strict
@dataclass(frozen=True, slots=True)
class Hint:
    """Give the next reflection a hint."""

    text: Annotated[str, Field(max_length=LONGEST)]
    command: Literal["hint"] = "hint"


Command = Status | Pause | Resume | Stop | Set | Veto | Allow | Hint


@dataclass(frozen=True, slots=True)
class ControlReply:
    """The reply to a command: what was done, and the state of the run.

    Attributes:
        said: what was done, in one sentence; empty for `Status`.
        pid: the process id.
        in_flight: model calls in flight.
        paused: where the run is paused, else None.
        planned: whether it pauses when the next edits are chosen.
        stopping: whether it is stopping.
        max_concurrency: current limit on calls in flight per provider.
        caps: current caps, by name.
    """

    said: str
    pid: int
    in_flight: int
    paused: PausePoint | None
    planned: bool
    stopping: bool
    max_concurrency: int
    caps: dict[str, float]


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def read_command(line: bytes) -> Command:
    """Decode the command of a line.

    Raises:
        UsageError: the line is not a command.
    """
    try:
        document = json.loads(line)
        shape = Annotated[Command, Field(discriminator="command")]
        command: Command = _adapter(shape).validate_python(document)
    except ValidationError as error:
        first = first_fault(error)
        place = ".".join(str(part) for part in first["loc"]) or "the command"
        raise UsageError(
            f"{place}{fault_words(first)}", "`skillopt ctl --help` lists the commands"
        ) from None
    except (ValueError, RecursionError):
        raise UsageError(
            "what came over the control socket is no JSON document on one line",
            "use `skillopt ctl`",
        ) from None
    return command


def dump_command(command: Command) -> bytes:
    """Encode a command as a line; lone surrogates become question marks."""
    encodable = {
        name: value.encode(errors="replace").decode() if isinstance(value, str) else value
        for name, value in asdict(command).items()
    }
    return _line(encodable)


def dump_reply(answer: ControlReply) -> bytes:
    """An answer as a line."""
    return _line({"ok": True, **asdict(answer)})


def dump_refusal(error: SkillOptError) -> bytes:
    """Encode the reason of a refused command as a line."""
    return _line({"ok": False, "error": error.message, "hint": error.hint})


def read_reply(line: bytes) -> ControlReply:
    """The answer in a line.

    Raises:
        UsageError: the command was refused.
        ValueError: the line is not a reply.
    """
    document = json.loads(line)
    if isinstance(document, dict) and document.get("ok") is False:
        raise UsageError(str(document.get("error")), str(document.get("hint", "")))
    answer: ControlReply = _adapter(ControlReply).validate_python(document)
    return answer


def _line(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode("ascii") + b"\n"
