"""Options in an order that belongs to the item: the same in training, comparison and test."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def shuffled(options: Sequence[T], seed: int, item: str) -> list[T]:
    """The options in the order that the published code gives an item of this id under a seed.

    There the seed is that of a batch, so that one item has other labels in training than when two
    skills are compared on it; here it is one for the whole run.
    """
    digest = hashlib.sha256(f"{seed}:{item}".encode(errors="surrogatepass")).hexdigest()
    order = list(options)
    Random(int(digest[:16], 16)).shuffle(order)
    return order
