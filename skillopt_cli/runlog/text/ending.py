"""The last lines of a run: tests, result, cost, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from skillopt_cli.core.errors import BudgetExhausted, Interrupted
from skillopt_cli.core.events import NOTICED, RunFailed, RunFinished, TestMeasured
from skillopt_cli.runlog.result_hints import result_hints
from skillopt_cli.runlog.summary import status
from skillopt_cli.runlog.text.control import unused_hints_words
from skillopt_cli.runlog.text.format import (
    UNKNOWN,
    count,
    duration,
    one_line,
    origin_words,
    out_of,
    plain_words,
    result_name,
    score,
    shorten,
    state_words,
)
from skillopt_cli.runlog.text.limits import cap_words
from skillopt_cli.runlog.text.spend import money_words, role_words
from skillopt_cli.runlog.verdict import no_gain_words
from skillopt_cli.runlog.view import RunView

_LONGEST = 120
"""Characters of a reason."""
TEST_ORDER = ("no_skill", "seed", "best", "final", "eval")


def ending_lines(view: RunView, event: RunFinished | RunFailed) -> tuple[str, ...]:
    """The last lines of a run, the most important one last.

    The error that ended a run is no part of it: the command that started the run prints it.
    """
    test = test_line(view)
    lines = (*((test,) if test else ()), *spend_lines(view))
    if isinstance(event, RunFinished):
        why = no_gain_words(view)
        hints = (f"hint: {words}" for words in result_hints(view))
        return (*lines, *((why,) if why else ()), *hints, finish_line(view, event))
    return (*lines, _broken_off(view, event))


def _broken_off(view: RunView, event: RunFailed) -> str:
    """How far a failed run came, and how it goes on; why it failed is the caller's to say."""
    planned = view.total_steps
    extent = f"{view.done} of {count(planned, 'step')} recorded in " if planned else "after "
    if event.exit_code == BudgetExhausted.exit_code:
        extent = f"{status_words(view)}, in " if planned else "budget exhausted after "
    text = f"Ended early: {extent}{duration(view.wall_time)}"
    # An interruption is reported with this very advice.
    advised = "skillopt resume" in event.hint or event.exit_code == Interrupted.exit_code
    if not event.resumable or advised or view.run is None:
        return text
    return f"{text}; `skillopt resume {one_line(view.run.run_id)}` continues it"


def status_words(view: RunView) -> str:
    """The status of a run in words, in full for a budget."""
    word = state_words(status(view), None, view.ending.exit_code if view.ending else None)
    if word != "budget" or not view.total_steps:
        return word
    return f"budget exhausted after {count(view.done, 'step')} of {view.total_steps}"


def test_line(view: RunView) -> str:
    """The test results so far, or an empty text: `Test: seed 0.60 (n=100), best 0.79 (n=100)`."""
    title = "Test" if view.total_steps else "Score"
    return f"{title}{test_label(view)}: {words}" if (words := test_words(view)) else ""


def test_label(view: RunView) -> str:
    """Which score the tests show, where it is not the hard one throughout: ` (soft)`."""
    metric = view.run.metric if view.run else "hard"
    # A mixed score would hide which of its parts moved.
    return {"hard": "", "soft": " (soft)"}.get(metric, " (hard)")


def metric_label(view: RunView) -> str:
    """Which score the gate compares, where it is not the hard one: ` (mixed)`."""
    metric = view.run.metric if view.run else "hard"
    return "" if metric == "hard" else f" ({one_line(metric)})"


def test_words(view: RunView) -> str:
    """The test results without a title, comma-separated."""
    return ", ".join(_test(view, test) for test in ordered_tests(view))


def ordered_tests(view: RunView) -> tuple[TestMeasured, ...]:
    """Test results from no skill to final; labels of another kind come last."""
    known = [view.tests[label] for label in TEST_ORDER if label in view.tests]
    return (*known, *(t for label, t in view.tests.items() if label not in TEST_ORDER))


def _test(view: RunView, test: TestMeasured) -> str:
    soft = view.run is not None and view.run.metric == "soft"
    value = score(test.soft if soft else test.hard)
    return f"{result_name(test.label)} {value} ({out_of(test.scored, test.n)})"


def finish_line(view: RunView, event: RunFinished) -> str:
    """How the run ended, in one line."""
    code = f" (exit {event.exit_code})" if event.exit_code else ""
    if not view.total_steps and not event.done:
        return f"Finished{code} in {duration(view.wall_time)}"
    origin = f"from {origin_words(event.best_step, event.best_epoch)}"
    base = view.baseline
    seed = f"{score(base.value)} ({out_of(base.scored, base.n)})" if base else UNKNOWN
    means = view.saved.best if view.saved else None
    reach = f" ({out_of(means.scored, means.n)})" if means else ""
    return (
        f"Finished{code}: {count(event.done, 'step')} in {duration(view.wall_time)}, "
        f"best val score{metric_label(view)} {score(event.best_score)}{reach} {origin}, "
        f"baseline {seed}"
    )


def spend_lines(view: RunView) -> tuple[str, ...]:
    """What was spent, of which caps, and what went wrong; the latter only where there is any."""
    caps = ", ".join(words for words, _ in cap_words(view))
    trouble = trouble_words(view)
    twice, agreed = view.judged_twice
    asked, again = view.verdicts
    unread = f"Judge: {again} of {count(asked, 'verdict')} could not be read at first"
    return (
        f"Spent: {spend_by_role(view)}",
        *((f"Judge: {agreed} of {count(twice, 'second verdict')} agreed",) if twice else ()),
        *((unread,) if again else ()),
        *((f"Caps: {caps}",) if caps else ()),
        *((f"Trouble: {trouble}",) if trouble else ()),
        *((f"Note: {notice}",) if (notice := notice_words(view)) else ()),
    )


def spend_by_role(view: RunView) -> str:
    """What each role's calls cost and, where both cost money, all together."""
    roles = {role: view.spent_by(role) for role in view.roles}
    words = "; ".join(role_words(role, spent) for role, spent in roles.items())
    several = sum(bool(spent.usd) for spent in roles.values()) > 1
    return f"{words}; in all {money_words(view.spent)}" if several else words


def trouble_words(view: RunView) -> str:
    """Retries, broken attempts and what went on in a weaker way; empty when there was none.

    What a process states as it begins is no trouble, but of `notice_words`.

    `3 retries, 1 broken attempt (most often: connection refused); reflect: no answer`.
    """
    retries = sum(view.retries.values())
    # Given up, or of an outage, after which they are made again.
    others = max(0, sum(view.failed.values()) - retries)
    parts = [
        f"{retries} {'retry' if retries == 1 else 'retries'}" if retries else "",
        count(others, "other failed call") if others else "",
        _broken_words(view),
        *(f"{one_line(gone.name)} dropped" for gone in view.dropped),
    ]
    counted = ", ".join(part for part in parts if part)
    return "; ".join(filter(None, (counted, *_weaker(view, noticed=False))))


def notice_words(view: RunView) -> str:
    """What to know of a run: files left out, programs that can read yours, hints not used."""
    return "; ".join(filter(None, (*_weaker(view, noticed=True), unused_hints_words(view))))


def _weaker(view: RunView, *, noticed: bool) -> Iterator[str]:
    for where, times in view.degraded_by_place.items():
        if (where in NOTICED) is noticed:
            yield _weaker_words(view, where, times)


def _broken_words(view: RunView) -> str:
    if not view.broken_total:
        return ""
    often = one_line(next(iter(view.broken_reasons), ""))
    why = f" (most often: {often})" if often else ""
    return f"{count(view.broken_total, 'broken attempt')}{why}"


def _weaker_words(view: RunView, where: str, times: int) -> str:
    """What went on in a weaker way, with the reason, without the advice after it."""
    reason = shorten(view.degraded_reasons.get(where, "").partition("; ")[0], _LONGEST)
    often = f" {times} times, last" if times > 1 else ""
    return f"{plain_words(one_line(where))}{often}: {reason}"
