"""A log with a snapshot reads as one without, and no file beside it can do anything else."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import skillopt_cli
from skillopt_cli.core.events import CheckpointSaved
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.snapshot import read_snapshot
from skillopt_cli.runlog.writers import SnapshotWriter
from skillopt_cli.store.codec import load_fact
from skillopt_cli.store.layout import EVENTS, SNAPSHOT

LOGS = sorted((Path(__file__).parents[1] / "engine" / "golden").rglob(EVENTS))


def write(folder: Path, lines: list[bytes]) -> Iterator[RunLog]:
    """Log the facts as a run does, with a snapshot at each checkpoint; yields before each fact."""
    log = RunLog(folder)
    writer = SnapshotWriter(folder, log, every=1)
    with (folder / EVENTS).open("ab", buffering=0) as file:
        for line in lines:
            yield log
            file.write(line)
            fact = load_fact(line)
            log(fact)
            writer(fact)


def lines_of(log: Path) -> list[bytes]:
    return log.read_bytes().splitlines(keepends=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run folder with a log and a snapshot of most of it."""
    list(write(tmp_path, lines_of(LOGS[0])))
    assert read_snapshot(tmp_path) is not None
    return tmp_path


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.parent.name)
def test_a_log_with_a_snapshot_reads_as_one_without(log: Path, tmp_path: Path) -> None:
    lines = lines_of(log)
    kept = set()
    for number, writing in enumerate(write(tmp_path, lines)):
        if number and isinstance(load_fact(lines[number - 1]).event, CheckpointSaved):
            read = RunLog(tmp_path).read()
            kept.add(read.kept)
            assert (read.view, read.facts, read.number) == (
                writing.view,
                writing.facts,
                writing.number,
            )
    whole = RunLog(tmp_path).read()
    assert whole.kept == len(lines)
    (tmp_path / SNAPSHOT).unlink()
    without = RunLog(tmp_path).read()
    assert without.kept == 0
    assert (whole.view, whole.facts, whole.number) == (
        without.view,
        without.facts,
        without.number,
    )
    assert len(kept) > 1


def test_facts_after_the_snapshot_are_read(folder: Path) -> None:
    known = read_snapshot(folder)
    assert known is not None
    lines = lines_of(LOGS[0])
    with (folder / EVENTS).open("ab") as file:
        file.writelines(lines[:5])
    read = RunLog(folder).read()
    assert (read.kept, read.facts) == (known.facts, len(lines) + 5)
    (folder / SNAPSHOT).unlink()
    assert read.view == RunLog(folder).read().view


def test_a_run_taken_up_goes_on_from_the_snapshot(folder: Path) -> None:
    log = RunLog(folder).read()
    before = (folder / SNAPSHOT).read_bytes()
    writer = SnapshotWriter(folder, log, every=1)
    facts = map(load_fact, lines_of(LOGS[0]))
    writer(next(fact for fact in facts if isinstance(fact.event, CheckpointSaved)))
    assert (folder / SNAPSHOT).read_bytes() == before


def test_a_short_run_writes_none(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    writer = SnapshotWriter(tmp_path, log)
    for fact in map(load_fact, lines_of(LOGS[0])):
        log(fact)
        writer(fact)
    assert not (tmp_path / SNAPSHOT).exists()


class Call:
    """What a stranger's pickle would call."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("called",)


def body(snapshot: bytes) -> bytes:
    return snapshot.partition(b"\n")[2]


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda head, body: b"", id="empty"),
        pytest.param(lambda head, body: b"\xff\x00", id="bytes"),
        pytest.param(lambda head, body: b"[]\n" + body, id="another document"),
        pytest.param(lambda head, body: head + b"\n" + body[: len(body) // 2], id="cut"),
        pytest.param(lambda head, body: head + b"\n" + pickle.dumps(Call()), id="a call"),
        pytest.param(lambda head, body: head + b"\n" + pickle.dumps([1]), id="another value"),
        pytest.param(lambda head, body: head + b"\n" + pickle.dumps(Path("x")), id="a path"),
        pytest.param(
            lambda head, body: head + b"\ncskillopt_cli.core.skill\nhashlib.os.mkdir\n(Vx\ntR.",
            id="a name in a module of ours",
        ),
    ],
)
def test_any_other_file_in_its_place_is_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch, harm: object
) -> None:
    monkeypatch.chdir(folder)
    expected = RunLog(folder).read().view
    head, _, rest = (folder / SNAPSHOT).read_bytes().partition(b"\n")
    (folder / SNAPSHOT).write_bytes(harm(head, rest))  # type: ignore[operator]
    read = RunLog(folder).read()
    assert read.kept == 0
    assert read.view == expected
    assert not (folder / "called").exists()


@pytest.mark.parametrize("key", ["size", "facts", "number", "last", "program"])
def test_a_head_without_a_value_is_passed_over(folder: Path, key: str) -> None:
    head, _, rest = (folder / SNAPSHOT).read_bytes().partition(b"\n")
    about = json.loads(head)
    del about[key]
    (folder / SNAPSHOT).write_bytes(json.dumps(about).encode() + b"\n" + rest)
    assert read_snapshot(folder) is None


def test_a_snapshot_of_another_log_or_version_is_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(skillopt_cli, "__version__", "0.0.1")
        assert read_snapshot(folder) is None
    assert read_snapshot(folder) is not None
    log = folder / EVENTS
    lines = lines_of(log)
    log.write_bytes(b"".join(lines[:3]))
    assert read_snapshot(folder) is None
    assert RunLog(folder).read().facts == 3
    log.write_bytes(b"".join(lines).replace(b'"number":1,', b'"number":1 ,', 1))
    assert read_snapshot(folder) is None


def test_a_folder_or_a_link_in_its_place_is_passed_over(folder: Path) -> None:
    snapshot = folder / SNAPSHOT
    snapshot.unlink()
    snapshot.mkdir()
    assert read_snapshot(folder) is None
    assert RunLog(folder).read().kept == 0
