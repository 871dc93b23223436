"""`skillopt webui`."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.core.errors import UsageError

_EXTRA = ("starlette", "uvicorn")


def webui(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, metavar="<int>", help="Port to listen on; 0 takes a free one."
        ),
    ] = 7860,
    token: Annotated[
        str | None,
        typer.Option(
            help="What opens the page; beyond this machine one is made up if none is given."
        ),
    ] = None,
    out_root: Annotated[Path, typer.Option(help="Where run folders are.")] = Path("outputs"),
) -> None:
    """Show runs in a browser, start them and steer them.

    Only this machine can reach the page, unless another --host is given; then a token is needed.
    """
    if any(find_spec(name) is None for name in _EXTRA):
        raise UsageError("the web page needs more packages", "pip install 'skillopt-cli[webui]'")
    # Here, since most users of the command line do without these packages.
    from skillopt_cli.web.security import Access
    from skillopt_cli.web.server import serve

    access = Access(host, port, token or "")
    if not access.local and not access.token:
        access = Access(host, port, secrets.token_urlsafe(24))
    serve(out_root, access, _say)


def _say(addresses: Sequence[str]) -> None:
    here, *elsewhere = addresses
    typer.echo(f"open {here}  (Ctrl-C ends it)")
    for address in elsewhere:
        typer.echo(f"from other machines {address}")
