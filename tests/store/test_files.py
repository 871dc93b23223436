from __future__ import annotations

import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_samples import AWKWARD, REPLY, TASK, broken, fact, scored, state

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import Degraded, Stamped
from skillopt_cli.core.task import ChatReply
from skillopt_cli.ports import Store
from skillopt_cli.store import codec, log_lines
from skillopt_cli.store.atomic_files import clear_drafts, replace_text
from skillopt_cli.store.event_log import LogTail
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.memory import MemoryStore

WRITER = """
import sys
from pathlib import Path
from store_samples import fact, state
from skillopt_cli.store import codec
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal

folder = Path(sys.argv[1])
store = FileStore(folder, Journal(folder / "journal.sqlite"))
number = 0
while True:
    number += 1
    store.append(fact(number, "x" * 5000))
    if number % 20 == 0:
        store.save_state(state(number))
    print(number, flush=True)
"""


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.sqlite") as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path, journal: Journal) -> Iterator[FileStore]:
    with FileStore(tmp_path / "run", journal) as opened:
        yield opened


@pytest.fixture(params=["files", "memory"])
def any_store(request: pytest.FixtureRequest, store: FileStore) -> Store:
    return store if request.param == "files" else MemoryStore()


class TestContract:
    """What every store promises."""

    def test_it_starts_empty(self, any_store: Store) -> None:
        assert any_store.load_state() is None
        assert list(any_store.facts()) == []
        assert any_store.recall("k", TASK) is None
        assert any_store.recall_call("k") is None

    def test_the_last_checkpoint_counts(self, any_store: Store) -> None:
        for done in range(3):
            any_store.save_state(state(done))
        assert any_store.load_state() == state(2)

    def test_facts_come_back_in_order(self, any_store: Store) -> None:
        told = [fact(1), Stamped(2, 0.1 + 0.2, Degraded(AWKWARD, "\u2028\r")), fact(3)]
        for one in told:
            any_store.append(one)
        assert list(any_store.facts()) == told

    def test_rollouts_and_calls_come_back(self, any_store: Store) -> None:
        any_store.remember("k", scored())
        any_store.remember("k", scored("later"))
        any_store.remember_call("k", REPLY)
        assert any_store.recall("k", TASK) == scored()
        assert any_store.recall_call("k") == REPLY
        with pytest.raises(ValueError, match="broken"):
            any_store.remember("b", broken())

    def test_a_call_that_is_forgotten_is_made_again(self, any_store: Store) -> None:
        any_store.forget_call("unknown")
        any_store.remember_call("other", REPLY)
        any_store.remember_call("k", REPLY)
        for reply in (ChatReply("first"), ChatReply("second")):
            any_store.forget_call("k")
            assert any_store.recall_call("k") is None
            any_store.remember_call("k", reply)
            any_store.remember_call("k", REPLY)
            assert any_store.recall_call("k") == reply
        assert any_store.recall_call("other") == REPLY

    @pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "", ".", "a/..", "a\0b"])
    def test_nothing_is_kept_outside(self, any_store: Store, path: str) -> None:
        with pytest.raises(ValueError, match="leaves the run folder"):
            any_store.keep(path, "text")


def test_last_number_counts_over_processes(tmp_path: Path, journal: Journal) -> None:
    for start in (1, 4):
        with FileStore(tmp_path, journal) as store:
            assert store.last_number == start - 1
            for number in range(start, start + 3):
                store.append(fact(number, "y" * 100_000))
            assert store.last_number == start + 2
    memory = MemoryStore()
    assert memory.last_number == 0
    memory.append(fact(7))
    assert memory.last_number == 7


def test_keep_writes_byte_for_byte(store: FileStore) -> None:
    text = "---\r\nname: ü\n---\n  two  \n\nno end"
    store.keep("steps/step_0001/candidate_skill.md", text)
    store.keep("steps/step_0001/candidate_skill.md", text + "!")
    kept = store.folder / "steps" / "step_0001" / "candidate_skill.md"
    assert kept.read_bytes() == (text + "!").encode()
    assert [path.name for path in kept.parent.iterdir()] == ["candidate_skill.md"]


def test_memory_keeps_by_path() -> None:
    memory = MemoryStore()
    memory.keep("skills/step_0000.md", "text")
    assert memory.files == {"skills/step_0000.md": "text"}


def test_reading_makes_no_files(store: FileStore) -> None:
    assert store.load_state() is None
    assert list(store.facts()) == []
    assert store.last_number == 0
    assert not store.folder.exists()


class TestDamage:
    @pytest.mark.parametrize("torn", [b'{"schema":1,"num', b"\0" * 300, b"\xff", b"{" * 200_000])
    def test_a_torn_last_line_is_ignored_then_cut_off(
        self, tmp_path: Path, journal: Journal, torn: bytes
    ) -> None:
        log = tmp_path / "events.jsonl"
        with FileStore(tmp_path, journal) as store:
            store.append(fact(1))
            store.append(fact(2))
        whole = log.read_bytes()
        log.write_bytes(whole + torn)
        with FileStore(tmp_path, journal) as store:
            assert [one.number for one in store.facts()] == [1, 2]
            assert store.last_number == 2
            assert log.read_bytes() == whole + torn
            store.append(fact(3))
            assert [one.number for one in store.facts()] == [1, 2, 3]
        assert log.read_bytes() == whole + codec.dump_fact(fact(3)).encode() + b"\n"

    def test_a_log_of_nothing_but_a_torn_line_is_empty(
        self, tmp_path: Path, journal: Journal
    ) -> None:
        (tmp_path / "events.jsonl").write_bytes(b'{"schema"')
        with FileStore(tmp_path, journal) as store:
            assert store.last_number == 0
            store.append(fact(1))
            assert list(store.facts()) == [fact(1)]

    def test_a_damaged_line_in_the_middle_is_named(self, store: FileStore) -> None:
        for number in (1, 2, 3):
            store.append(fact(number))
        log = store.folder / "events.jsonl"
        lines = log.read_bytes().split(b"\n")
        log.write_bytes(b"\n".join([lines[0], lines[1][:20], *lines[2:]]))
        with pytest.raises(DataError, match=r"line 2 of .*events\.jsonl"):
            list(store.facts())

    @pytest.mark.parametrize("last", [b"", b"\n"])
    def test_a_line_longer_than_any_fact_is_not_read_whole(
        self, store: FileStore, monkeypatch: pytest.MonkeyPatch, last: bytes
    ) -> None:
        store.append(fact(1))
        store.close()
        log = store.folder / "events.jsonl"
        with log.open("ab") as file:
            file.truncate(1 << 30)  # a hole, which takes no room
            file.seek(0, os.SEEK_END)
            file.write(last)
        monkeypatch.setattr(log_lines, "LONGEST_LINE", 1 << 18)
        where = r"line 2 of .*events\.jsonl is longer than any fact"
        tail = LogTail(store.folder)
        tracemalloc.start()
        with pytest.raises(DataError, match=where):
            tail.read()
        with pytest.raises(DataError, match=where):
            list(store.facts())
        if last:
            with pytest.raises(DataError, match=r"the last line of .*events\.jsonl is longer"):
                FileStore(store.folder, Journal(Path(":memory:"))).last_number  # noqa: B018
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
        tracemalloc.stop()

    def test_a_damaged_last_line_that_is_whole_is_named(
        self, tmp_path: Path, journal: Journal
    ) -> None:
        (tmp_path / "events.jsonl").write_bytes(b"{}\n")
        store = FileStore(tmp_path, journal)
        with pytest.raises(DataError, match=r"the last line of .*events\.jsonl"):
            _ = store.last_number

    @pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b"\0" * 100])
    def test_a_damaged_checkpoint_falls_back_to_the_one_before(
        self, tmp_path: Path, journal: Journal, damage: bytes
    ) -> None:
        store = FileStore(tmp_path, journal)
        store.save_state(state(1))
        store.save_state(state(2))
        (tmp_path / "state.json").write_bytes(damage)

        store = FileStore(tmp_path, journal)
        assert store.load_state() == state(1)
        store.save_state(state(2, "redone"))
        assert FileStore(tmp_path, journal).load_state() == state(2, "redone")
        (tmp_path / "state.json").unlink()
        assert FileStore(tmp_path, journal).load_state() == state(1)

    def test_two_damaged_checkpoints_are_an_error_with_a_hint(self, store: FileStore) -> None:
        store.save_state(state(1))
        store.save_state(state(2))
        (store.folder / "state.json").write_text("{", encoding="utf-8")
        (store.folder / "state.prev.json").write_text("[]", encoding="utf-8")
        with pytest.raises(DataError, match=r"state\.json and state\.prev\.json") as caught:
            store.load_state()
        assert caught.value.hint

    def test_a_newer_checkpoint_is_refused_not_replaced(self, store: FileStore) -> None:
        store.save_state(state(1))
        store.save_state(state(2))
        path = store.folder / "state.json"
        path.write_text(path.read_text("utf-8").replace('"schema":1', '"schema":9'), "utf-8")
        with pytest.raises(DataError, match="schema 9"):
            store.load_state()

    def test_what_cannot_be_written_is_an_error_naming_it(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way", encoding="utf-8")
        with pytest.raises(DataError, match="below"):
            replace_text(tmp_path / "file" / "below", "text")

    def test_a_failed_replacement_leaves_the_old_text(self, tmp_path: Path) -> None:
        target = tmp_path / "folder"
        (target / "inside").mkdir(parents=True)
        with pytest.raises(DataError):
            replace_text(target, "text")
        assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_kill_9_keeps_every_fact_and_the_checkpoint(tmp_path: Path, journal: Journal) -> None:
    folder = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent,
    )
    assert process.stdout is not None
    for _ in range(90):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    # Not `communicate`: it would pass over what `readline` has buffered.
    with process:
        acknowledged = 90 + process.stdout.read().count("\n")
    with FileStore(folder, journal) as store:
        numbers = [one.number for one in store.facts()]
        assert numbers == list(range(1, len(numbers) + 1))
        assert acknowledged <= len(numbers) <= acknowledged + 1
        saved = store.load_state()
        assert saved is not None
        assert saved.done in (acknowledged // 20 * 20, (acknowledged + 1) // 20 * 20)
        store.append(fact(store.last_number + 1))
        assert [one.number for one in store.facts()] == list(range(1, len(numbers) + 2))


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from skillopt_cli.core.companion_files import Companion, Folder
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.store.files import FileStore, replace_folder, replace_text
from skillopt_cli.store.journal import MEMORY, Journal

def kill(*paths):
    os.kill(os.getpid(), signal.SIGKILL)

run, what = Path(sys.argv[1]), sys.argv[2]
if what == "text":
    Path.replace = kill
    replace_text(run / "skills" / "best.md", "new")
skill = SkillDocument("new", Folder((Companion("a.py", "1"),)))
with Journal(MEMORY) as journal, FileStore(run, journal) as store:
    if what == "kept text":
        Path.replace = kill
        store.keep("skills/a/b/best.md", "new")
    Path.rename = kill
    if what == "kept folder":
        store.keep_folder("skills/a/b/best", skill)
    replace_folder(run / "skills" / "best", skill)
"""


@pytest.mark.parametrize("what", ["text", "folder", "kept text", "kept folder"])
def test_what_a_killed_process_left_half_written_is_cleared(tmp_path: Path, what: str) -> None:
    (tmp_path / "skills" / "best").mkdir(parents=True)
    (tmp_path / "skills" / "a" / "b" / "best").mkdir(parents=True)
    own = [tmp_path / ".notes.tmp", tmp_path / "skills" / "best.md", tmp_path / ".a1b2c3d4e5f6.md"]
    for path in own:
        path.write_text("old", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(tmp_path), what], check=False)
    assert sorted(tmp_path.rglob("*")) != before
    clear_drafts(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    assert all(path.read_text(encoding="utf-8") == "old" for path in own)
