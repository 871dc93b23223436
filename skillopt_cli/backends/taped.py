"""Which calls a run used, and for what: the list that a recording is written from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.core.errors import BackendError, RequestRefused, TransientError
from skillopt_cli.core.events import Role
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend


@dataclass(slots=True)
class Use:
    """A call: who was first asked it and what for, and how often it failed for good."""

    role: Role | None
    stage: str
    failures: list[BackendError] = field(default_factory=list)


class Tape:
    """The calls used so far by journal key. Replies stay in the journal."""

    def __init__(self) -> None:
        self.uses: dict[str, Use] = {}

    def note(self, key: str, role: Role | None, stage: str) -> Use:
        """The use of a call: the first one that says what it was for counts."""
        use = self.uses.setdefault(key, Use(role, stage))
        if use.role is None:
            use.role, use.stage = role, stage
        return use

    def note_all(self, keys: Iterable[str]) -> None:
        """Note calls of which nothing but the key is known."""
        for key in keys:
            self.note(key, None, "")


class Taped(Wrapper):
    """A journaled backend whose calls are noted on a tape, paid for or not."""

    def __init__(self, inner: ChatBackend, role: Role, tape: Tape) -> None:
        super().__init__(inner)
        self._role: Role = role
        self._tape = tape

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply, noted; so is a failure that a run goes on without."""
        key = request.key(self.fingerprint)
        try:
            reply = await self._inner.chat(request)
        except (TransientError, RequestRefused) as error:
            self._tape.note(key, self._role, request.stage).failures.append(error)
            raise
        self._tape.note(key, self._role, request.stage)
        return reply
