"""The result of a check."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Literal

from skillopt_cli.compose.flags import in_shell
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.plugins import at_fault

State = Literal["ok", "warning", "failing"]


@dataclass(frozen=True, slots=True)
class Check:
    """One row of `skillopt doctor`.

    Attributes:
        name: what was checked.
        what: the finding, in one line.
        fix: a command where there is one; empty only when the state is ok.
        code: the exit code of a failing row, 0 of the others.
    """

    name: str
    state: State
    what: str
    fix: str = ""
    code: int = 0


def passed(name: str, what: str) -> Check:
    """A row without a fault."""
    return Check(name, "ok", what)


def warning(name: str, what: str, fix: str) -> Check:
    """A row with a fault that does not stop a run."""
    return Check(name, "warning", what, in_shell(fix))


def failing(name: str, error: SkillOptError, fix: str = "") -> Check:
    """A row with the error and the exit code that a run would end with."""
    fix = fix or error.hint or "`skillopt --help` lists the commands"
    return Check(name, "failing", error.message, in_shell(fix), error.exit_code)


Found = Iterable[Check]


async def run_check(name: str, look: Callable[[], Found | Awaitable[Found]]) -> list[Check]:
    """The rows of a check; an error in the check becomes a failing row."""
    try:
        found = look()
        return list(await found if isawaitable(found) else found)
    except SkillOptError as error:
        return [failing(name, error)]
    # Plug-ins and the machine may fail in any way, which is a row and not the end of the checks.
    except Exception as error:
        culprit = at_fault(error) or "the check itself"
        what = " ".join(f"{culprit} failed: {type(error).__name__}: {error}".split())
        fix = "tell its authors" if at_fault(error) else "report it with this line"
        return [Check(name, "failing", what, fix, SkillOptError.exit_code)]
