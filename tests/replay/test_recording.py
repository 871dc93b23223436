"""Recordings: what is written is read back; anything else is one error that names the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import ChatReply, Usage
from skillopt_cli.replay.recording import (
    Ending,
    Failure,
    Header,
    RecordedCall,
    RecordedRole,
    read_calls,
    read_header,
    write_recording,
)

HEADER = Header(
    "1.0", "toy/1", {"target": RecordedRole("m", "m at somewhere", ("images",), {"name": "m"})}
)
CALLS = [
    RecordedCall("a" * 64, "target", "rollout", ChatReply("Ä\u2028\ud800", Usage(1, 5, 2), "stop")),
    RecordedCall("b" * 64, "target", "measure", None, (Failure("RequestRefused", "no", "ask"),)),
    RecordedCall("c" * 64, None, "", ChatReply("", tool_calls=(ToolCall("1", "f", "{}"),))),
]
PATH = Path("r.jsonl")


def written(ended_early: str = "") -> list[str]:
    write_recording(PATH, HEADER, CALLS, ended_early)
    return PATH.read_text(encoding="utf-8").splitlines(keepends=True)


def fault(text: str | bytes) -> str:
    PATH.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError) as caught:
        list(read_calls(PATH))
    assert caught.value.hint
    return caught.value.message


def test_what_is_written_is_read_back() -> None:
    written("BudgetExhausted")
    assert read_header(PATH) == HEADER
    assert list(read_calls(PATH)) == [*CALLS, Ending(3, "BudgetExhausted")]
    assert [path.name for path in Path().iterdir()] == [PATH.name]


def test_a_recording_whose_ending_counts_removed_secrets_is_read() -> None:
    *calls, _ = written()
    ending = {"end": {"calls": 3, "secrets_removed": 2, "ended_early": ""}}
    PATH.write_text("".join([*calls, json.dumps(ending)]), encoding="utf-8")
    assert list(read_calls(PATH)) == [*CALLS, Ending(3)]


def test_a_torn_file_names_the_line() -> None:
    lines = written()
    whole = "".join(lines)
    assert fault(whole[: whole.rindex('"end"') + 3]).startswith("r.jsonl, line 5: ")
    for kept in range(1, 5):
        message = fault("".join(lines[:kept]))
        assert message.startswith(f"r.jsonl, line {kept}: the recording is torn"), message
    for cut in range(len(lines[0]), len(whole) - 2, 7):
        assert fault(whole[:cut].encode()).startswith("r.jsonl, line ")
    del lines[2]
    assert fault("".join(lines)) == "r.jsonl, line 4: it ends a recording of 3 calls here"
    assert "line 5" in fault(whole + lines[1])


@pytest.mark.parametrize("text", ["", "hello\n", "[]\n", '{"schema":1}\n', b"\xff\xfe\x00\n"])
def test_a_foreign_file_is_told(text: str | bytes) -> None:
    assert fault(text) == "r.jsonl, line 1: this is no recording of skillopt"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"role": "jury"}, "role must be "),
        ({"reply": {"schema": 1}}, "its reply cannot be read"),
        ({"key": None}, "key must be a text"),
        ({"failures": [{}]}, "failures.0.error is missing"),
    ],
)
def test_a_damaged_call_names_line_and_field(change: dict[str, object], reason: str) -> None:
    lines = written()
    lines[1] = json.dumps({**json.loads(lines[1]), **change}) + "\n"
    assert fault("".join(lines)).startswith(f"r.jsonl, line 2: {reason}")


def test_a_newer_schema_is_refused() -> None:
    lines = written()
    header = {**json.loads(lines[0]), "schema": 2}
    message = fault(json.dumps(header) + "\n" + "".join(lines[1:]))
    assert message == "the recording r.jsonl has schema 2, this version reads up to 1"


def test_a_file_that_cannot_be_read_or_written_is_named() -> None:
    with pytest.raises(DataError, match=r"gone\.jsonl cannot be read"):
        read_header(Path("gone.jsonl"))
    with pytest.raises(DataError, match="cannot be written"):
        write_recording(Path("gone/r.jsonl"), HEADER, CALLS, "")


def test_an_old_recording_stays_when_the_new_one_fails_midway() -> None:
    before = written()

    def failing() -> object:
        yield CALLS[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="No space left"):
        write_recording(PATH, HEADER, failing(), "")  # type: ignore[arg-type]
    assert PATH.read_text(encoding="utf-8").splitlines(keepends=True) == before
    assert [path.name for path in Path().iterdir()] == [PATH.name]
