"""How a command prints an error, and the error found again in what a process printed."""

from __future__ import annotations

from pathlib import Path

from skillopt_cli.compose.flags import in_shell
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.safe_files import open_regular

ERROR = SkillOptError.prefix
HINT = "hint: "


def error_lines(error: SkillOptError) -> str:
    """The sentence, and below it what to do."""
    hint = f"{HINT}{in_shell(error.hint)}\n" if error.hint else ""
    return f"{error.prefix}{error.message}\n{hint}"


def printed_since(log: Path, start: int) -> str:
    """What a log of a process holds from byte `start` on."""
    with open_regular(log) as file:
        file.seek(start)
        return file.read().decode("utf-8", "replace")


def last_error(printed: str) -> SkillOptError | None:
    """The last error that was printed; None where none was, as by a process that was stopped."""
    lines = printed.splitlines()
    found = [place for place, line in enumerate(lines) if line.startswith(ERROR)]
    if not found:
        return None
    message, *after = lines[found[-1] :]
    hint = after[0] if after and after[0].startswith(HINT) else ""
    return SkillOptError(message.removeprefix(ERROR), hint.removeprefix(HINT))
