"""`skillopt doctor`."""

from __future__ import annotations

import asyncio
import locale
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from skillopt_cli.cli.options import BenchmarkArgument, JsonOption
from skillopt_cli.cli.output import console_on, show_json
from skillopt_cli.cli.run_flags import EVERY, with_run_flags
from skillopt_cli.compose.settings import Overrides, shown_secrets
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.formatting import count
from skillopt_cli.doctor import Check, Setup, Terminal, check_setup, exit_code

_STATES = {"ok": "ok", "warning": "warning", "failing": "FAILING"}
_COLOURS = {"ok": "green", "warning": "yellow", "failing": "bold red"}


@with_run_flags(*EVERY)
def doctor(
    *,
    benchmark: BenchmarkArgument = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Also make one short call per role.")
    ] = False,
    json: JsonOption = False,
    overrides: Overrides,
) -> None:
    """Check the setup and print a fix for each fault.

    Offline and free, unless --probe is given. Exits with 2, 3 or 4 when something fails, as the run
    would.
    """
    environment = read_environment()
    found = asyncio.run(check_setup(Setup(overrides, environment, _terminal(), probe)))
    hide = shown_secrets(overrides, environment).hide
    if json:
        show_json({"ok": not exit_code(found), "checks": [_document(c, hide) for c in found]})
    else:
        _show(found, hide)
    raise typer.Exit(exit_code(found))


def _terminal() -> Terminal:
    console = console_on(stderr=True)
    return Terminal(
        width=console.width if console.is_terminal else None,
        colour=console.color_system is not None,
        encoding=sys.stdout.encoding or "",
        locale=locale.getencoding(),
    )


def _document(check: Check, hide: Callable[[str], str]) -> dict[str, Any]:
    return {name: hide(v) if isinstance(v, str) else v for name, v in asdict(check).items()}


def _show(found: Sequence[Check], hide: Callable[[str], str]) -> None:
    width = max(len(check.name) for check in found)
    console = console_on(stderr=False)
    for check in found:
        state = typer.style(f"{_STATES[check.state]:7}", **_style(check, console.color_system))
        typer.echo(f"{state}  {check.name:{width}}  {hide(check.what)}")
        if check.fix:
            typer.echo(f"{'':7}  {'':{width}}  fix: {hide(check.fix)}")
    typer.echo(", ".join(_totals(found)))


def _style(check: Check, colours: str | None) -> dict[str, Any]:
    if colours is None:
        return {}
    *bold, colour = _COLOURS[check.state].split()
    return {"fg": colour, "bold": bool(bold)}


def _totals(found: Sequence[Check]) -> Iterator[str]:
    states = [check.state for check in found]
    failing, warnings = states.count("failing"), states.count("warning")
    yield f"{count(failing, 'check')} failing" if failing else "nothing fails"
    if warnings:
        yield count(warnings, "warning")
