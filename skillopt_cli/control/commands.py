"""What may be asked of a run at work, and what it answers: JSON documents, a line each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config

from skillopt_cli.config.wording import fault_words, first_fault
from skillopt_cli.core.errors import SkillOptError, UsageError
from skillopt_cli.core.events.control import PausePoint

LONGEST = 2000
"""Characters of a hint or a reason."""

_STRICT = with_config(ConfigDict(extra="forbid"))


@_STRICT
@dataclass(frozen=True, slots=True)
class Status:
    """Say how things stand."""

    command: Literal["status"] = "status"


@_STRICT
@dataclass(frozen=True, slots=True)
class Pause:
    """Begin no more model calls; `at` "edits" only once the next step's edits are chosen."""

    at: PausePoint = "now"
    command: Literal["pause"] = "pause"


@_STRICT
@dataclass(frozen=True, slots=True)
class Resume:
    """Go on after a pause, or take back one that is planned; `at` "edits" only the latter."""

    at: PausePoint = "now"
    command: Literal["resume"] = "resume"


@_STRICT
@dataclass(frozen=True, slots=True)
class Stop:
    """Let calls in flight end, then stop, resumable."""

    command: Literal["stop"] = "stop"


@_STRICT
@dataclass(frozen=True, slots=True)
class Set:
    """Change a limit, such as "run.max_usd", for the rest of the process. "null" lifts a cap."""

    key: str
    value: str
    command: Literal["set"] = "set"


@_STRICT
@dataclass(frozen=True, slots=True)
class Veto:
    """Strike out the chosen edit with this number, from 1."""

    number: Annotated[int, Field(ge=1, strict=True)]
    reason: Annotated[str, Field(max_length=LONGEST)] = ""
    command: Literal["veto"] = "veto"


@_STRICT
@dataclass(frozen=True, slots=True)
class Hint:
    """Tell the next reflection something."""

    text: Annotated[str, Field(max_length=LONGEST)]
    command: Literal["hint"] = "hint"


Command = Status | Pause | Resume | Stop | Set | Veto | Hint


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run at work says to a command.

    Attributes:
        said: what was done, in one sentence; empty for `Status`.
        pid: its process.
        in_flight: model calls under way.
        paused: where it is held, None while it is not.
        planned: whether it is to pause when edits are chosen.
        stopping: whether it is to stop.
        max_concurrency: most calls in flight per provider, as it is now.
        caps: those that are set now, by name.
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
    """The command in a line.

    Raises:
        UsageError: there is none.
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
    """A command as a line; what no encoding can hold is replaced by question marks."""
    fit = {
        name: value.encode(errors="replace").decode() if isinstance(value, str) else value
        for name, value in asdict(command).items()
    }
    return _line(fit)


def dump_answer(answer: Answer) -> bytes:
    """An answer as a line."""
    return _line({"ok": True, **asdict(answer)})


def dump_refusal(error: SkillOptError) -> bytes:
    """Why a command was not carried out, as a line."""
    return _line({"ok": False, "error": error.message, "hint": error.hint})


def read_answer(line: bytes) -> Answer:
    """The answer in a line.

    Raises:
        UsageError: the command was refused.
        ValueError: the line is no answer.
    """
    document = json.loads(line)
    if isinstance(document, dict) and document.get("ok") is False:
        raise UsageError(str(document.get("error")), str(document.get("hint", "")))
    answer: Answer = _adapter(Answer).validate_python(document)
    return answer


def _line(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode("ascii") + b"\n"
