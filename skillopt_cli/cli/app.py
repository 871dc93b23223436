"""The program: commands joined together, and errors turned into a message, a hint and a code."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from skillopt_cli import __version__
from skillopt_cli.cli.commands import COMMANDS, load_command
from skillopt_cli.cli.errors import errors_shown
from skillopt_cli.core.errors import UsageError


class Root(TyperGroup):
    """The root command: where every error ends."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the root's own options."""
        with errors_shown():
            _refuse_shell(args)
            return super().make_context(info_name, args, parent, **extra)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that is named, and import it."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and load_command(str(name)), rest

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run a command."""
        with errors_shown():
            return super().invoke(ctx)


def dashes(name: str) -> str:
    """Option and command names with `-` for `_`, so that both spellings work everywhere."""
    return name.replace("_", "-")


def _refuse_shell(args: list[str]) -> None:
    """Completion is that of the shell around; another's name would be passed over in silence.

    Raises:
        UsageError: one is named.
    """
    flag = dashes(args[0]) if args else ""
    if flag in {"--show-completion", "--install-completion"} and len(args) > 1:
        raise UsageError(
            f"`{flag}` takes no `{args[1]}`: it is for the shell that it is called from",
            "for another one, keep what `_SKILLOPT_COMPLETE=source_zsh skillopt` prints"
            " (bash, zsh, fish or powershell)",
        )


app = typer.Typer(
    cls=Root,
    name="skillopt",
    help="Train skill documents: Markdown instructions for a frozen language model or agent.",
    epilog="`skillopt backends list` shows which models need no API key.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={
        "token_normalize_func": dashes,
        "help_option_names": ["-h", "--help"],
    },
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skillopt {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train skill documents: Markdown instructions for a frozen language model or agent."""


def _unloaded() -> None:
    """The body of a command in the list of them, until it is used."""


for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.summary)(_unloaded)
