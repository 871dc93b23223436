"""Pieces of a stage's work side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from skillopt_cli.core.errors import SkillOptError

T = TypeVar("T")


async def side_by_side(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of some coroutines, in their order; when one fails the others are cancelled.

    Raises:
        Exception: the one error to report; see `first_cause`.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except ExceptionGroup as failures:
        raise first_cause(failures) from failures
    return [task.result() for task in tasks]


def first_cause(failures: ExceptionGroup[Exception]) -> Exception:
    """The error to report of concurrent ones: a bug before anything else, else the first."""
    leaves: list[Exception] = []
    for failure in failures.exceptions:
        leaves.append(first_cause(failure) if isinstance(failure, ExceptionGroup) else failure)
    return next((e for e in leaves if not isinstance(e, SkillOptError)), leaves[0])
