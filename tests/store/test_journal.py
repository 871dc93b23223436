from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_samples import REPLY, TASK, broken, scored

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import ChatReply, Task
from skillopt_cli.store import codec
from skillopt_cli.store.journal import Journal

WRITER = """
import sys
from pathlib import Path
from skillopt_cli.core.task import ChatReply
from skillopt_cli.store.journal import Journal

name, path, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
sys.stdin.readline()
with Journal(path) as journal:
    for i in range(count):
        journal.remember_call(f"{name}-{i}", ChatReply(f"{name} {i}"))
        journal.remember_call(f"shared-{i}", ChatReply(name))
        print(i, flush=True)
"""


def writer(name: str, path: Path, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, name, str(path), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_hit_equals_the_original_with_the_callers_task(tmp_path: Path) -> None:
    other = Task("t/2", "year", {"q": "when?"})
    with Journal(tmp_path / "cache" / "journal.sqlite") as journal:
        assert journal.recall("k", TASK) is None
        assert journal.recall_call("k") is None
        journal.remember("k", scored())
        journal.remember_call("k", REPLY)
        assert journal.recall("k", TASK) == scored()
        assert journal.recall_call("k") == REPLY
        recalled = journal.recall("k", other)
        assert recalled is not None
        assert recalled.task is other
        assert recalled.attempt == scored().attempt


def test_the_first_answer_to_a_key_stays(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.remember("k", scored("first"))
        journal.remember("k", scored("second"))
        assert journal.recall("k", TASK) == scored("first")


def test_broken_attempts_are_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        with pytest.raises(ValueError, match="broken"):
            journal.remember("k", broken())
        assert journal.recall("k", TASK) is None


def test_two_processes_share_a_file(tmp_path: Path) -> None:
    path, count = tmp_path / "j.sqlite", 150
    crew = [writer(name, path, count) for name in ("a", "b", "c")]
    for process in crew:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in crew:
        process.communicate(timeout=600)
    assert [process.returncode for process in crew] == [0, 0, 0]
    with Journal(path) as journal:
        for name in ("a", "b", "c"):
            for i in range(count):
                assert journal.recall_call(f"{name}-{i}") == ChatReply(f"{name} {i}")
        owners = {journal.recall_call(f"shared-{i}") for i in range(count)}
        assert owners <= {ChatReply(name) for name in "abc"}


def test_kill_9_loses_nothing_that_was_remembered(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    process = writer("a", path, 10**6)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    seen = [int(process.stdout.readline()) for _ in range(200)]
    os.kill(process.pid, signal.SIGKILL)
    rest, _ = process.communicate(timeout=600)
    last = int(rest.split("\n")[-2]) if "\n" in rest else seen[-1]
    with Journal(path) as journal:
        for i in range(last + 1):
            assert journal.recall_call(f"a-{i}") == ChatReply(f"a {i}")


def test_a_write_takes_little_processor_time(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        rollout = scored("word " * 100)
        spent = []
        for batch in range(4):
            before = time.process_time()
            for i in range(250):
                journal.remember(f"{batch:032d}{i:032d}", rollout)
            spent.append((time.process_time() - before) / 250)
    assert min(spent) < 0.003  # many times what it takes: machines differ


def test_a_file_that_is_no_journal_is_an_error_naming_it(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    path.write_bytes(b"not a database, though long enough to look like one" * 40)
    with pytest.raises(DataError, match=r"j\.sqlite") as caught:
        Journal(path)
    assert caught.value.hint


def test_a_damaged_row_is_an_error_naming_the_file(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    with Journal(path) as journal:
        journal.remember_call("k", REPLY)
        raw = sqlite3.connect(path, isolation_level=None)
        raw.execute("UPDATE calls SET body = '{'")
        raw.close()
        with pytest.raises(DataError, match=r"j\.sqlite"):
            journal.recall_call("k")


def test_a_journal_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    Journal(path).close()
    raw = sqlite3.connect(path, isolation_level=None)
    assert raw.execute("PRAGMA user_version").fetchone() == (codec.SCHEMA,)
    raw.execute(f"PRAGMA user_version = {codec.SCHEMA + 1}")
    raw.close()
    with pytest.raises(DataError, match="schema"):
        Journal(path)
