"""Results in a file of the user's instead of on stdout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.core.errors import UsageError
from skillopt_cli.store.files import replace_text

OutOption = Annotated[Path | None, typer.Option("--out", help="Write here instead of stdout.")]


def check_vacant(out: Path) -> None:
    """Check where a file is to be written, before any work is done for it.

    Raises:
        UsageError: something is there, or the folder around it is not, or must not be written.
    """
    if out.is_dir():
        raise UsageError(f"{out} is a folder", "name a file in it with --out")
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} exists already", "choose another file with --out")
    if not out.parent.is_dir():
        raise UsageError(
            f"{out} cannot be written: there is no folder {out.parent}",
            "make the folder, or choose another file with --out",
        )
    if not os.access(out.parent, os.W_OK):
        raise UsageError(
            f"{out} cannot be written: nothing may be written in the folder {out.parent}",
            "mend its permissions, or choose another file with --out",
        )


def write_out(out: Path, text: str) -> None:
    """Write a result, and say so on stderr.

    Raises:
        DataError: the disk is full or the folder not writable.
    """
    replace_text(out, text)
    typer.echo(f"wrote {out}", err=True)
