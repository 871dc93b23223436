"""`skillopt backends list --probe`: what a tiny call to each role came to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import typer

from skillopt_cli.cli.show import show_json
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.probe import Probed, probe
from skillopt_cli.compose.secrets import Secrets
from skillopt_cli.compose.settings import Wishes
from skillopt_cli.core.task import Usage

_SHOWN = 100


def show_probe(wishes: Wishes, environment: Mapping[str, str], *, as_json: bool) -> None:
    """Ask both roles and print what came of it.

    Raises:
        typer.Exit: with the code that a run would end with when a role cannot be used; that of the
            first one where they differ.
    """
    hide = Secrets.of(environment).hide
    found = asyncio.run(probe(wishes, environment))
    if as_json:
        show_json([document(probed, hide) for probed in found])
    else:
        for probed in found:
            for line in lines(probed):
                typer.echo(hide(line))
    failed = next((probed for probed in found if probed.failed), None)
    if failed is not None:
        raise typer.Exit(failed.code)


def document(probed: Probed, hide: Callable[[str], str]) -> dict[str, Any]:
    """A probed role as JSON, without any key."""
    row = asdict(probed) | {"ok": not probed.failed}
    seconds = None if probed.seconds is None else round(probed.seconds, 3)
    return {name: hide(v) if isinstance(v, str) else v for name, v in row.items()} | {
        "seconds": seconds
    }


def lines(probed: Probed) -> Iterator[str]:
    """A probed role for people."""
    model = f"/{probed.model}" if probed.model and probed.model != probed.backend else ""
    place = f" at {probed.address}" if probed.address else ""
    yield f"{probed.role}: {probed.backend}{model}{place}"
    if probed.seconds is not None:
        yield f"  answered in {probed.seconds:.2f} s ({probed.finish}): {_quoted(probed.answer)}"
        yield f"  usage: {_tokens(probed.usage)}"
    if probed.read:
        yield f"  read as: {_quoted(probed.read)}"
    if probed.note:
        yield f"  note: {probed.note}"
    if probed.failed:
        yield f"  error: {probed.error}"
        yield f"  hint: {in_shell(probed.hint)}"


def _tokens(usage: Usage | None) -> str:
    if usage is None or usage.prompt_tokens is usage.completion_tokens is None:
        return "unknown, the service does not report it"
    parts = [f"{_known(usage.prompt_tokens)} read", f"{_known(usage.completion_tokens)} written"]
    parts += [f"{usage.cached_tokens} of them cached"] if usage.cached_tokens else []
    parts += [f"{usage.reasoning_tokens} for reasoning"] if usage.reasoning_tokens else []
    return f"tokens {', '.join(parts)}"


def _known(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[:_SHOWN]}…"' if len(line) > _SHOWN else f'"{line}"'
