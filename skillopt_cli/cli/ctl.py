"""`skillopt ctl RUN ...`."""

from __future__ import annotations

import asyncio
import re
import shlex
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from skillopt_cli.cli.options import JsonOption, LookupRoot
from skillopt_cli.cli.output import show_json
from skillopt_cli.compose.run_folder import find_run
from skillopt_cli.control.commands import (
    Allow,
    Command,
    Hint,
    Pause,
    Resume,
    Set,
    Status,
    Stop,
    Veto,
)
from skillopt_cli.control.server import send
from skillopt_cli.core.errors import NotRunning, UsageError
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.runlog.text.control import status_document, status_lines

_OF_ANY = re.compile(r"skillopt (ctl|resume) RUN\b")
"""A command in a hint, for a run that is not named."""


class RunCommands(TyperGroup):
    """The commands for a run, which is named before them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name.

        Raises:
            UsageError: the run is named after it.
        """
        first, second = ctx.params["run"], args[0]
        if first in self.commands and second not in self.commands:
            if second.startswith("-"):
                ordered = shlex.join(["skillopt", "ctl", "RUN", first, *args])
                raise UsageError(
                    f"no run is named before `{first}`", f"the run comes first: `{ordered}`"
                )
            ordered = shlex.join(["skillopt", "ctl", second, first, *args[1:]])
            raise UsageError(f"no such command `{second}`", f"the run comes first: `{ordered}`")
        return super().resolve_command(ctx, args)


app = typer.Typer(cls=RunCommands, no_args_is_help=True)


class At(StrEnum):
    """Where a pause takes hold."""

    now = "now"
    edits = "edits"


@app.callback()
def ctl(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder, or run id.")],
    out_root: LookupRoot = Path("outputs"),
) -> None:
    """Control a running training from another shell.

    What is asked is kept with the run: taken up after a kill, it ends as if it had not been killed.
    """
    # Looked up by the command itself, so that its help needs no run.
    context.obj = partial(find_run, run, out_root)


@app.command("status")
def status(context: typer.Context, json: JsonOption = False) -> None:
    """Print the state of the run, also when no process works on it."""
    folder: Path = context.obj()
    try:
        live = asyncio.run(send(folder, Status()))
    except NotRunning:
        live = None
    document = status_document(read_view(folder), live)
    if json:
        show_json(document)
    else:
        typer.echo("\n".join(status_lines(document)))


@app.command("pause")
def pause(
    context: typer.Context,
    at: Annotated[At, typer.Option(help="Now, or when the next step's edits are chosen.")] = At.now,
    json: JsonOption = False,
) -> None:
    """Pause: start no more model calls; those in flight finish."""
    _send(context.obj(), Pause("edits" if at is At.edits else "now"), as_json=json)


@app.command("resume")
def resume(
    context: typer.Context,
    at: Annotated[
        At, typer.Option(help="edits: cancel only the pause that is planned there.")
    ] = At.now,
    json: JsonOption = False,
) -> None:
    """Continue after a pause, or cancel a planned one."""
    _send(context.obj(), Resume("edits" if at is At.edits else "now"), as_json=json)


@app.command("stop")
def stop(context: typer.Context, json: JsonOption = False) -> None:
    """Stop as the first Ctrl-C does: calls in flight finish, and the run can be resumed."""
    _send(context.obj(), Stop(), as_json=json)


@app.command("set")
def set_(
    context: typer.Context,
    assignment: Annotated[
        str, typer.Argument(metavar="KEY=VALUE", help="run.max_concurrency, or a cap run.max_*.")
    ],
    json: JsonOption = False,
) -> None:
    """Change a limit until the process ends; `null` lifts a cap."""
    key, equals, value = assignment.partition("=")
    if not equals:
        raise UsageError(
            f"`{key}` is not of the form KEY=VALUE", "such as `set run.max_concurrency=8`"
        )
    _send(context.obj(), Set(key, value), as_json=json)


@app.command("veto")
def veto(
    context: typer.Context,
    number: Annotated[
        int, typer.Argument(min=1, metavar="NUMBER", help="The edit's number in `status`.")
    ],
    reason: Annotated[str, typer.Option(help="Reason, shown in reports.")] = "",
    json: JsonOption = False,
) -> None:
    """Strike out a chosen edit while the run is paused with its edits chosen."""
    _send(context.obj(), Veto(number, reason), as_json=json)


@app.command("allow")
def allow(
    context: typer.Context,
    number: Annotated[
        int, typer.Argument(min=1, metavar="NUMBER", help="The vetoed edit's number in `status`.")
    ],
    json: JsonOption = False,
) -> None:
    """Take the veto of a chosen edit back while the run is paused with its edits chosen."""
    _send(context.obj(), Allow(number), as_json=json)


@app.command("hint")
def hint(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Hint for the optimizer.")],
    json: JsonOption = False,
) -> None:
    """Give the next reflection a hint, one line in its prompt."""
    _send(context.obj(), Hint(text), as_json=json)


def _send(folder: Path, command: Command, *, as_json: bool) -> None:
    try:
        reply = asyncio.run(send(folder, command))
    except UsageError as error:
        # The controller does not know the name of its run.
        error.hint = _OF_ANY.sub(rf"skillopt \1 {shlex.quote(folder.name)}", error.hint)
        raise
    if as_json:
        show_json({"said": reply.said})
    else:
        typer.echo(reply.said)
