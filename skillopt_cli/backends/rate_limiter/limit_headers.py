"""Parses rate limits from the headers of an answer."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from skillopt_cli.core.task import RateLimits

_PARTS = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that the service asks to wait, at least 0; None without such a header.

    Parses milliseconds first, then `retry-after` in seconds or as an HTTP date (RFC 9110, 10.2.3).

    Args:
        headers: with lower-case or case-insensitive names.
        now: Unix seconds.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        milliseconds = _number(headers.get(name))
        if milliseconds is not None:
            return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def rate_limits(headers: Mapping[str, str], now: float) -> RateLimits | None:
    """Return the limits in the headers of OpenAI, Azure or Anthropic; None without any.

    If input and output tokens have separate limits, the scarcer one is returned.

    Args:
        headers: with lower-case or case-insensitive names.
        now: Unix seconds.
    """
    if not any("ratelimit" in name.lower() for name in headers):
        return None  # as most servers answer; each header that is asked for takes a search
    found = _openai(headers) or _anthropic(headers, now)
    return RateLimits(**found) if found else None


def _openai(headers: Mapping[str, str]) -> dict[str, float]:
    """Limits as `x-ratelimit-remaining-tokens: 9` and `x-ratelimit-reset-tokens: 6m0s`."""
    return {
        **_read(headers, "x-ratelimit-{what}-requests", "requests", _duration),
        **_read(headers, "x-ratelimit-{what}-tokens", "tokens", _duration),
    }


def _anthropic(headers: Mapping[str, str], now: float) -> dict[str, float]:
    """Limits as `anthropic-ratelimit-tokens-remaining: 9`, with the times of reset."""

    def until(value: str | None) -> float | None:
        try:
            return max(0.0, datetime.fromisoformat(value or "").timestamp() - now)
        except (ValueError, OverflowError):
            return None

    kinds = [
        _read(headers, f"anthropic-ratelimit-{kind}-{{what}}", "tokens", until)
        for kind in ("tokens", "input-tokens", "output-tokens")
    ]
    scarcest = min(kinds, key=_share_left)
    return {
        **_read(headers, "anthropic-ratelimit-requests-{what}", "requests", until),
        **scarcest,
    }


def _share_left(kind: Mapping[str, float]) -> float:
    left, limit = kind.get("tokens_left"), kind.get("tokens")
    if left is None:
        # Nothing is known, or only the limit.
        return math.inf if limit is None else sys.float_info.max
    return left / limit if limit else left


def _read(
    headers: Mapping[str, str],
    template: str,
    name: str,
    seconds: Callable[[str | None], float | None],
) -> dict[str, float]:
    """Return the fields of `RateLimits` about `name` that the headers contain."""
    fields = {
        name: _count(headers.get(template.format(what="limit"))),
        f"{name}_left": _count(headers.get(template.format(what="remaining"))),
        f"{name}_reset": seconds(headers.get(template.format(what="reset"))),
    }
    return {field: value for field, value in fields.items() if value is not None}


def _duration(value: str | None) -> float | None:
    """Parse a duration such as "6m0s", "120ms" or "1.5" into seconds; None if it is none."""
    text = (value or "").strip()
    parts = _PARTS.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return _number(value)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _number(value: str | None) -> float | None:
    """Parse a finite number, at least 0."""
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _count(value: str | None) -> float | None:
    # Azure sends -1 for what it does not count.
    return None if (value or "").strip().startswith("-") else _number(value)
