"""`skillopt ctl RUN ...`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.cli.options import JsonOption, LookupRoot
from skillopt_cli.cli.show import show_json
from skillopt_cli.compose.folder import find_run
from skillopt_cli.control import client
from skillopt_cli.control.commands import Answer
from skillopt_cli.core.errors import NotRunning, UsageError
from skillopt_cli.ui.reading import read_view
from skillopt_cli.ui.steering import status_document, status_lines

app = typer.Typer(no_args_is_help=True)


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
    """Steer a run at work from another shell.

    What is asked is kept with the run: taken up after a kill, it ends as if it had not been killed.
    """
    # Looked up by the command itself, so that its help needs no run.
    context.obj = partial(find_run, run, out_root)


@app.command("status")
def status(context: typer.Context, json: JsonOption = False) -> None:
    """Say how the run stands, also when no process is at work on it."""
    folder: Path = context.obj()
    try:
        live = asyncio.run(client.status(folder))
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
    """Begin no more model calls; those in flight end."""
    _asked(client.pause(context.obj(), "edits" if at is At.edits else "now"), as_json=json)


@app.command("resume")
def resume(
    context: typer.Context,
    at: Annotated[
        At, typer.Option(help="edits: only take back the pause that is planned there.")
    ] = At.now,
    json: JsonOption = False,
) -> None:
    """Go on after a pause, or take a planned one back."""
    _asked(client.resume(context.obj(), "edits" if at is At.edits else "now"), as_json=json)


@app.command("stop")
def stop(context: typer.Context, json: JsonOption = False) -> None:
    """Stop as the first Ctrl-C does: calls in flight end, and the run can be resumed."""
    _asked(client.stop(context.obj()), as_json=json)


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
    _asked(client.change(context.obj(), key, value), as_json=json)


@app.command("veto")
def veto(
    context: typer.Context,
    number: Annotated[
        int, typer.Argument(min=1, metavar="NUMBER", help="The edit's number in `status`.")
    ],
    reason: Annotated[str, typer.Option(help="Why, for the reports.")] = "",
    json: JsonOption = False,
) -> None:
    """Strike out a chosen edit while the run is paused with its edits chosen."""
    _asked(client.veto(context.obj(), number, reason), as_json=json)


@app.command("hint")
def hint(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the optimizer should know.")],
    json: JsonOption = False,
) -> None:
    """Tell the next reflection something, in one line of its prompt."""
    _asked(client.hint(context.obj(), text), as_json=json)


def _asked(asking: Coroutine[Any, Any, Answer], *, as_json: bool) -> None:
    answer = asyncio.run(asking)
    if as_json:
        show_json({"said": answer.said})
    else:
        typer.echo(answer.said)
