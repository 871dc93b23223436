"""Recordings: the model calls of a run in one file, to be replayed elsewhere without any model.

JSON lines: a header, one line per call, and a last line that says how many there were, so that a
torn file is told from a whole one. Recordings of equal runs are equal byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from skillopt_cli.config.wording import fault_words, first_fault
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import EditVetoed, HintGiven, Role
from skillopt_cli.core.task import ChatReply
from skillopt_cli.store import codec

SCHEMA = 1
"""The schema this program writes."""
_KIND = "skillopt recording"
_HINT = "take an unharmed copy, or record it anew with --record"


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
    """

    skillopt: str
    benchmark: str
    roles: Mapping[Role, RecordedRole]
    steering: tuple[HintGiven | EditVetoed, ...] = ()


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
        secrets_removed: calls whose reply held one.
        ended_early: the error that ended the recorded run before its plan; empty when none did.
    """

    calls: int
    secrets_removed: int = 0
    ended_early: str = ""


def write_recording(
    path: Path,
    header: Header,
    calls: Iterable[RecordedCall],
    ended_early: str,
    hide: Callable[[str], str],
) -> Ending:
    """Write a recording, in the order of `calls`; the file appears whole or not at all.

    Args:
        hide: gives a text without the secrets in it; every text that is written passes it.

    Raises:
        DataError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    total = removed = 0
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(_line({"kind": _KIND, "schema": SCHEMA, **_hidden(asdict(header), hide)}))
            for call in calls:
                document = _document(call)
                shown = _hidden(document, hide)
                total, removed = total + 1, removed + (shown != document)
                file.write(_line(shown))
            ending = Ending(total, removed, ended_early)
            file.write(_line({"end": asdict(ending)}))
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise DataError(
            f"the recording {path} cannot be written: {error.strerror or error}",
            "free disk space or mend its permissions; `skillopt resume RUN --record FILE` writes it"
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
        with path.open("rb") as file:
            yield from enumerate(file, start=1)
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


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        return {name: _hidden(inner, hide) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(inner, hide) for inner in value]
    return value


def _line(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, which UTF-8 cannot hold but a JSON escape can.
        text = json.dumps(document, separators=(",", ":"))
    return f"{text}\n"


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
