"""`--record` and `--replay`: checked before anything is made or spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.compose.build import Order
from skillopt_cli.compose.settings import Wishes, settle
from skillopt_cli.config.layers import Resolved
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.store.recording import read_calls

RecordOption = Annotated[
    Path | None, typer.Option("--record", help="Write every model call that was used to this file.")
]
ReplayOption = Annotated[
    Path | None, typer.Option("--replay", help="Answer every model call from this recording.")
]


def settled(wishes: Wishes, environment: Mapping[str, str], replay: Path | None) -> Resolved:
    """The effective configuration and its sources; a replay asks for no endpoint and no key.

    Raises:
        ConfigError: anything about it does not hold.
    """
    if replay is not None:
        unasked = settle(replace(wishes, roles=()), environment)
        if unasked.config.env.name:
            return unasked
    return settle(wishes, environment)


def taped(
    order: Order, record: Path | None, replay: Path | None, *, carry_on: bool = False
) -> Order:
    """The order with its recordings, which are looked at before anything else is done.

    Args:
        carry_on: an existing recording is added to rather than refused.

    Raises:
        UsageError: the two exclude each other, or the file to write exists.
        DataError: a recording cannot be read, or not be written where it shall be.
    """
    if record is not None and replay is not None:
        raise UsageError("--record and --replay exclude each other", "give one of the two")
    if record is not None:
        _check_place(record, carry_on=carry_on)
    if replay is not None:
        for _ in read_calls(replay):
            pass
    return replace(order, record=record, replay=replay)


def _check_place(record: Path, *, carry_on: bool) -> None:
    if record.is_dir():
        raise UsageError(f"{record} is a folder", "name a file with --record")
    if record.exists() and not carry_on:
        raise UsageError(
            f"the recording {record} exists already",
            "name another file; `skillopt resume RUN --record FILE` carries on with one",
        )
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        beside = record.with_name(f".{record.name}.tmp")
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise DataError(
            f"the recording {record} cannot be written: {error.strerror or error}",
            "name another file with --record",
        ) from None
