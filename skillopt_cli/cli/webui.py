"""`skillopt webui`."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from skillopt_cli.config.environment import process_environment
from skillopt_cli.core.errors import UsageError

_EXTRA = ("starlette", "uvicorn")
_OPEN = (
    "no token: everyone who uses this machine can use the page as you, and spend your keys; "
    "no run with programs is started"
)


def webui(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, metavar="<int>", help="Port to listen on; 0 takes a free one."
        ),
    ] = 7860,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser.")
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token, which only you can read. Else SKILLOPT_WEBUI_TOKEN holds "
            "it, or a new one is made."
        ),
    ] = None,
    no_token: Annotated[
        bool,
        typer.Option(
            "--no-token",
            help="Admit every user of this machine; then no run with programs is started.",
        ),
    ] = False,
    out_root: Annotated[Path, typer.Option(help="Where run folders are.")] = Path("outputs"),
    token: Annotated[str | None, typer.Option("--token", hidden=True)] = None,
) -> None:
    """Show runs in a browser, start them and steer them.

    Every address needs a token. The printed link opens one browser, and the next link is printed
    then. Only this machine can reach the page, unless another --host is given.
    """
    if any(find_spec(name) is None for name in _EXTRA):
        raise UsageError("the web page needs more packages", "pip install 'skillopt-cli[webui]'")
    # Here, since most users of the command line do without these packages.
    from skillopt_cli.web.security import Access
    from skillopt_cli.web.server import serve
    from skillopt_cli.web.token import find_token

    if token is not None:
        raise UsageError(
            "--token is no option: every user of this machine can read a command line",
            "set SKILLOPT_WEBUI_TOKEN, or name a file that holds the token with --token-file",
        )
    if no_token and token_file is not None:
        raise UsageError("--no-token and --token-file exclude each other", "give one of the two")
    access = Access("" if no_token else find_token(token_file, process_environment()), host, port)
    if no_token and not access.local:
        raise UsageError(
            f"--no-token is for this machine alone, and --host {host} opens the page to others",
            "leave out one of the two",
        )

    def started(links: Sequence[str], login: Path | None) -> None:
        _print_links("open", links, "  (Ctrl-C ends it)")
        note = _OPEN if login is None else f"a link works once; {login} opens your browser any time"
        typer.echo(note, err=True)
        if open_browser:
            target = links[0] if login is None else login.as_uri()
            Thread(target=_open, args=(target,), daemon=True).start()

    def opened(links: Sequence[str]) -> None:
        _print_links("another browser opens", links)

    serve(out_root, access, started, opened)


def _print_links(lead: str, links: Sequence[str], end: str = "") -> None:
    here, *elsewhere = links
    typer.echo(f"{lead} {here}{end}")
    for link in elsewhere:
        typer.echo(f"from other machines {link}")


def _open(target: str) -> None:
    """Open a browser, in a thread of its own: one for the terminal returns when it is left."""
    if not webbrowser.open(target):
        typer.echo("no browser was found: open the link yourself", err=True)
