"""How numbers and foreign text are said in one line, the same in every display."""

from __future__ import annotations

import math

from skillopt_cli.core.errors import Interrupted
from skillopt_cli.core.formatting import count as count

UNKNOWN = "unknown"
SEED = "the seed skill"


def one_line(text: str) -> str:
    """`text` on one line, without characters a terminal would obey.

    White space runs become one space; anything else unprintable (escape codes, lone surrogates,
    direction marks) becomes `?`.
    """
    joined = " ".join(text.split())
    return (
        joined if joined.isprintable() else "".join(c if c.isprintable() else "?" for c in joined)
    )


def result_name(label: str) -> str:
    """The name of a result; the label `eval` is an evaluation of the test split."""
    return "test" if label == "eval" else plain_words(one_line(label))


def plain_words(name: str) -> str:
    """A name of the files with spaces in place of its underscores."""
    return name.replace("_", " ")


def state_words(status: str, paused: str | None, exit_code: int | None = None) -> str:
    """A run's status; of one that is paused instead that, and what the pause waits for.

    A run that the user stopped is "stopped"; "interrupted" is one whose process is gone.
    """
    held = {"now": "paused", "edits": "paused with its edits chosen"}
    if status == "interrupted" and exit_code == Interrupted.exit_code:
        return "stopped"
    return held[paused] if paused else plain_words(status)


def shorten(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters; a cut shows as `...`."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    return line[: max(0, limit - 3)].rstrip() + "..."[: max(0, limit)]


def score(value: float | None) -> str:
    """A score with two decimals, or the word for an unknown one."""
    return UNKNOWN if value is None else f"{_even(value):.2f}"


def _even(value: float) -> float:
    """The value without the noise of sums, so that 0.22499999999999998 is rounded as 0.225 is."""
    return round(value, 9)


def pair(left: float | None, right: float | None) -> tuple[str, str]:
    """Two scores with two decimals, or as many as it takes to tell different ones apart."""
    for decimals in (2, 3, 4):
        shown = tuple(UNKNOWN if v is None else f"{_even(v):.{decimals}f}" for v in (left, right))
        if shown[0] != shown[1] or left == right:
            break
    return shown[0], shown[1]


def change(value: float | None) -> str:
    """A difference of scores with its sign."""
    return UNKNOWN if value is None else f"{_even(value):+.2f}"


def p_value(chance: float) -> str:
    """A p-value with three decimals; one that is not zero is never shown as zero."""
    return f"{chance:.3f}" if chance >= 0.0005 else "<0.001"


def p_words(chance: float) -> str:
    """The same in a sentence: `p = 0.062`, `p < 0.001`."""
    shown = p_value(chance)
    return f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def out_of(scored: int, n: int) -> str:
    """How many tasks a mean rests on: `n=40`, or `n=38 of 40` when some have no score."""
    return f"n={n}" if scored == n else f"n={scored} of {n}"


def origin_words(step: int, epoch: int = 0) -> str:
    """Where a text of a run comes from: `the seed skill`, `step 3`, `the end of epoch 2`."""
    if epoch:
        return f"the end of epoch {epoch}"
    return f"step {step}" if step else SEED


def cut_rate(rate: float) -> str:
    """An unrounded learning rate with one decimal, cut and not rounded (7.77 -> 7.7)."""
    return f"{math.floor(rate * 10 + 1e-9) / 10:.1f}"


def duration(seconds: float | None) -> str:
    """Seconds for people: `8s`, `3m 20s`, `2h 05m`."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"


def dollars(usd: float) -> str:
    """US dollars with cents; a small amount with three digits that count, so that it is not zero.

    `$1,234.50`, `$0.12`, `$0.0285`.
    """
    if not 0 < usd < 0.1:
        return f"${usd:,.2f}"
    whole, cents = f"{usd:.{2 - math.floor(math.log10(usd))}f}".split(".")
    return f"${whole}.{cents.rstrip('0').ljust(2, '0')}"
