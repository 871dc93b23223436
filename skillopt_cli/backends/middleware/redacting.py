"""Removal of secrets: the replies and errors of a model are hidden before anything reads them."""

from __future__ import annotations

from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.core.secrets import Hide, errors_hidden, hidden
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.ports import ChatBackend


class Redacting(Wrapper):
    """Returns replies, and raises errors, without any secret in them.

    It wraps what the journal wraps, so that a resumed run reads what the first one read.
    """

    def __init__(self, inner: ChatBackend, hide: Hide) -> None:
        super().__init__(inner)
        self._hide = hide

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the inner reply."""
        with errors_hidden(self._hide):
            return hidden(await self._inner.chat(request), self._hide)
