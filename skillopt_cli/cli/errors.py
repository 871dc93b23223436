"""Errors at the command line: one sentence, a hint, an exit code; for a bug its traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show the error that ends the block, and end the program with its exit code.

    Raises:
        typer.Exit: there was an error.
    """
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    # A bug outside any run as well: there is no folder to keep its traceback in.
    except (Exception, KeyboardInterrupt) as error:
        if is_help_page(error):
            raise
        # Imported here, since most commands end without an error.
        from skillopt_cli.cli.error_display import show_error

        raise typer.Exit(show_error(error)) from None


def is_help_page(error: BaseException) -> bool:
    """Whether the parser raises this to show the help of a command without arguments."""
    return isinstance(error, typer.TyperException) and error.format_message().startswith("Usage:")
