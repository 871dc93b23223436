"""Shows what a run does beyond its own process, and asks for consent at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import typer

from skillopt_cli.compose.privilege import Privilege, privilege_lines
from skillopt_cli.config import RunConfig


@dataclass(slots=True)
class TerminalConsent:
    """Prints privileges on stderr, each line once, and asks for those that lack consent.

    Attributes:
        quiet: print them only where consent is lacking.
        trusts: whether the user agreed by a flag, so that nothing is asked.
    """

    quiet: bool
    trusts: bool
    _printed: set[str] = field(default_factory=set)

    def __call__(
        self, config: RunConfig, asked: Sequence[Privilege], lacking: Sequence[Privilege]
    ) -> bool:
        """Return whether the user agrees to what is lacking."""
        if lacking or not (self.quiet or config.run.display == "none"):
            self._print(privilege_lines(asked))
        if not lacking or self.trusts:
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        for one in lacking:
            typer.echo(one.sentence, err=True)
        return typer.confirm("Do you agree?", err=True)

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            if line not in self._printed:
                typer.echo(line, err=True)
            self._printed.add(line)
