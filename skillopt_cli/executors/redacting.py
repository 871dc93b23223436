"""The executor around an executor that takes secrets out of what programs print."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from skillopt_cli.core.secrets import Hide, errors_hidden, hidden
from skillopt_cli.ports import Executor, Finished


class Redacting:
    """An `Executor` whose programs' output, and whose errors, hold no secret."""

    def __init__(self, inner: Executor, hide: Hide) -> None:
        self.isolates = inner.isolates
        self._inner = inner
        self._hide = hide

    def workspace(self, name: str) -> AbstractAsyncContextManager[Path]:
        """See `Executor.workspace`."""
        return self._inner.workspace(name)

    async def run(self, argv: Sequence[str], **how: Any) -> Finished:
        """See `Executor.run`."""
        with errors_hidden(self._hide):
            return hidden(await self._inner.run(argv, **how), self._hide)
