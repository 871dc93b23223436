"""Chat backends for tests: one plays a script, one calls a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from skillopt_cli.core.task import ChatReply, ChatRequest


class FunctionChat:
    """A `ChatBackend` whose replies a function makes. A plain string is a reply's text.

    Attributes:
        requests: what was asked so far, in order.
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
        """What the function returns for the request; what it raises is raised."""
        self.requests.append(request)
        reply = self._function(request)
        return ChatReply(reply) if isinstance(reply, str) else reply


class ScriptedChat(FunctionChat):
    """A `ChatBackend` that gives the replies of a list, in order, and raises its exceptions.

    Being asked more often than the script is long raises AssertionError.
    """

    def __init__(
        self, script: Iterable[ChatReply | str | BaseException], name: str = "scripted"
    ) -> None:
        super().__init__(self._next, name)
        self._script = list(script)

    @property
    def left(self) -> int:
        """Replies not asked for yet."""
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
