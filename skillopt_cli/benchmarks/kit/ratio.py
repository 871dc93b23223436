"""The ratio split: membership depends on seed and task ids, never on the order of the file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.task import SPLITS

T = TypeVar("T")


BY_LABEL = " by label"
"""End of a ratio whose parts are to have equal shares of every label."""
BY_KIND = " by kind"
"""The same, of every kind of task."""


def parse_ratio(ratio: str) -> tuple[int, ...]:
    """Three weights from "2:1:7", "2:1:7 by label" or "2:1:7 by kind".

    Raises:
        ConfigError: they are not three positive whole numbers.
    """
    parts = ratio.removesuffix(BY_LABEL).removesuffix(BY_KIND).split(":")
    if len(parts) != len(SPLITS) or not all(p.isascii() and p.isdigit() and int(p) for p in parts):
        raise ConfigError(
            f"env.split_ratio `{ratio}` is not three positive whole numbers", "such as 2:1:7"
        )
    return tuple(int(part) for part in parts)


def hash_order(items: Iterable[T], seed: int, key: Callable[[T], str]) -> list[T]:
    """The items in an order that depends on the seed and their keys only, not on their order."""

    def rank(item: T) -> bytes:
        # 15 bytes are beyond chance collisions, and half the memory of a whole digest.
        return hashlib.sha256(f"{seed}\0{key(item)}".encode()).digest()[:15]

    return sorted(items, key=rank)


def label_order(
    items: Sequence[T], seed: int, key: Callable[[T], str], label: Callable[[T], str]
) -> list[T]:
    """The items in an order of which any stretch holds its share of each label.

    It depends on the seed, the keys and the labels only. A label's items are spread evenly over the
    order, from a place of its own on, so that rare labels do not all meet in one place.
    """
    groups: dict[str, list[T]] = {}
    for item in hash_order(items, seed, key):
        groups.setdefault(label(item), []).append(item)
    places: dict[str, float] = {}
    for name, group in groups.items():
        start = int.from_bytes(hashlib.sha256(f"{seed}\0{name}".encode()).digest()[:6]) / 2**48
        places |= {key(item): (n + start) / len(group) for n, item in enumerate(group)}
    return sorted(hash_order(items, seed, key), key=lambda item: places[key(item)])


def ratio_counts(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """`total` shared out by largest remainder, at least one each where that is possible."""
    whole = sum(weights)
    counts = [total * weight // whole for weight in weights]
    by_remainder = sorted(
        range(len(weights)), key=lambda i: (-(total * weights[i] % whole), -weights[i], i)
    )
    for i in by_remainder[: total - sum(counts)]:
        counts[i] += 1
    while 0 in counts and total >= len(counts):
        counts[counts.index(max(counts))] -= 1
        counts[counts.index(0)] += 1
    return tuple(counts)
