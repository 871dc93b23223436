"""Cache marks of Anthropic's Messages API: where the part of a prompt ends that others repeat.

The service stores a prompt up to each mark and reads it back for every later one that begins with
it, in the order tools, system, messages. What is stored costs a quarter more than other tokens, and
what is read a tenth, so a mark pays from the first later call on. An entry exists once the call
that stores it is answered, and lasts five minutes from its last use.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from skillopt_cli.core.task import ChatRequest

NAME = "cache_control"
LIFETIME = 300.0
"""Seconds after its last use that a stored prompt lasts."""
_MARK = {NAME: {"type": "ephemeral"}}
_BYTES_PER_TOKEN = 3.5
_SMALLEST = (
    (re.compile(r"opus-4-[56]|haiku-4"), 4096),
    (re.compile(r"opus-4-7|haiku-3|3-5-haiku|3-haiku"), 2048),
    (re.compile(r"opus-4|sonnet|3-opus"), 1024),
)
_SMALLEST_OF_ALL = 512

Body = dict[str, Any]


def smallest_prefix(model: str) -> int:
    """Return the fewest tokens that the service stores for a model.

    A mark on fewer is ignored and costs nothing, so an unknown model has the least of all.
    """
    return next((n for family, n in _SMALLEST if family.search(model)), _SMALLEST_OF_ALL)


def marked(body: Body, request: ChatRequest) -> Body:
    """Return a request's body with at most three cache marks; the service accepts four.

    They are at the end of the system text, of the shared part of the first user turn, and of the
    whole conversation if it continues; each only if the text up to it is long enough to be stored.
    The shared part becomes a text block of its own, whether it is marked or not.
    """
    if request.shared is None or not body["messages"]:
        return body
    smallest = smallest_prefix(body["model"]) * _BYTES_PER_TOKEN
    turns = _with_shared_block(body["messages"], request.shared)
    system = body.get("system", "")
    first = _size(body.get("tools")) + _size(system)
    if system and first >= smallest:
        body = {**body, "system": [{"type": "text", "text": system, **_MARK}]}
    shared = turns[0]["content"][0]
    if request.shared and first + _size(shared) >= smallest:
        shared.update(_MARK)
    if request.continues and first + _size(turns) >= smallest:
        turns[-1]["content"][-1].update(_MARK)
    return {**body, "messages": turns}


def unmarked(body: Body) -> Body:
    """Return a body without its cache marks, in the same blocks."""
    turns = [
        {**turn, "content": [_unmarked(block) for block in turn["content"]]}
        for turn in body["messages"]
    ]
    system = body.get("system", "")
    if not isinstance(system, str):
        body = {**body, "system": [_unmarked(block) for block in system]}
    return {**body, "messages": turns}


def _unmarked(block: Mapping[str, Any]) -> Body:
    return {name: value for name, value in block.items() if name != NAME}


def has_marks(body: Mapping[str, Any]) -> bool:
    """Whether a body has cache marks."""
    return any(NAME in block for block in _blocks(body))


def shared_prefix(body: Mapping[str, Any]) -> bytes | None:
    """Return a digest of what is marked for other requests; None for no such mark.

    None also where the conversation continues: then each request has to be stored for the next.
    """
    blocks = _blocks(body)
    ends = [place for place, block in enumerate(blocks, 1) if NAME in block]
    if not ends or ends[-1] == len(blocks) > 1:
        return None
    texts = [block["text"] for block in blocks[: ends[-1]]]
    return hashlib.sha256(repr((body.get("tools"), texts)).encode()).digest()


def _blocks(body: Mapping[str, Any]) -> list[Body]:
    """Return the blocks of system text and turns, in the order in which they are read."""
    system = body.get("system", "")
    first = [{"text": system}] if isinstance(system, str) else list(system)
    return [*first, *(block for turn in body["messages"] for block in turn["content"])]


def _with_shared_block(turns: Sequence[Body], shared: int) -> list[Body]:
    """Return the turns, of which the first begins with a block of the shared text alone."""
    first, *others = turns[0]["content"]
    text = first.get("text", "")
    if not text[:shared].strip() or not text[shared:].strip():
        return list(turns)
    parts = [{"type": "text", "text": part} for part in (text[:shared], text[shared:])]
    return [{**turns[0], "content": [*parts, *others]}, *turns[1:]]


def _size(part: object) -> int:
    """Return the bytes of all texts of a part of a body."""
    if isinstance(part, str):
        return len(part.encode(errors="surrogatepass"))
    if isinstance(part, Mapping):
        return sum(map(_size, part.values()))
    return sum(map(_size, part)) if isinstance(part, list | tuple) else 0


class StoredPrefixes:
    """Which prefixes a service has stored, as far as this process can know.

    Of several calls at once with a prefix that is not stored yet only one stores it: the others
    could not read it before that one is answered, and each would pay for storing it again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[bytes, float] = {}
        self._storing: set[bytes] = set()

    @contextmanager
    def use(self, prefix: bytes) -> Iterator[bool]:
        """Yield whether a call with this prefix is to be marked; the block is the call."""
        stored = self._until.get(prefix, 0.0) > self._clock()
        if stored or prefix in self._storing:
            yield stored
            return
        self._storing.add(prefix)
        try:
            yield True
        finally:
            self._storing.discard(prefix)

    def answered(self, prefix: bytes) -> None:
        """Note that a marked call with this prefix was answered."""
        self._until[prefix] = self._clock() + LIFETIME
