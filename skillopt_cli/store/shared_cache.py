"""The shared cache: attempts and replies that several runs have in common, on any machines.

A second layer behind the journal of a run, which alone decides what the run knows. It is read where
the journal lacks a key, and written behind; a fault of it is announced and counted, never raised.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol, TypeVar

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import CACHE, Degraded
from skillopt_cli.ports import Emit, Stored
from skillopt_cli.store import codec
from skillopt_cli.store.journal import Journal

READERS, WRITERS = 32, 16
"""Round trips at a time."""
PATIENCE = 20.0
"""Seconds until a lookup counts as failed, and for which the last writes are waited for."""
PAUSE = 60.0
"""Seconds without another try after a failed round trip."""
MOST_WAITING = 2_000
"""Writes that may wait; beyond them entries are left out."""

_Fault = Literal["lookup failed", "entry refused", "entry not shared"]
_Result = TypeVar("_Result")


class Entries(Protocol):
    """Bytes by name, where a name is a relative path."""

    def read(self, name: str) -> bytes | None:
        """The bytes of an entry, or None where there is none; DataError where neither is known."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write an entry whole; DataError where that fails."""
        ...


class SharedCache:
    """Entries of several runs; opened for one run, and closed with it.

    Args:
        entries: where they are kept.
        emit: states what fails, the first time of each kind and in sum at the end.
        earlier: the journal that lies in the same folder: that of a run, or of version 0.1.
    """

    def __init__(self, entries: Entries, emit: Emit, earlier: Journal | None = None) -> None:
        self._entries = entries
        self._emit = emit
        self._earlier = earlier
        self._reading, self._writing = _RoundTrips(READERS), _RoundTrips(WRITERS)
        self._writes: set[asyncio.Task[None]] = set()
        self._faults: Counter[_Fault] = Counter()
        self._stated = self._faults.copy()

    async def fetch(self, kind: Stored, key: str) -> str | None:
        """The document under a key, which is known to be whole and readable, or None."""
        name = _name(kind, key)
        try:
            if self._earlier is not None and (known := self._earlier.document(kind, key)):
                return known
            if self._reading.paused:
                return None
            async with asyncio.timeout(PATIENCE):
                content = await self._reading.make(self._entries.read, name)
        except DataError as error:
            self._note("lookup failed", error.message)
            return None
        except TimeoutError:
            self._reading.pause()
            self._note("lookup failed", f"no answer came within {PATIENCE:g} seconds")
            return None
        if content is None:
            return None
        try:
            return unpacked(kind, name, content)
        except (ValueError, DataError) as error:
            self._note("entry refused", f"{name}: {error}")
            return None

    def share(self, kind: Stored, key: str, document: str) -> None:
        """Begin to write an entry, and return at once."""
        if len(self._writes) >= MOST_WAITING:
            self._note("entry not shared", "it takes longer to write them than to make them")
            return
        task = asyncio.ensure_future(self._write(_name(kind, key), document))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def flush(self) -> None:
        """Wait for the writes under way, for a while, and state what failed in sum."""
        if self._writes:
            _, late = await asyncio.wait(self._writes, timeout=PATIENCE)
            for task in late:
                task.cancel()
                self._note("entry not shared", f"it was not written within {PATIENCE:g} seconds")
        several = [f"{fault} {n:,} times" for fault, n in self._faults.items() if n > 1]
        if several and self._faults != self._stated:
            self._stated = self._faults.copy()
            self._emit(Degraded(CACHE, f"in all: {', '.join(several)}"))

    def close(self) -> None:
        """Give up what waits; what is under way ends by itself."""
        self._reading.close()
        self._writing.close()
        if self._earlier is not None:
            self._earlier.close()

    async def _write(self, name: str, document: str) -> None:
        try:
            await self._writing.make(self._entries.write, name, packed(name, document))
        except DataError as error:
            self._note("entry not shared", error.message)

    def _note(self, fault: _Fault, reason: str) -> None:
        """Count a fault and, the first time, state it."""
        self._faults[fault] += 1
        if self._faults[fault] == 1:
            self._emit(Degraded(CACHE, f"{fault}: {reason}"))


class _RoundTrips:
    """Round trips in threads, several at a time; none for a while after one that failed."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="shared-cache")
        self._paused_until = 0.0

    @property
    def paused(self) -> bool:
        """Whether none is made now."""
        return time.monotonic() < self._paused_until

    def pause(self) -> None:
        """Make none for a while."""
        self._paused_until = time.monotonic() + PAUSE

    async def make(self, work: Callable[..., _Result], *given: object) -> _Result:
        """What `work` returns in a thread; DataError where it fails, or during a pause."""
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, self._tried, work, *given
        )

    def _tried(self, work: Callable[..., _Result], *given: object) -> _Result:
        if self.paused:
            raise DataError("it is left alone for a while after a failure")
        try:
            return work(*given)
        except DataError:
            self.pause()
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def packed(name: str, document: str) -> bytes:
    """An entry: a digest of name and document, a line feed, the document."""
    content = document.encode()
    return _digest(name, content) + b"\n" + content


def unpacked(kind: Stored, name: str, content: bytes) -> str:
    """The document in an entry.

    Raises:
        ValueError: it is torn, of another name, or no such document.
        DataError: a newer version of the program wrote it.
    """
    digest, _, document = content.partition(b"\n")
    if digest != _digest(name, document):
        raise ValueError("it is torn, or was not written here")
    codec.check(kind, document)
    return document.decode()


def _digest(name: str, document: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + document).hexdigest().encode()


def _name(kind: Stored, key: str) -> str:
    """Where an entry lies: spread over folders, which some disks need."""
    return f"{kind}s/{key[:2]}/{key}"
