"""Reading of replies: the text of every model's reply becomes its answer."""

from __future__ import annotations

import re
from dataclasses import replace

from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.core.errors import BackendUnusable, ServerFailed
from skillopt_cli.core.events import REPLY, Degraded, Role
from skillopt_cli.core.plugin_values import instance
from skillopt_cli.core.reply_text import read_text
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend, Emit

_WRITTEN_CALL = re.compile(
    r"\s*(?:<(?:\w+:)?tool_calls?>|<\|tool_calls?(?:_section)?(?:_begin)?\|>|\[TOOL_CALLS\]"
    r"|<\|python_tag\|>|<function=\w|<\uff5ctool\u2581calls\u2581begin\uff5c>)"
)
"""The beginning of a tool call that the server left in the text."""
_PARSER = "check how the server parses tool calls, such as vLLM's --tool-call-parser"


class Reading(Wrapper):
    """Returns replies as `read_text` reads them; what that leaves out is a `Degraded` fact.

    An answer to a request of another program is passed on as it is.
    """

    def __init__(self, inner: ChatBackend, role: Role, emit: Emit, backend: str = "") -> None:
        super().__init__(inner)
        self._backend = backend or inner.name
        self._role: Role = role
        self._emit = emit

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the inner reply, read. A text that ends within a thought is cut at its length.

        Raises:
            BackendUnusable: what the backend returned is no reply.
            ServerFailed: it holds nothing but tool calls that nobody offered, one without a name,
                or one as text.
        """
        returned: object = await self._inner.chat(request)
        try:
            reply: ChatReply = instance(returned, ChatReply, "what it returned").checked()
        except TypeError as error:
            raise BackendUnusable(
                f"the backend `{self._backend}` failed: {error}", "tell the authors of that plug-in"
            ) from None
        if request.wire:
            return reply
        reply, removed = self._offered(reply, request)
        read = read_text(reply.text)
        if removed := (*removed, *read.removed):
            what = f"{' and '.join(removed)} left out of a reply of `{self.name}`"
            self._emit(Degraded(f"{self._role} {REPLY}", what))
        if _WRITTEN_CALL.match(read.text) and not reply.tool_calls:
            what = f"model `{self.name}` answered with a tool call written as text"
            raise ServerFailed(what, _PARSER, usage=reply.usage)
        if request.asks_thoughts and not read.unfinished:
            return reply
        return replace(reply, text=read.text, finish="length" if read.unfinished else reply.finish)

    def _offered(self, reply: ChatReply, request: ChatRequest) -> tuple[ChatReply, tuple[str, ...]]:
        """Return the reply without tool calls that nobody offered, and what was left out."""
        calls = reply.tool_calls
        if not calls or (request.tools and all(call.name.strip() for call in calls)):
            return reply, ()
        if request.tools or not reply.text.strip():
            wrong = "without a name" if request.tools else "that nobody offered"
            raise ServerFailed(
                f"model `{self.name}` answered with a tool call {wrong}", _PARSER, usage=reply.usage
            )
        finish = "stop" if reply.finish == "tool_calls" else reply.finish
        return replace(reply, tool_calls=(), finish=finish), ("a tool call",)
