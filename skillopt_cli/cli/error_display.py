"""How an error is printed: the sentence and the hint, and for a bug its traceback."""

from __future__ import annotations

import errno
import re
import traceback
from contextlib import suppress
from difflib import SequenceMatcher

import typer
from pydantic import ValidationError
from rich.text import Text

from skillopt_cli.cli.output import console_on
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.run_folder import unusable_path
from skillopt_cli.compose.secrets import known_secrets
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.validation_messages import fault_words, first_fault
from skillopt_cli.core.errors import ConfigError, Interrupted, SkillOptError, UsageError
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.plugins import at_fault
from skillopt_cli.ui.error_text import HINT

_ADVICE = re.compile(r"[.:]? *\(?(?:Did you mean|Possible options:) (?P<names>.*?)\)?\Z", re.DOTALL)
# Literals as the parser sets them: in quotes, and options bare.
_QUOTED = re.compile(r"'([^']*)'")
_FEWEST_LETTERS = 2
_AS_NEAR = 0.7
"""Share of the nearest name's likeness from which on another name may be meant as well."""
_NO_BRACES = str.maketrans("", "", "{}")
_OPTION = re.compile(r"(?<![\w`-])(--?[A-Za-z][\w-]*)(?![\w`])")


def show_error(error: BaseException) -> int:
    """Print what ended a command on stderr, for a bug after its traceback; return the exit code."""
    shown = _as_ours(error)
    console = console_on(stderr=True)
    hide = _secrets().hide
    lines = [Text(shown.prefix, style="bold red") + Text(hide(shown.message))]
    if shown.hint:
        lines.append(Text(HINT, style="bold cyan") + Text(hide(in_shell(shown.hint))))
    # The terminal may be closed; the exit code counts all the same.
    with suppress(OSError):
        for line in lines:
            console.print(line, soft_wrap=True)
    return shown.exit_code


def _as_ours(error: BaseException) -> SkillOptError:
    match error:
        case SkillOptError():
            return error
        case typer.TyperException():
            return _usage_error(error)
        case KeyboardInterrupt():
            return Interrupted("stopped by the user")
        case OSError(errno=errno.ENOSPC | errno.EIO, filename=None):
            return UsageError(
                f"the output cannot be written: {error.strerror}",
                "free disk space, or send the output elsewhere",
            )
        case OSError():
            # Paths are the user's: one that cannot be used is no bug of ours.
            return unusable_path(error)
    text = "".join(traceback.format_exception(error))
    typer.echo(_secrets().hide(text), err=True, nl=False)
    if culprit := at_fault(error):
        what = " ".join(f"{type(error).__name__}: {error}".split())
        return SkillOptError(f"{culprit} failed: {what}", "tell its authors, with the lines above")
    return SkillOptError("internal error", "report it with the lines above")


def _usage_error(error: typer.TyperException) -> UsageError:
    """The parser's error in our form."""
    message = _said(error)
    context = getattr(error, "ctx", None)
    # The parser marks an argument that stands before a command: `skillopt ctl {RUN} stop`.
    command = context.command_path.translate(_NO_BRACES) if context else "skillopt"
    hint = f"`{command} --help` shows the usage"
    advice = _ADVICE.search(message)
    if advice:
        message = message[: advice.start()]
        hint = f"did you mean {_literals(_nearest_first(error, advice['names'].rstrip('?')))}?"
    if abbreviated := _abbreviated(error):
        hint = f"did you mean {_literals(', '.join(abbreviated))}?"
    message = _literals(message.rstrip("."))
    return UsageError(message[:1].lower() + message[1:], hint)


def _nearest_first(error: typer.TyperException, names: str) -> str:
    """The names that the parser suggests, the nearest first, and only those as near as it."""
    wrong = getattr(error, "option_name", "")
    near = SequenceMatcher(b=wrong)

    def likeness(name: str) -> float:
        near.set_seq1(name)
        return near.ratio()

    if not wrong:
        return names
    ranked = sorted(names.split(", "), key=likeness, reverse=True)
    nearest = likeness(ranked[0])
    return ", ".join(name for name in ranked if likeness(name) >= _AS_NEAR * nearest)


def _abbreviated(error: typer.TyperException) -> list[str]:
    """The options whose words begin with the letters of one that there is not, such as `--lr`."""
    letters = getattr(error, "option_name", "").lstrip("-")
    context = getattr(error, "ctx", None)
    if len(letters) < _FEWEST_LETTERS or context is None:
        return []
    names = (name for option in context.command.params for name in option.opts)
    return [
        name
        for name in sorted(names)
        if letters == "".join(word[:1] for word in name.lstrip("-").split("-"))
    ]


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
        return known_secrets(read_environment())
    except ConfigError:
        return Secrets()
