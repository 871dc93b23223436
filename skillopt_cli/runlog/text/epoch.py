"""An epoch's end in words: what was compared, what guidance came of it, what was noted."""

from __future__ import annotations

from typing import Any, assert_never

from skillopt_cli.core.events import EpochCompared, MemoryWritten, SlowUpdateDecided
from skillopt_cli.runlog.event_groups import EpochFact
from skillopt_cli.runlog.parts import EpochView
from skillopt_cli.runlog.text.action import action_words
from skillopt_cli.runlog.text.format import count, one_line, score, shorten
from skillopt_cli.runlog.text.gate import forced_words, gate_line

_PAIRS = {"persistent_fail": "failed both times", "stable_success": "solved both times"}


def epoch_lines(event: EpochFact, *, verbose: bool = False) -> tuple[str, ...]:
    """The lines a fact about an epoch's end is worth, without its tag.

    Args:
        verbose: show guidance and notes whole, a line of theirs on a line.
    """
    match event:
        case EpochCompared():
            return (compared_words(event),)
        case SlowUpdateDecided():
            words = slow_words(event)
            lines = (f"Slow update: {words}",) if words else ()
            if verbose:
                return (*lines, *(f"Guidance: {one_line(part)}" for part in whole(event.guidance)))
            guidance = guidance_words(event)
            return (*lines, *((f"Guidance: {guidance}",) if guidance else ()))
        case MemoryWritten():
            written = f"Meta skill: notes written ({count(len(event.notes), 'character')})"
            notes = whole(event.notes) if verbose else ()
            return (written, *(f"Meta skill: {one_line(part)}" for part in notes))
    assert_never(event)


def compared_words(event: EpochCompared) -> str:
    """Tasks under the last epoch's skill and this one's, by what became of them."""
    counts = ", ".join(f"{n} {_PAIRS.get(name, name)}" for name, n in event.categories if n)
    broken = f", {event.broken} broken" if event.broken else ""
    return f"Compared with the last epoch: {counts or 'no task'}{broken}"


def slow_words(event: SlowUpdateDecided) -> str:
    """What the slow update did; empty for the first epoch, which has none before it."""
    match event.action:
        case "inject_placeholder":
            return ""
        case "no_content":
            return "no usable guidance"
        case "force_accept" if event.decision is not None:
            return f"guidance injected, {forced_words(event.decision)}"
        case "force_accept":
            return (
                f"guidance injected, val score hard {score(event.hard)}, soft {score(event.soft)}"
            )
        case _ if event.outcome == "skip_no_op":
            return guidance_fate(event)
        case _ if event.decision is not None:
            return f"guidance measured, {gate_line(event.decision)}"
        case "indecisive":
            return "guidance not injected, too few attempts with it could be scored"
        case _:
            return action_words(event.action)


def guidance_fate(event: SlowUpdateDecided) -> str:
    """What became of the text with guidance; empty at the end of the first epoch, which has none.

    `guidance accepted, new best`, `guidance rejected`, `guidance skipped, skill unchanged`,
    `no usable guidance`.
    """
    if event.action == "inject_placeholder":
        return ""
    words = action_words(event.outcome)
    if event.action == "no_content":
        return words
    forced_best = event.action == "force_accept" and event.decision and event.decision.leads
    return f"guidance {words}{', new best' if forced_best else ''}"


def guidance_outcome(event: SlowUpdateDecided) -> str:
    """The same with the text's score under the gate metric, where it was measured."""
    decision = event.decision
    if decision is None or decision.candidate is None:
        return guidance_fate(event)
    bound = "at most " if decision.early else ""
    return f"{guidance_fate(event)} {bound}{score(decision.candidate)}"


def guidance_words(event: SlowUpdateDecided, limit: int = 100) -> str:
    """The guidance on one line, cut to `limit` characters; empty where there is none."""
    return shorten(event.guidance, limit)


def whole(text: str) -> tuple[str, ...]:
    """The lines of a text that are not blank."""
    return tuple(part for part in text.splitlines() if part.strip())


def epoch_document(epoch: EpochView) -> dict[str, Any]:
    """An epoch's end as JSON. `pairs` counts tasks by category; None when nothing was compared."""
    compared, slow = epoch.compared, epoch.slow
    return {
        "epoch": epoch.number,
        "step": epoch.step,
        "pairs": dict(compared.categories) if compared else None,
        "broken_pairs": compared.broken if compared else None,
        "slow_update_action": slow.action if slow else None,
        "slow_update_content": slow.guidance if slow else None,
        "selection_hard": slow.hard if slow else None,
        "selection_soft": slow.soft if slow else None,
        "meta_skill_content": epoch.notes or None,
    }
