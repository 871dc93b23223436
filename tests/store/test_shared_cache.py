from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest
from object_server import ObjectServer, object_server
from store_samples import AWKWARD, REPLY, TASK, scored

from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.events import CACHE, Degraded, RunEvent
from skillopt_cli.core.task import ChatReply
from skillopt_cli.ports import Stored
from skillopt_cli.store import codec, shared_cache
from skillopt_cli.store.entries import FolderEntries, ObjectEntries, open_entries
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.shared_cache import Entries, SharedCache, packed, unpacked

WRITER = """
import asyncio, sys
from hashlib import sha256
from skillopt_cli.core.task import ChatReply
from skillopt_cli.store import codec
from skillopt_cli.store.entries import open_entries
from skillopt_cli.store.shared_cache import SharedCache

name, place, count = sys.argv[1], sys.argv[2], int(sys.argv[3])

async def write():
    cache = SharedCache(open_entries(place), print)
    sys.stdin.readline()
    for i in range(count):
        for key in (f"{name} {i}", f"shared {i}"):
            document = codec.dump_call(ChatReply(f"{key} by {name} " * 500))
            cache.share("call", sha256(key.encode()).hexdigest(), document)
        await cache.flush()
        print(i, flush=True)
    cache.close()

asyncio.run(write())
"""
CALL = codec.dump_call(REPLY)
KEY = sha256(b"a call").hexdigest()
NAME = f"calls/{KEY[:2]}/{KEY}"


def key(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def writer(name: str, place: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, name, place, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@asynccontextmanager
async def opened(
    entries: Entries, earlier: Journal | None = None
) -> AsyncIterator[tuple[SharedCache, list[str]]]:
    """A cache, and what it states."""
    said: list[str] = []

    def emit(event: RunEvent) -> None:
        assert isinstance(event, Degraded)
        assert event.where == CACHE
        assert not event.of_step
        said.append(event.reason)

    cache = SharedCache(entries, emit, earlier)
    try:
        yield cache, said
    finally:
        cache.close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    s3fs = pytest.importorskip("s3fs")
    with object_server() as running:
        for name, value in running.variables.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield running
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture(params=["folder", "memory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "cache")
    pytest.importorskip("fsspec")
    if request.param == "s3":
        request.getfixturevalue("server")
        return "s3://bucket/prefix"
    return f"memory://{uuid4().hex}"


async def test_what_one_run_shares_another_one_finds(place: str) -> None:
    rollout = codec.dump_rollout(scored())
    async with opened(open_entries(place)) as (cache, said):
        assert await cache.fetch("call", KEY) is None
        cache.share("call", KEY, CALL)
        cache.share("rollout", KEY, rollout)
        await cache.flush()
    async with opened(open_entries(place)) as (other, more):
        assert await other.fetch("call", KEY) == CALL
        assert await other.fetch("rollout", KEY) == rollout
        assert await other.fetch("call", key("another")) is None
    assert said == more == []


async def test_what_is_shared_is_a_hit_in_the_journal_and_stays_one(place: str) -> None:
    folder = Path("run")
    async with opened(open_entries(place)) as (cache, _):
        with Journal(Path("other") / "j.sqlite") as journal, FileStore(folder, journal) as store:
            store.shared = cache
            store.remember(KEY, scored())
            store.remember_call(KEY, REPLY)
            await store.flush()
    with Journal(folder / "j.sqlite") as journal, FileStore(folder, journal) as store:
        async with opened(open_entries(place)) as (cache, _):
            store.shared = cache
            assert store.recall_call(KEY) is None
            await store.fetch("rollout", KEY)
            await store.fetch("call", KEY)
        store.shared = None
        await store.fetch("call", KEY)
        assert store.recall(KEY, TASK) == scored()
        assert store.recall_call(KEY) == REPLY


async def test_a_forgotten_reply_does_not_come_back_from_others(place: str) -> None:
    with Journal(Path("run") / "j.sqlite") as journal, FileStore(Path("run"), journal) as store:
        async with opened(open_entries(place)) as (cache, said):
            store.shared = cache
            store.remember_call(KEY, REPLY)
            await store.flush()
            store.forget_call(KEY)
            await store.fetch("call", KEY)
            assert store.recall_call(KEY) is None
            store.remember_call(KEY, ChatReply("better"))
            await store.flush()
            assert await cache.fetch("call", KEY) == codec.dump_call(ChatReply("better"))
        assert said == []
        assert journal.call_keys() == [KEY]
        store.forget_call(KEY)
        assert journal.call_keys() == []


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (packed(NAME, CALL)[:-1], "torn"),
        (packed(NAME, CALL)[:10], "torn"),
        (packed(NAME, CALL) + b"x", "torn"),
        (b"", "torn"),
        (b"{}", "torn"),
        (CALL.encode(), "torn"),
        (packed(NAME.replace("call", "rollout"), CALL), "torn"),
        (packed(f"calls/{key('b')[:2]}/{key('b')}", CALL), "torn"),
        (packed(NAME, '{"schema":1,"reply":{}}'), "reply"),
        (packed(NAME, codec.dump_rollout(scored())), "reply"),
        (packed(NAME, '{"schema":99,"reply":{}}'), "schema 99"),
    ],
)
async def test_an_entry_that_is_torn_or_foreign_is_refused_and_counted(
    entry: bytes, why: str, tmp_path: Path
) -> None:
    entries = FolderEntries(tmp_path)
    entries.write(NAME, entry)
    async with opened(entries) as (cache, said):
        for _ in range(3):
            assert await cache.fetch("call", KEY) is None
        assert len(said) == 1
        assert said[0].startswith(f"entry refused: {NAME}: ")
        assert why in said[0]
        await cache.flush()
        assert said[1:] == ["in all: entry refused 3 times"]
        # What is made in its place is found from then on.
        cache.share("call", KEY, CALL)
        await cache.flush()
        assert await cache.fetch("call", KEY) == CALL


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda p: p.symlink_to("/dev/zero")])
async def test_what_is_no_file_is_no_entry(make: Callable[[Path], None], tmp_path: Path) -> None:
    entries = FolderEntries(tmp_path)
    path = tmp_path / "entries" / NAME
    path.parent.mkdir(parents=True)
    make(path)
    async with opened(entries) as (cache, said):
        assert await cache.fetch("call", KEY) is None
    assert said == [f"entry refused: {NAME}: it is torn, or was not written here"]


def test_an_entry_is_its_document() -> None:
    document = codec.dump_call(ChatReply(AWKWARD))
    assert unpacked("call", NAME, packed(NAME, document)) == document


def test_processes_write_at_once_and_every_entry_is_whole(tmp_path: Path) -> None:
    count = 40
    crew = [writer(name, str(tmp_path), count) for name in ("a", "b", "c")]
    for process in crew:
        begin(process)
    for process in crew:
        process.communicate(timeout=600)
    assert [process.returncode for process in crew] == [0, 0, 0]

    async def read() -> None:
        async with opened(FolderEntries(tmp_path)) as (cache, said):
            for i in range(count):
                for text in (f"a {i}", f"b {i}", f"c {i}", f"shared {i}"):
                    assert await cache.fetch("call", key(text)) is not None
            assert said == []

    asyncio.run(read())


def test_a_writer_that_is_killed_leaves_whole_entries_or_none(tmp_path: Path) -> None:
    process = writer("a", str(tmp_path), 10**6)
    begin(process)
    assert process.stdout is not None
    for _ in range(50):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    rest, _ = process.communicate(timeout=600)
    written = 50 + rest.count("\n")

    async def read() -> None:
        async with opened(FolderEntries(tmp_path)) as (cache, said):
            for i in range(written):
                assert await cache.fetch("call", key(f"a {i}")) is not None
            for path in (tmp_path / "entries" / "calls").glob("*/[0-9a-f]*"):
                assert await cache.fetch("call", path.name) is not None
            assert said == []

    asyncio.run(read())


def test_writers_at_once_give_a_group_every_folder_and_entry(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        entries = FolderEntries(tmp_path / "cache", 0o750)
        names = [f"{kind}s/{n % 16:02x}/{n}" for n in range(320) for kind in ("call", "rollout")]
        with ThreadPoolExecutor(32) as writers:
            list(writers.map(lambda name: entries.write(name, b"x"), names))
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "cache").rglob("*")}
    assert modes == {0o750, 0o640}


@pytest.mark.parametrize("mode", [0o700, 0o750])
def test_entries_are_private_in_any_folder(mode: int, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)

    async def write() -> None:
        async with opened(open_entries(str(tmp_path), mode)) as (cache, _):
            cache.share("call", KEY, CALL)
            await cache.flush()

    asyncio.run(write())
    inside = tmp_path / "entries"
    for path in (inside, *inside.rglob("*")):
        expected = mode if path.is_dir() else mode & 0o666
        assert stat.S_IMODE(path.stat().st_mode) == expected


class Failing:
    """Entries of which nothing can be had, and how often that was tried."""

    def __init__(self) -> None:
        self.reads = self.writes = 0

    def read(self, name: str) -> bytes | None:
        self.reads += 1
        raise DataError("the bucket cannot be read: no")

    def write(self, name: str, content: bytes) -> None:
        self.writes += 1
        raise DataError("the bucket cannot be written: no")


async def test_a_failing_cache_is_stated_once_counted_and_left_alone() -> None:
    entries = Failing()
    async with opened(entries) as (cache, said):
        for i in range(100):
            assert await cache.fetch("call", key(str(i))) is None
        cache.share("call", KEY, CALL)
        await cache.flush()
        for i in range(100):
            cache.share("call", key(str(i)), CALL)
        await cache.flush()
        await cache.flush()
    assert (entries.reads, entries.writes) == (1, 1)
    assert said == [
        "lookup failed: the bucket cannot be read: no",
        "entry not shared: the bucket cannot be written: no",
        "in all: entry not shared 101 times",
    ]


async def test_it_is_tried_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_cache, "PAUSE", 0.0)
    entries = Failing()
    async with opened(entries) as (cache, said):
        for i in range(3):
            await cache.fetch("call", key(str(i)))
        await cache.flush()
    assert entries.reads == 3
    assert said[1:] == ["in all: lookup failed 3 times"]


class Hanging:
    """Entries that answer once they may."""

    def __init__(self) -> None:
        self.may = threading.Event()

    def read(self, name: str) -> bytes | None:
        self.may.wait()
        return None

    def write(self, name: str, content: bytes) -> None:
        self.may.wait()


async def test_one_that_hangs_is_waited_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_cache, "PATIENCE", 0.05)
    monkeypatch.setattr(shared_cache, "MOST_WAITING", 20)
    entries = Hanging()
    async with opened(entries) as (cache, said):
        assert await cache.fetch("call", KEY) is None
        for i in range(21):
            cache.share("call", key(str(i)), CALL)
        await cache.flush()
        entries.may.set()
    assert said == [
        "lookup failed: no answer came within 0.05 seconds",
        "entry not shared: it takes longer to write them than to make them",
        "in all: entry not shared 21 times",
    ]


async def test_the_journal_of_a_run_is_read_from_its_folder(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.remember_call(KEY, REPLY)
    async with opened(FolderEntries(tmp_path), Journal(tmp_path / "journal.sqlite")) as (cache, _):
        assert await cache.fetch("call", KEY) == CALL
        assert await cache.fetch("rollout", KEY) is None


async def test_an_object_store_that_refuses_is_stated(server: ObjectServer) -> None:
    async with opened(ObjectEntries("s3://bucket/prefix")) as (cache, said):
        server.refusing = True
        assert await cache.fetch("call", KEY) is None
        cache.share("call", KEY, CALL)
        await cache.flush()
    assert said == [
        "lookup failed: s3://bucket/prefix cannot be read: no",
        "entry not shared: s3://bucket/prefix cannot be written: no",
    ]


@pytest.mark.parametrize("kind", ["call", "rollout"])
async def test_a_lookup_is_one_round_trip(kind: Stored, server: ObjectServer) -> None:
    async with opened(ObjectEntries("s3://bucket/prefix")) as (cache, _):
        await cache.fetch(kind, KEY)
        assert len(server.asked) == 1
        cache.share("call", KEY, CALL)
        await cache.flush()
        assert len(server.asked) == 2


@pytest.mark.parametrize("address", ["file:///tmp/x", "http://127.0.0.1/x", "nosuch://x/y"])
def test_an_address_of_no_object_store_is_refused(address: str) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(ConfigError, match=r"run\.cache_dir") as caught:
        open_entries(address)
    assert caught.value.hint


def test_a_folder_that_cannot_be_made_is_an_error_naming_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="file") as caught:
        open_entries(str(tmp_path / "file"))
    assert caught.value.hint
