"""What a run may use, and how much of it is used, in words: caps, pace, refused parameters."""

from __future__ import annotations

from typing import assert_never

from skillopt_cli.core import events as ev
from skillopt_cli.core.caps import CAPS, Use
from skillopt_cli.runlog.event_groups import CallFact
from skillopt_cli.runlog.text.format import count, dollars, one_line
from skillopt_cli.runlog.view import RunView

_MOMENT = 0.05
"""Minutes below which a time is shown in seconds."""


def call_lines(event: CallFact) -> tuple[str, ...]:
    """The lines for a fact about a call; calls themselves are only counted."""
    match event:
        case ev.CallMade() | ev.CallFailed() | ev.CallRetried() | ev.JudgedTwice():
            return ()
        case ev.ParameterRefused():
            return (f"Model `{one_line(event.model)}` {refused_words(event)}",)
        case ev.PaceChanged():
            return (f"[Pace] {pace_words(event)}",)
        case ev.BudgetSpent():
            return (f"[Budget] {_mark(event)}",)
    assert_never(event)


def refused_words(event: ev.ParameterRefused) -> str:
    """What a model does not take, without its name."""
    return f"does not take `{one_line(event.parameter)}`; it is left out from now on"


def pace_words(event: ev.PaceChanged) -> str:
    """How fast a model may be asked, and why: `openai_compatible/m: 8 calls in flight (...)`."""
    return f"{pace_place(event)}: {speed_words(event)} ({one_line(event.reason)})"


def pace_place(event: ev.PaceChanged) -> str:
    """Which model is asked, and where."""
    return f"{one_line(event.provider)}/{one_line(event.model)}"


def speed_words(event: ev.PaceChanged) -> str:
    """How fast a model may be asked: `8 calls in flight, 95 per minute`."""
    flight = f"{count(event.in_flight, 'call')} in flight"
    return flight if (n := event.per_minute) is None else f"{flight}, {_number(n)} per minute"


def _mark(event: ev.BudgetSpent) -> str:
    spent, limit = cap_pair(event.cap, event.spent, event.limit)
    return f"{event.share:.0%}".replace("%", " %") + f" of {event.cap}: {spent} of {limit}"


def limits_words(limits: ev.Limits) -> str:
    """The limits in force: `8 workers, 16 analysts, 64 calls at once per provider; no caps`."""
    caps = ", ".join(f"{one_line(cap)} {cap_limit(cap, value)}" for cap, value in limits.caps)
    return f"{width_words(limits)} per provider; {caps or 'no caps'}"


def width_words(limits: ev.Limits) -> str:
    """How much is done at a time."""
    analysts = f", {count(limits.analyst_workers, 'analyst')}" if limits.analyst_workers else ""
    ceiling = count(limits.max_concurrency, "call")
    return f"{count(limits.workers, 'worker')}{analysts}, {ceiling} at once"


def cap_limit(cap: str, limit: float) -> str:
    """A cap as it was set, in the unit of its name; a moment in seconds, as `1.5s`."""
    if cap == "max_usd":
        return dollars(limit)
    return f"{60 * limit:,.10g}s" if _in_seconds(cap, limit) else f"{limit:,.10g}"


def cap_pair(cap: str, spent: float, limit: float) -> tuple[str, str]:
    """What is used of a cap, and the cap, in one unit; what goes beyond it is not rounded away."""
    # Less than that is no news: no clock is read at the very moment.
    above = limit if spent >= 1.001 * limit else 0.0
    shown = cap_limit(cap, limit)
    if cap == "max_usd":
        text = dollars(spent)
        beyond = float(text[1:].replace(",", "")) > above or not above
        return text if beyond else f"${_number(spent, above, 2)}", shown
    if _in_seconds(cap, limit):
        return f"{_number(60 * spent, 60 * above)}s", shown
    return _number(spent, above), shown


def _in_seconds(cap: str, limit: float) -> bool:
    """Whether a cap is a time that would be no minutes at all."""
    return cap == "max_minutes" and limit < _MOMENT


def _number(value: float, above: float = 0.0, least: int = 0) -> str:
    """A number with few digits, yet more than `above` where it is.

    Args:
        least: decimals at least.
    """
    text = f"{value:,.0f}"
    whole = value >= 100 or value == int(value)
    for decimals in range(max(least, 0 if whole else 1), 10):
        text = f"{value:,.{decimals}f}"
        if value <= above or float(text.replace(",", "")) > above:
            break
    return text


def caps_of(view: RunView) -> tuple[tuple[str, float, float], ...]:
    """The caps the newest process works within: name, limit, and how much of it is used.

    Used is what counts towards the cap: calls of unknown cost are not taken for free.
    """
    caps = view.run.limits.caps if view.run and view.run.limits else ()
    use = Use(view.ledger, view.wall_time / 60)
    return tuple((name, limit, use.of(name)) for name, limit in caps if name in CAPS)


def cap_words(view: RunView) -> list[tuple[str, float]]:
    """How much of each cap is used, in words and as a share of it; the most pressing first."""
    total = view.ledger.total
    gaps = {"max_usd": total.unpriced, "max_tokens": total.silent}
    found = []
    for name, limit, used in caps_of(view):
        about = "about " if gaps.get(name) else ""
        has_unit = name == "max_usd" or _in_seconds(name, limit)
        unit = "" if has_unit else f" {name.removeprefix('max_')}"
        spent, most = cap_pair(name, used, limit)
        words = f"{about}{spent} of {most}{unit}"
        found.append((words, used / limit))
    return sorted(found, key=lambda cap: -cap[1])


def slowed(view: RunView) -> list[ev.PaceChanged]:
    """How fast models may be asked that are held back now, by provider and model."""
    limits = view.run.limits if view.run else None
    ceiling = limits.max_concurrency if limits else 0
    return [
        fact
        for _, fact in sorted(view.pace.items())
        if fact.per_minute is not None or fact.in_flight < ceiling
    ]
