"""What calls cost, in words. Unknown is said to be unknown, and a sum with gaps a lower bound."""

from __future__ import annotations

from typing import TypeVar

from skillopt_cli.core.ledger import Spent
from skillopt_cli.runlog.text.format import count, dollars

N = TypeVar("N", int, float)


def spend_words(spent: Spent) -> str:
    """Calls, tokens and price: `3 calls, 300 tokens, at least $1.20 (1 call of unknown price)`."""
    parts = (count(spent.calls, "call"), tokens_words(spent), money_words(spent))
    return ", ".join(part for part in parts if part)


def role_words(role: str, spent: Spent) -> str:
    """What a role's calls cost, with the share of its prompts that came from a cache, if any did.

    `target 3 calls, 300 tokens, $1.20, prompt 57 % cached`
    """
    share = (spent.cached_tokens or 0) / (spent.prompt_tokens or 1)
    cached = f", prompt {100 * share:.0f} % cached" if share else ""
    return f"{role} {spend_words(spent)}{cached}"


def tokens_words(spent: Spent) -> str:
    """The tokens, or an empty text when nothing was called."""
    if spent.tokens is None:
        return "tokens unknown" if spent.silent else ""
    return f"{'at least ' if spent.silent else ''}{count(spent.tokens, 'token')}"


def money_words(spent: Spent) -> str:
    """The price, or an empty text when all of it is known to be nothing."""
    if not spent.unpriced:
        return dollars(spent.usd) if spent.usd else ""
    gap = f"{count(spent.unpriced, 'call')} of unknown price"
    if spent.usd:
        return f"at least {dollars(spent.usd)} ({gap})"
    return "price unknown" if spent.unpriced == spent.calls else gap


def less(whole: Spent, part: Spent) -> Spent:
    """What is left of a spend without a part of it; a sum is None where it was never known."""
    return Spent(
        whole.calls - part.calls,
        whole.failed - part.failed,
        _less(whole.prompt_tokens, part.prompt_tokens),
        _less(whole.completion_tokens, part.completion_tokens),
        _less(whole.cached_tokens, part.cached_tokens),
        _less(whole.reasoning_tokens, part.reasoning_tokens),
        _less(whole.usd, part.usd),
        whole.silent - part.silent,
        whole.unpriced - part.unpriced,
    )


def _less(whole: N | None, part: N | None) -> N | None:
    return None if whole is None else whole if part is None else whole - part
