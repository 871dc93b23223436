"""Recordings: the model calls of a run in one file, to be replayed elsewhere without any model.

JSON lines: a header, one line per call, and a last line with their number, which a torn file
lacks. Recordings of equal runs are equal byte for byte.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from skillopt_cli.config.validation_messages import fault_words, first_fault
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import Role
from skillopt_cli.core.steering import Steered
from skillopt_cli.core.task import ChatReply
from skillopt_cli.permissions import open_file
from skillopt_cli.safe_files import open_regular
from skillopt_cli.store import codec

SCHEMA = 1
"""The schema this program writes."""
LONGEST_LINE = 1 << 26
"""Bytes of a line, many times those of the largest call."""
_KIND = "skillopt recording"
_HINT = "take an unharmed copy, or record it again with --record"


@dataclass(frozen=True, slots=True)
class RecordedRole:
    """Who answered in a role.

    Attributes:
        settings: those of the role that can alter a reply, by name.
    """

    name: str
    fingerprint: str
    offers: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Header:
    """What a recording is of.

    Attributes:
        skillopt: the version that wrote it.
        benchmark: name and version.
        steering: what a person said while it was recorded that can alter a text.
        settings: those of the run that can alter a text or a score, by dotted key, without those of
            its models; nothing in a recording of an earlier version.
    """

    skillopt: str
    benchmark: str
    roles: Mapping[Role, RecordedRole]
    steering: tuple[Steered, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that failed for good, and which the run went on without; the class of the error."""

    error: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call: its journal key, what it was for where that is known, and what came of it.

    Attributes:
        failures: what came of it before it was answered, if it ever was.
    """

    key: str
    role: Role | None
    stage: str
    reply: ChatReply | None
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """The last line.

    Attributes:
        ended_early: the error that ended the recorded run before its plan; empty when none did.
    """

    calls: int
    ended_early: str = ""


def write_recording(
    path: Path,
    header: Header,
    calls: Iterable[RecordedCall],
    ended_early: str,
    mode: int | None = None,
) -> Ending:
    """Write a recording, in the order of `calls`; the file appears whole or not at all.

    Args:
        mode: permissions of the folder it is written like; None takes the one that it is in.

    Raises:
        DataError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    total = 0
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        descriptor = open_file(temporary, flags, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(_line({"kind": _KIND, "schema": SCHEMA, **asdict(header)}))
            for call in calls:
                file.write(_line(_document(call)))
                total += 1
            ending = Ending(total, ended_early)
            file.write(_line({"end": asdict(ending)}))
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise DataError(
            f"the recording {path} cannot be written: {error.strerror or error}",
            "free disk space or correct its permissions;"
            " `skillopt resume RUN --record FILE` writes it"
            " from the journal",
        ) from error
    return ending


def read_header(path: Path) -> Header:
    """The first line of a recording.

    Raises:
        DataError: there is no such file, it is no recording, or a newer version wrote it.
    """
    return _header(path, next(_lines(path), (1, b""))[1])


def read_calls(path: Path) -> Iterator[RecordedCall | Ending]:
    """The calls of a recording, then its ending.

    Raises:
        DataError: as `read_header`; or a line is no call, or the file is torn. Names the line.
    """
    lines = _lines(path)
    _header(path, next(lines, (1, b""))[1])
    number = 1
    for number, raw in lines:
        document = _object(raw)
        if document is not None and "end" in document:
            ending: Ending = _read(Ending, document["end"], path, number)
            if ending.calls != number - 2 or next(lines, None) is not None:
                raise _fault(path, number, f"it ends a recording of {ending.calls} calls here")
            yield ending
            return
        yield _call(document, path, number)
    raise _fault(path, number, "the recording is torn: its last line is missing")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        # As bytes: a text file would also be split at characters that may stand in a string.
        with open_regular(path) as file:
            number = 0
            while raw := file.readline(LONGEST_LINE):
                number += 1
                if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                    raise _fault(path, number, "it is longer than any call")
                yield number, raw
    except OSError as error:
        raise DataError(
            f"the recording {path} cannot be read: {error.strerror or error}",
            "`skillopt train ... --record FILE` makes one",
        ) from error


def _header(path: Path, raw: bytes) -> Header:
    document = _object(raw)
    if document is None or document.get("kind") != _KIND:
        raise _fault(path, 1, "this is no recording of skillopt")
    schema = document.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise DataError(
            f"the recording {path} has schema {schema}, this version reads up to {SCHEMA}",
            "upgrade skillopt, or use the version that wrote it",
        )
    header: Header = _read(Header, document, path, 1)
    return header


def _call(document: dict[str, Any] | None, path: Path, number: int) -> RecordedCall:
    if document is None:
        raise _fault(path, number, "it is no JSON object, so the recording is torn or damaged")
    try:
        answered = document.get("reply")
        reply = None if answered is None else codec.load_call(json.dumps(answered))
    except ValueError as error:
        raise _fault(path, number, "its reply cannot be read") from error
    call: RecordedCall = _read(RecordedCall, {**document, "reply": reply}, path, number)
    return call


def _document(call: RecordedCall) -> dict[str, Any]:
    reply = None if call.reply is None else json.loads(codec.dump_call(call.reply))
    document: dict[str, Any] = {"key": call.key, "role": call.role, "stage": call.stage}
    document["reply"] = reply
    if call.failures:
        document["failures"] = [asdict(failure) for failure in call.failures]
    return document


def _line(document: Mapping[str, Any]) -> str:
    return f"{codec.json_text(document)}\n"


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(raw)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _read(shape: Any, document: object, path: Path, number: int) -> Any:
    try:
        return _adapter(shape).validate_python(document)
    except ValidationError as error:
        first = first_fault(error)
        place = ".".join(str(part) for part in first["loc"]) or "the line"
        raise _fault(path, number, f"{place}{fault_words(first)}") from error


def _fault(path: Path, number: int, what: str) -> DataError:
    return DataError(f"{path}, line {number}: {what}", _HINT)
