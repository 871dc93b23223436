"""Errors at the command line: one sentence, a hint, an exit code; for a bug its traceback."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from pydantic import ValidationError
from rich.text import Text

from skillopt_cli.cli.show import console_on
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.secrets import Secrets
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.wording import fault_words, first_fault
from skillopt_cli.core.errors import ConfigError, DataError, Interrupted, SkillOptError, UsageError
from skillopt_cli.plugins import at_fault
from skillopt_cli.ui.printed import ERROR, HINT

_ADVICE = re.compile(r"[.:]? *\(?(?:Did you mean|Possible options:) (?P<names>.*?)\)?\Z", re.DOTALL)
# Literals as the parser sets them: in quotes, and options bare.
_QUOTED = re.compile(r"'([^']*)'")
_NO_BRACES = str.maketrans("", "", "{}")
_OPTION = re.compile(r"(?<![\w`-])(--?[A-Za-z][\w-]*)(?![\w`])")


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show the error that ends the block, and end the program with its exit code.

    Raises:
        typer.Exit: there was an error.
    """
    try:
        yield
    except SkillOptError as error:
        _show(error)
        raise typer.Exit(error.exit_code) from None
    except typer.TyperException as error:
        translated = _translated(error)
        if translated is None:
            raise
        _show(translated)
        raise typer.Exit(translated.exit_code) from None
    except KeyboardInterrupt:
        _show(Interrupted("stopped by the user"))
        raise typer.Exit(Interrupted.exit_code) from None
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except OSError as error:
        # Paths are the user's: one that cannot be used is no bug of ours.
        _show(unusable(error))
        raise typer.Exit(DataError.exit_code) from None
    # A bug outside any run, so there is no folder to keep the traceback in.
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        typer.echo(_secrets().hide(text), err=True, nl=False)
        if culprit := at_fault(error):
            what = " ".join(f"{type(error).__name__}: {error}".split())
            _show(
                SkillOptError(f"{culprit} failed: {what}", "tell its authors, with the lines above")
            )
        else:
            _show(SkillOptError("internal error", "report it with the lines above"))
        raise typer.Exit(SkillOptError.exit_code) from None


def unusable(error: OSError) -> DataError:
    """A path that the operating system does not let us use, as an error of the user's."""
    return DataError(
        f"{error.filename or 'a file'} cannot be used: {error.strerror or error}",
        "check the path and its permissions",
    )


def _show(error: SkillOptError) -> None:
    """What `error_lines` gives, on stderr, in colour on a terminal."""
    console = console_on(stderr=True)
    hide = _secrets().hide
    lines = [Text(ERROR, style="bold red") + Text(hide(error.message))]
    if error.hint:
        lines.append(Text(HINT, style="bold cyan") + Text(hide(in_shell(error.hint))))
    for line in lines:
        console.print(line, soft_wrap=True)


def _translated(error: typer.TyperException) -> UsageError | None:
    """What the parser says, in our form; None for the help page, which it raises as well."""
    message = _said(error)
    if message.startswith("Usage:"):
        return None
    context = getattr(error, "ctx", None)
    # The parser marks an argument that stands before a command: `skillopt ctl {RUN} stop`.
    command = context.command_path.translate(_NO_BRACES) if context else "skillopt"
    hint = f"`{command} --help` shows the usage"
    advice = _ADVICE.search(message)
    if advice:
        message = message[: advice.start()]
        hint = f"did you mean {_literals(advice['names'].rstrip('?'))}?"
    message = _literals(message.rstrip("."))
    return UsageError(message[:1].lower() + message[1:], hint)


def _said(error: typer.TyperException) -> str:
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        # The parser checks values with the library that the configuration uses.
        error.message = fault_words(first_fault(cause)).lstrip(": ")
    return error.format_message()


def _literals(text: str) -> str:
    """The parser's text with its literals in backticks."""
    return _OPTION.sub(r"`\1`", _QUOTED.sub(r"`\1`", text))


def _secrets() -> Secrets:
    try:
        return Secrets.of(read_environment())
    except ConfigError:
        return Secrets(())
