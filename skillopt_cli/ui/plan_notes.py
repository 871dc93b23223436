"""What is said beside the numbers of a plan: what they rest on, and what to think over."""

from __future__ import annotations

import math
from collections.abc import Iterator

from skillopt_cli.compose.call_costs import ANSWER, GROWTH, PROPOSAL, Cost
from skillopt_cli.compose.comparison import MEASURED
from skillopt_cli.compose.planning import Bought, Planned
from skillopt_cli.core.events import Role
from skillopt_cli.core.resolution import CHANGED, detectable_gain, least_gain
from skillopt_cli.core.task import Usage
from skillopt_cli.core.words import count
from skillopt_cli.engine.earlier import Earlier
from skillopt_cli.engine.forecast import Assumptions, Range
from skillopt_cli.ui.words import dollars

FEW = 20
"""Selection tasks below which their number is worth a warning."""
LONG = 10_000
"""Tokens of a seed skill from which its length is worth one: some times what skills mostly have."""


def plan_notes(plan: Planned) -> Iterator[str]:
    """What the numbers rest on, what the splits can show, and what caps buy."""
    if plan.earlier is not None:
        yield from _taken(plan, plan.earlier)
    yield from _assumed(plan)
    yield (
        "The lower ends allow for a run that ends early: with every selection task solved, or for"
        " want of patience."
    )
    yield from _course_notes(plan)
    for split in MEASURED:
        yield _resolution(split, plan.sizes[split])
    planned = len(plan.forecast.steps)
    for bought in plan.bought():
        if bought.steps == planned:
            yield f"run.{bought.cap} pays for all {planned} steps."
    yield from warnings(plan)


def _taken(plan: Planned, earlier: Earlier) -> Iterator[str]:
    """What the plan took from an earlier run."""
    told, parts = earlier.told, []
    if told.accuracy is not None:
        parts.append(f"{told.accuracy:.0%} of the train tasks are solved")
    if told.best_step is not None:
        parts.append(
            f"the best skill is of step {told.best_step}"
            if told.best_step
            else "no step made a better skill"
        )
    if told.unchanged is not None:
        parts.append(f"{told.unchanged:.0%} of the texts made are no new ones")
    if told.measured is not None:
        parts.append(f"{told.measured:.0%} of the selection split is measured of a new text")
    if told.latency is not None:
        parts.append(f"a call takes {told.latency:.3g} s")
    for role, costs in plan.costs.items():
        if costs.stages:
            parts.append(f"one of the {role} {_read_and_written(costs.other)} tokens")
    said = ", ".join(parts) or "nothing: it measured nothing that is not told otherwise"
    yield f"Taken as likely from {earlier.run} ({count(earlier.steps, 'step')}): {said}."


def _read_and_written(cost: Cost) -> str:
    return f"{cost.prompt.point:,.0f} + {cost.completion.point:,.0f}"


def _assumed(plan: Planned) -> Iterator[str]:
    """What nobody told or measured."""
    assumed, parts = plan.assumed, []
    taken = plan.earlier.told if plan.earlier else Assumptions()
    if taken.accuracy is None:
        solved = assumed.solved
        ends = f" (range {solved.low:.0%} to {solved.high:.0%})" if solved.low < solved.high else ""
        parts.append(f"{solved.point:.0%} of the train tasks are solved{ends}")
    if taken.unchanged is None and assumed.unchanged is not None:
        parts.append(f"{assumed.unchanged:.0%} of the texts made are no new ones")
    if taken.measured is None and assumed.measured is not None:
        parts.append(f"{assumed.measured:.0%} of the selection split is measured of a new text")
    if taken.latency is None:
        parts.append(f"a call takes {assumed.seconds:g} s")
    unmeasured = {role for role, costs in plan.costs.items() if not costs.stages}
    if "target" in unmeasured:
        parts.append(f"an answer {number(ANSWER)} tokens")
    if "optimizer" in unmeasured:
        parts.append(f"a proposal {number(PROPOSAL)}{'' if 'target' in unmeasured else ' tokens'}")
    if "target" in unmeasured:
        parts.append(f"and a skill grows by {number(GROWTH)} tokens")
    if parts:
        yield f"Assumed: {', '.join(parts)}."


def _course_notes(plan: Planned) -> Iterator[str]:
    """How attempts go, where they take more than one call."""
    course = plan.forecast.course
    measured = plan.earlier is not None and plan.earlier.ledger.rollouts > 0
    turns, verdicts = f"{course.turns.point:.1f}", f"{course.verdicts.point:.1f}"
    if plan.by_program and measured:
        yield f"An attempt counts as {turns} calls, as in that run; a program may make more."
    elif plan.by_program:
        yield "An attempt counts as one call; a program makes several, so calls are too few."
    elif course.turns.high > 1:
        taken = f"{turns}, as in that run" if measured else "about half of them"
        yield f"An attempt may take {course.turns.high:,.0f} turns; {taken} are taken to be likely."
    if course.verdicts.high:
        taken = (
            f"{verdicts} verdicts an attempt, as in that run" if measured else "half of the answers"
        )
        yield f"A model judges what is not plainly right or wrong: {taken}, it is taken."


def _resolution(split: str, n: int) -> str:
    """What a split can show: words for a number that does not exist."""
    gain, least = detectable_gain(n), least_gain(n)
    if least is None:
        shown = "no gain can be told from luck"
    elif gain is None:
        shown = (
            f"if two skills differ on {CHANGED:.0%} of them, no gain can be told from luck;"
            f" if none is lost, one of {_points(least)} can"
        )
    else:
        shown = (
            f"if two skills differ on {CHANGED:.0%} of them, a gain of {_points(gain)} can be told"
            f" from luck; if none is lost, one of {_points(least)}"
        )
    return (
        f"The {split} split has {count(n, 'task')}: one is {100 / n:.1f} points; {shown}"
        " (four times in five, by an exact paired test at the 5 % level)."
    )


def _points(share: float) -> str:
    """A gain in whole hundredths, rounded up: it must be no less."""
    return count(math.ceil(100 * share - 1e-9), "point")


def warnings(plan: Planned) -> Iterator[str]:
    """What should be thought over before money is spent."""
    planned, selection = len(plan.forecast.steps), plan.sizes["selection"]
    if selection < FEW:
        least = least_gain(selection)
        shown = "no gain" if least is None else f"only a true gain of {_points(least)} or more"
        yield (
            f"Warning: the selection split has only {count(selection, 'task')}:"
            f" {shown} can be counted on to show"
        )
    if plan.skill_tokens >= LONG:
        yield _long_skill(plan)
    for role, name in (plan.earlier.models if plan.earlier else {}).items():
        if role in plan.costs and plan.costs[role].name != name:
            yield f"Warning: the {role} of the earlier run was {name}, not {plan.costs[role].name}"
    for bought in plan.bought():
        if bought.steps < planned:
            yield f"Warning: {_bought_words(bought, planned)}"


def _long_skill(plan: Planned) -> str:
    """What a long seed skill costs, call by call, where that is known and not nothing."""
    read = Usage(1, plan.skill_tokens, 0)
    readers: tuple[Role, ...] = ("target", "optimizer")
    prices = [
        f"{dollars(usd)} in each of the {role}"
        for role in readers
        if role in plan.costs and (usd := plan.costs[role].price(read))
    ]
    money = f": {', '.join(prices)}" if prices else ""
    return (
        f"Warning: the seed skill is long, about {round(plan.skill_tokens, -3):,} tokens that every"
        f" call reads{money}"
    )


def _bought_words(bought: Bought, planned: int) -> str:
    less = "" if bought.tested else ", and not the final test"
    raised = f"raise it with `run.{bought.cap.name}=N`"
    return f"run.{bought.cap} buys {bought.steps} of {planned} steps{less}; {raised}"


def number(amount: Range) -> str:
    """What is likely and, where it is not known, its range."""
    if amount.low == amount.high:
        return f"{amount.point:,.0f}"
    return f"{amount.point:,.0f} ({amount.low:,.0f} to {amount.high:,.0f})"
