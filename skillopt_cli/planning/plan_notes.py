"""Notes on a plan: its assumptions, what its splits can show, and warnings."""

from __future__ import annotations

import math
from collections.abc import Iterator

from skillopt_cli.compose.script_paths import missing_scripts, missing_words
from skillopt_cli.core.events import Role
from skillopt_cli.core.formatting import count
from skillopt_cli.core.statistics import CHANGED, CLEAR_WINS, detectable_gain, least_gain
from skillopt_cli.core.task import Usage
from skillopt_cli.planning.call_costs import (
    ANSWER,
    CHARS_PER_TOKEN,
    GROWTH,
    PROPOSAL,
    long_skill_words,
)
from skillopt_cli.planning.forecast import Assumptions, Range
from skillopt_cli.planning.plan_from_run import EarlierRun
from skillopt_cli.planning.planner import CapCoverage, PlannedRun
from skillopt_cli.runlog.manifest_diff import MEASURED
from skillopt_cli.runlog.text.format import dollars

FEW = 20
"""Selection tasks below which their number is worth a warning."""
_VERIFYING = "; where few of many edits pass, verifying them takes more"


def plan_notes(plan: PlannedRun) -> Iterator[str]:
    """What the numbers rest on, what the splits can show, and what caps buy."""
    if plan.earlier is not None:
        yield from _taken(plan, plan.earlier)
    yield from _assumed(plan)
    yield (
        "The lower ends allow for a run that ends early: every selection task is solved, or"
        " patience runs out."
    )
    if plan.config.optimizer.prune:
        yield "Pruning counts the blocks of the seed skill, and one for each edit."
    if plan.likely is not None:
        more = "" if plan.config.optimizer.verify == "off" else _VERIFYING
        yield (
            f"Likely between {plan.likely.low:,.0f} and {plan.likely.high:,.0f} calls: few if 90 %"
            f" of the train tasks are solved at first, many if none are{more}."
        )
    if line := unsolved_words(plan):
        yield f"{line}."
    yield from _attempt_notes(plan)
    for split in MEASURED:
        yield _resolution(split, plan.sizes[split])
    planned = len(plan.forecast.steps)
    for coverage in plan.cap_coverage():
        if coverage.steps == planned:
            yield f"run.{coverage.cap} pays for all {planned} steps."
    yield from warnings(plan)


def unsolved_words(plan: PlannedRun) -> str:
    """How many calls are likely if the seed solves nothing; "" where its accuracy is known.

    Where edits are not verified, it hardly matters.
    """
    if plan.unsolved is None or plan.config.optimizer.verify == "off":
        return ""
    solved = plan.assumed.solved.point
    return (
        f"{plan.forecast.calls.point:,.0f} calls are likely if {solved:.0%} of the train tasks are"
        f" solved at first, {plan.unsolved:,.0f} if none are"
    )


def _taken(plan: PlannedRun, earlier: EarlierRun) -> Iterator[str]:
    """What the plan took from an earlier run."""
    known, parts = earlier.known, list(_shares(earlier.known))
    if known.latency is not None:
        parts.append(f"a call takes {known.latency:.3g} s")
    for role, costs in plan.costs.items():
        if costs.stages:
            cost = costs.other
            tokens = f"{cost.prompt.point:,.0f} + {cost.completion.point:,.0f}"
            parts.append(f"one of the {role} {tokens} tokens")
    said = ", ".join(parts) or "nothing, as all it measured is given"
    made, steps = known.last_step, count(earlier.steps, "step")
    extent = steps if made is None or made == earlier.steps else f"{made} of {steps}"
    yield f"Taken as likely from {earlier.run} ({extent}): {said}."


def _shares(known: Assumptions) -> Iterator[str]:
    """What is known of how a training goes, one part each."""
    if known.accuracy is not None:
        yield f"{known.accuracy:.0%} of the train tasks are solved"
    if known.best_step is not None:
        best = f"the best skill is of step {known.best_step}"
        yield best if known.best_step else "no step made a better skill"
    if known.last_step is not None:
        yield f"the run ends after step {known.last_step}"
    if known.unchanged is not None:
        yield f"{1 - known.unchanged:.0%} of the texts made are new ones"
    if known.measured is not None:
        yield f"{known.measured:.0%} of the selection split is measured of a new text"
    if known.trials is not None:
        yield f"verifying edits takes {known.trials:.1f} attempts per failed task"
    if known.passing is not None:
        yield f"the edits of a round of analysis solve {known.passing:.0%} of the failed tasks"
    if known.tested is not None:
        yield f"{count(known.tested, 'text')} {'is' if known.tested == 1 else 'are'} tested"
    if known.blocks is not None:
        yield f"pruning tries {count(known.blocks, 'block')}"


def _assumed(plan: PlannedRun) -> Iterator[str]:
    """What is neither taken from a run nor measured."""
    taken = plan.earlier.known if plan.earlier else Assumptions()
    own, parts = plan.assumed.without(taken), []
    if plan.assumed.accuracy is None:
        solved = plan.assumed.solved
        ends = f" (range {solved.low:.0%} to {solved.high:.0%})"
        parts.append(f"{solved.point:.0%} of the train tasks are solved at first{ends}")
    parts += _shares(own)
    if taken.latency is None:
        parts.append(latency_words(plan))
    unmeasured = {role for role, costs in plan.costs.items() if not costs.stages}
    if "target" in unmeasured:
        parts.append(f"an answer {number(ANSWER)} tokens")
    if "optimizer" in unmeasured:
        parts.append(f"a proposal {number(PROPOSAL)}{'' if 'target' in unmeasured else ' tokens'}")
    if "target" in unmeasured:
        parts.append(f"and a skill grows by {number(GROWTH)} tokens")
    if parts:
        yield f"Assumed: {', '.join(parts)}."


def latency_words(plan: PlannedRun) -> str:
    """What a call is taken to take: of any role, or of each where they differ."""
    first, *others = plan.seconds.items()
    if all(seconds == first[1] for _, seconds in others):
        return f"a call takes {first[1]:.3g} s"
    each = (f"one of the {role} {seconds:.3g} s" for role, seconds in others)
    return ", ".join([f"a call of the {first[0]} takes {first[1]:.3g} s", *each])


def _attempt_notes(plan: PlannedRun) -> Iterator[str]:
    """How attempts go, where they take more than one call."""
    attempt = plan.forecast.attempt
    measured = plan.earlier is not None and plan.earlier.ledger.rollouts > 0
    turns, verdicts = f"{attempt.turns.point:.1f}", f"{attempt.verdicts.point:.1f}"
    if plan.by_program and measured:
        yield f"An attempt counts as {turns} calls, as in that run; a program may make more."
    elif plan.by_program:
        yield "An attempt counts as one call; a program may make several: then these are too few."
    elif attempt.turns.high > 1:
        taken = f"{turns}, as in that run" if measured else "about half of them"
        yield f"An attempt may take {attempt.turns.high:,.0f} turns; {taken} are likely."
    if attempt.verdicts.high:
        taken = (
            f"{verdicts} verdicts an attempt, as in that run" if measured else "half of the answers"
        )
        yield f"A model judges what is not plainly right or wrong: {taken}, it is taken."


def _resolution(split: str, n: int) -> str:
    """What a split can show: words for a number that does not exist."""
    gain, least = detectable_gain(n), least_gain(n)
    if least is None:
        shown = "no gain is distinguishable from chance"
    elif gain is None:
        shown = (
            f"if two skills differ on {CHANGED:.0%} of them, no gain is distinguishable from"
            f" chance; if none is lost, one of {_points(least)} is"
        )
    else:
        shown = (
            f"if two skills differ on {CHANGED:.0%} of them, a gain of {_points(gain)} is"
            f" distinguishable from chance; if none is lost, one of {_points(least)}"
        )
    return (
        f"The {split} split has {count(n, 'task')}: one is {100 / n:.1f} points; {shown}"
        " (four times in five, by an exact paired test at the 5 % level)."
    )


def _points(share: float) -> str:
    """A gain in whole hundredths, rounded up: it must be no less."""
    return count(math.ceil(100 * share - 1e-9), "point")


def warnings(plan: PlannedRun) -> Iterator[str]:
    """What to consider before money is spent."""
    if (selection := plan.sizes["selection"]) < FEW:
        tasks, shown = count(selection, "task"), _few_words(selection)
        yield f"Warning: the selection split has only {tasks}: {shown}"
    yield from start_warnings(plan)
    for warning in plan.data_warnings:
        yield f"Warning: {warning}"


def _few_words(n: int) -> str:
    """What so few tasks show: which measured gains can be chance, and which true ones come out."""
    least = least_gain(n)
    if least is None:
        return "any measured gain can be chance"
    true = math.ceil(100 * least - 1e-9) / 100
    return (
        f"measured gains below {CLEAR_WINS / n:.2f} can be chance, and only a true gain of"
        f" {true:.2f} or more will likely measure as much"
    )


def start_warnings(plan: PlannedRun) -> Iterator[str]:
    """The warnings that a run does not give itself when it begins."""
    planned = len(plan.forecast.steps)
    for script in missing_scripts(plan.config):
        yield f"Warning: {missing_words(script)}"
    if plan.unsuited:
        yield f"Warning: {plan.unsuited}"
    if plan.unedited:
        yield f"Warning: {plan.unedited}"
    if words := long_skill_words(plan.skill_chars, "the seed skill"):
        yield f"Warning: {words}{_long_skill_price(plan)}"
    for role, name in (plan.earlier.models if plan.earlier else {}).items():
        if role in plan.costs and plan.costs[role].name != name:
            yield f"Warning: the {role} of the earlier run was {name}, not {plan.costs[role].name}"
    for coverage in plan.cap_coverage():
        if coverage.steps < planned:
            yield f"Warning: {_coverage_text(coverage, planned)}"


def _long_skill_price(plan: PlannedRun) -> str:
    """What a long seed skill costs, call by call, where that is known and not nothing."""
    read = Usage(1, plan.skill_chars // CHARS_PER_TOKEN, 0)
    readers: tuple[Role, ...] = ("target", "optimizer")
    prices = [
        f"{dollars(usd)} in each of the {role}"
        for role in readers
        if role in plan.costs and (usd := plan.costs[role].price(read))
    ]
    return f": {', '.join(prices)}" if prices else ""


def _coverage_text(coverage: CapCoverage, planned: int) -> str:
    less = "" if coverage.tested else ", and not the final test"
    raised = f"raise it with `run.{coverage.cap.name}=N`"
    return f"run.{coverage.cap} buys {coverage.steps} of {planned} steps{less}; {raised}"


def number(amount: Range) -> str:
    """What is likely and, where it is not known, its range."""
    if amount.low == amount.high:
        return f"{amount.point:,.0f}"
    return f"{amount.point:,.0f} ({amount.low:,.0f} to {amount.high:,.0f})"
