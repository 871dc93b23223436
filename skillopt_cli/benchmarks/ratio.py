"""The ratio split: membership depends on seed and task ids, never on the order of the file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.task import SPLITS

T = TypeVar("T")


def parse_ratio(ratio: str) -> tuple[int, ...]:
    """Three weights from "2:1:7".

    Raises:
        ConfigError: they are not three positive whole numbers.
    """
    parts = ratio.split(":")
    if len(parts) != len(SPLITS) or not all(p.isascii() and p.isdigit() and int(p) for p in parts):
        raise ConfigError(
            f"env.split_ratio `{ratio}` is not three positive whole numbers", "such as 2:1:7"
        )
    return tuple(int(part) for part in parts)


def hash_order(items: Iterable[T], seed: int, key: Callable[[T], str]) -> list[T]:
    """The items in an order that depends on the seed and their keys only, not on their order."""
    return sorted(items, key=lambda item: _rank(seed, key(item)))


def ratio_counts(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """`total` shared out by largest remainder, at least one each; needs total >= len(weights)."""
    whole = sum(weights)
    counts = [total * weight // whole for weight in weights]
    by_remainder = sorted(
        range(len(weights)), key=lambda i: (-(total * weights[i] % whole), -weights[i], i)
    )
    for i in by_remainder[: total - sum(counts)]:
        counts[i] += 1
    while 0 in counts:
        counts[counts.index(max(counts))] -= 1
        counts[counts.index(0)] += 1
    return tuple(counts)


def _rank(seed: int, task_id: str) -> bytes:
    # 15 bytes are beyond chance collisions, and half the memory of a whole digest.
    return hashlib.sha256(f"{seed}\0{task_id}".encode()).digest()[:15]
