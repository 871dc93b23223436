"""The call cache in the journal, the recording of calls, and the stand-in during a replay."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.core.errors import BackendError, NotRecorded, RequestRefused, TransientError
from skillopt_cli.core.events import Role
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend, Store

Outcome = BackendError | ChatReply


class Cached(Wrapper):
    """Returns journaled replies and journals new ones.

    A reply is journaled before it is returned. Equal concurrent requests become one call.
    """

    def __init__(self, inner: ChatBackend, store: Store) -> None:
        super().__init__(inner)
        self._store = store
        # One per request in flight: the second of two equal requests finds the first one's reply.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the journaled reply, or else the inner one."""
        key = request.key(self.fingerprint)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            await self._store.fetch("call", key)
            known = self._store.recall_call(key)
            if known is not None:
                return known
            reply = await self._inner.chat(request)
            if reply.limits is not None:
                reply = replace(reply, limits=None)
            self._store.remember_call(key, reply)
            return reply


@dataclass(slots=True)
class UsedCall:
    """A call: the role and stage that first used it, and its final failures."""

    role: Role | None
    stage: str
    failures: list[BackendError] = field(default_factory=list)


class RecordedCalls:
    """The calls used so far by journal key. Replies stay in the journal."""

    def __init__(self) -> None:
        self.calls: dict[str, UsedCall] = {}

    def note(self, key: str, role: Role | None, stage: str) -> UsedCall:
        """Return the entry of a call; the first known role and stage are kept."""
        use = self.calls.setdefault(key, UsedCall(role, stage))
        if use.role is None:
            use.role, use.stage = role, stage
        return use

    def note_all(self, keys: Iterable[str]) -> None:
        """Add calls of which only the key is known."""
        for key in keys:
            self.note(key, None, "")


class CallRecorder(Wrapper):
    """A journaled backend whose calls are recorded, whether paid for or cached."""

    def __init__(self, inner: ChatBackend, role: Role, recorded: RecordedCalls) -> None:
        super().__init__(inner)
        self._role: Role = role
        self._recorded = recorded

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the inner reply and record the call, or a failure that does not end the run."""
        key = request.key(self.fingerprint)
        try:
            reply = await self._inner.chat(request)
        except (TransientError, RequestRefused) as error:
            self._recorded.note(key, self._role, request.stage).failures.append(error)
            raise
        self._recorded.note(key, self._role, request.stage)
        return reply


@dataclass(frozen=True, slots=True)
class RecordedFailures:
    """The calls of a recording that the journal does not hold, since they failed at first.

    Attributes:
        source: the recording, for people.
        outcomes: by journal key, the failures of a call, then its reply if it has one.
        hint: why a call may be missing.
        changes: the settings that changed since, as a clause; empty for none.
    """

    source: str
    outcomes: Mapping[str, list[Outcome]] = field(default_factory=dict)
    hint: str = ""
    changes: str = ""


class Replayed:
    """A `ChatBackend` behind the filled journal, without any connection."""

    def __init__(
        self,
        role: Role,
        name: str,
        fingerprint: str,
        offers: frozenset[str],
        recorded: RecordedFailures,
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.offers = offers
        self._role = role
        self._recorded = recorded

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the next recorded outcome of a call that also failed.

        Raises:
            BackendError: the recorded failure.
            NotRecorded: the recording does not hold this call.
        """
        outcomes = self._recorded.outcomes.get(request.key(self.fingerprint))
        if not outcomes:
            raise NotRecorded(
                f"the {self._role} was asked something in stage `{request.stage}` that"
                f" {self._recorded.source} does not hold{self._recorded.changes}",
                self._recorded.hint,
            )
        # The last one stays: a request that kept failing would fail again.
        outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
        if isinstance(outcome, BackendError):
            raise outcome
        return outcome
