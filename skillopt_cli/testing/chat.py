"""Fakes for tests: chat backends with replies from a script or a function, and a `Control`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.events import EditVetoed
from skillopt_cli.core.task import ChatReply, ChatRequest


class FunctionChat:
    """A `ChatBackend` whose replies a function returns; a plain string is a reply's text.

    Attributes:
        requests: the requests so far, in order.
    """

    def __init__(
        self,
        function: Callable[[ChatRequest], ChatReply | str],
        name: str = "function",
        offers: frozenset[str] = frozenset({"json_schema"}),
    ) -> None:
        self.name = name
        self.fingerprint = name
        self.offers = offers
        self.requests: list[ChatRequest] = []
        self._function = function

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the function's reply, or raise its exception."""
        self.requests.append(request)
        reply = self._function(request)
        return ChatReply(reply) if isinstance(reply, str) else reply


class ScriptedChat(FunctionChat):
    """A `ChatBackend` that returns the replies of a list, in order, and raises its exceptions.

    A request beyond the end of the list raises AssertionError.
    """

    def __init__(
        self, script: Iterable[ChatReply | str | BaseException], name: str = "scripted"
    ) -> None:
        super().__init__(self._next, name)
        self._script = list(script)

    @property
    def left(self) -> int:
        """Number of replies that were not requested yet."""
        return len(self._script) - len(self.requests)

    def _next(self, request: ChatRequest) -> ChatReply | str:
        if self.left < 0:
            raise AssertionError(
                f"request {len(self.requests)} ({request.stage}) has no reply in the script"
            )
        reply = self._script[len(self.requests) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply


@dataclass(frozen=True, slots=True)
class ScriptedControl:
    """A `Control` in memory that never pauses a run.

    Attributes:
        hint_texts: hints by the step whose reflection reads them.
        vetoes: numbers of the chosen edits to veto, from 1, by step; other numbers are ignored.
    """

    hint_texts: Mapping[int, Sequence[str]] = field(default_factory=dict)
    vetoes: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def hints(self, step: int) -> tuple[str, ...]:
        """The step's hints."""
        return tuple(self.hint_texts.get(step, ()))

    async def review(self, step: int, round: int, edits: Sequence[Edit]) -> tuple[EditVetoed, ...]:
        """The step's vetoes."""
        numbers = [n for n in self.vetoes.get(step, ()) if 0 < n <= len(edits)]
        return tuple(EditVetoed(step, n, edits[n - 1], round=round) for n in numbers)
