"""Calls answered from the journal where it knows the answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from weakref import WeakValueDictionary

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend, Store


class Recorded(Wrapper):
    """Answers from the journal what was answered before; journals what is new.

    A reply is in the journal before anyone sees it. Equal requests at the same time are one call.
    """

    def __init__(self, inner: ChatBackend, store: Store) -> None:
        super().__init__(inner)
        self._store = store
        # One per request in flight, so that the second of two equal ones finds the first's reply.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The journaled reply, else the inner one."""
        key = request.key(self.fingerprint)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            known = self._store.recall_call(key)
            if known is not None:
                return known
            reply = replace(await self._inner.chat(request), limits=None)
            self._store.remember_call(key, reply)
            return reply
