"""Chances: how often so many of `n` independent tries succeed. Pure."""

from __future__ import annotations

import math


def binomial(n: int, p: float, least: int = 0) -> list[float]:
    """The chances that `least`, `least` + 1, ... `n` of `n` tries succeed, each with chance `p`."""
    if p <= 0.0 or p >= 1.0:
        sure = n if p >= 1.0 else 0
        return [float(k == sure) for k in range(least, n + 1)]
    whole, won, lost = math.lgamma(n + 1), math.log(p), math.log1p(-p)
    return [
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * won + (n - k) * lost)
        for k in range(least, n + 1)
    ]
