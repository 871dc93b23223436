"""A plan in words: the two lines before a training, and the whole of `skillopt plan`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from skillopt_cli.compose.call_costs import ANSWER, GROWTH, PROPOSAL, Cost
from skillopt_cli.compose.comparison import MEASURED
from skillopt_cli.compose.planning import Bought, Planned
from skillopt_cli.core.caps import FLAGS
from skillopt_cli.core.resolution import CHANGED, detectable_gain, least_gain
from skillopt_cli.core.words import count
from skillopt_cli.engine.earlier import Earlier
from skillopt_cli.engine.forecast import Assumptions, Course, Range
from skillopt_cli.ui.words import dollars, duration

FEW = 20
"""Selection tasks below which their number is worth a warning."""


def short_lines(plan: Planned) -> Iterator[str]:
    """What a training will take, in two lines; a warning for each cap that buys less than all."""
    forecast, total = plan.forecast, plan.forecast.total
    asked = f", {_number(total.asked)} optimizer calls" if "optimizer" in plan.costs else ""
    steps = count(len(forecast.steps), "step")
    left = "" if len(forecast.steps) == plan.plan.total else f" of {plan.plan.total} left"
    yield f"Plan: {steps}{left}, {_number(total.rollouts)} rollouts{asked}"
    workers = count(plan.config.run.workers, "worker")
    took = duration(total.seconds.point)
    yield (
        f"Plan: about {_number(_rough(plan.tokens))} tokens{_money(plan)},"
        f" {took} with {workers} if a call takes {plan.assumed.seconds:g} s"
    )
    yield from warnings(plan)


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
    for bought in plan.bought():
        if bought.steps < planned:
            yield f"Warning: {_bought_words(bought, planned)}"


def _bought_words(bought: Bought, planned: int) -> str:
    flag = FLAGS[bought.cap.name]
    less = "" if bought.tested else ", and not the final test"
    return f"run.{bought.cap} buys {bought.steps} of {planned} steps{less}; raise it with {flag}"


def plan_rows(plan: Planned) -> list[tuple[str, str, str]]:
    """Rows of (what, likely, range) in the order things are spent."""
    forecast, total = plan.forecast, plan.forecast.total
    rows = [
        ("steps", f"{len(forecast.steps):,}", count(plan.config.train.num_epochs, "epoch")),
        _row("rollouts", total.rollouts),
        _row("  baseline", forecast.baseline.rollouts),
        _row("  steps", forecast.training.rollouts),
        _row("  final test", forecast.test.rollouts),
    ]
    course = forecast.course
    if course.turns.high > 1:
        rows.append(_row("target calls", total.rollouts * course.turns))
    if course.verdicts.high:
        rows.append(_row("judge calls", total.rollouts * course.verdicts))
    if "optimizer" in plan.costs:
        rows.append(_row("optimizer calls", total.asked))
        rows += [_row(f"  {stage}", number) for stage, number in total.calls.items()]
    rows.append(("preflight calls", f"{forecast.models}", ""))
    rows += [_row("all calls", forecast.calls), _row("tokens (estimate)", _rough(plan.tokens))]
    usd = plan.usd
    if usd is None:
        models = ", ".join(f"{plan.costs[role].model} ({role})" for role in plan.unpriced)
        rows.append(("US dollars", "unknown", f"no price for {models}: see model.prices"))
    elif usd.high:
        rows.append((
            "US dollars",
            dollars(usd.point),
            f"{dollars(usd.low)} to {dollars(usd.high)}",
        ))
    seconds = total.seconds
    rows.append((
        "time",
        duration(seconds.point),
        f"{duration(seconds.low)} to {duration(seconds.high)}",
    ))
    return rows


def _taken(plan: Planned, earlier: Earlier) -> Iterator[str]:
    """What the plan took from an earlier run, and what differs from that."""
    told, parts = earlier.told, []
    if told.accuracy is not None:
        parts.append(f"{told.accuracy:.0%} of the train tasks solved")
    if told.best_step is not None:
        parts.append(f"step {told.best_step} the best" if told.best_step else "no step better")
    if told.unchanged is not None:
        parts.append(f"{told.unchanged:.0%} of the candidates no new text")
    if told.latency is not None:
        parts.append(f"{told.latency:g} s a call")
    for role, costs in plan.costs.items():
        if costs.stages:
            parts.append(f"{_read_and_written(costs.other)} tokens a call of the {role}")
    said = ", ".join(parts) or "nothing: it measured nothing that is not told otherwise"
    yield f"Taken from {earlier.run} ({count(earlier.steps, 'step')}): {said}."
    for role, model in earlier.models.items():
        if role in plan.costs and plan.costs[role].model != model:
            yield f"Warning: its {role} was {model}, not {plan.costs[role].model}"


def _read_and_written(cost: Cost) -> str:
    return f"{cost.prompt.point:,.0f} + {cost.completion.point:,.0f}"


def _assumed(plan: Planned) -> Iterator[str]:
    """What nobody told or measured."""
    assumed, parts = plan.assumed, []
    taken = plan.earlier.told if plan.earlier else Assumptions()
    if taken.accuracy is None:
        solved = assumed.solved
        parts.append(
            f"{solved.point:.0%} of the train tasks are solved (range {solved.low:.0%} to"
            f" {solved.high:.0%})"
        )
    if taken.unchanged is None and assumed.unchanged is not None:
        parts.append(f"{assumed.unchanged:.0%} of the candidates are no new text")
    if taken.latency is None:
        parts.append(f"a call takes {assumed.seconds:g} s")
    if not plan.costs["target"].stages:
        parts.append(f"an answer {_number(ANSWER)} tokens")
    if "optimizer" in plan.costs and not plan.costs["optimizer"].stages:
        parts.append(f"a proposal {_number(PROPOSAL)}")
    if not plan.costs["target"].stages:
        parts.append(f"and a skill grows by {_number(GROWTH)} tokens")
    if parts:
        yield f"Assumed: {', '.join(parts)}."


def _course_notes(course: Course) -> Iterator[str]:
    """How attempts go, where they take more than one call."""
    if course.turns.high > 1:
        most = f"{course.turns.high:,.0f}"
        yield f"An attempt may take {most} turns; about half of them are taken to be likely."
    if course.verdicts.high:
        yield "A model judges what is not plainly right or wrong: half of the answers, it is taken."


def plan_notes(plan: Planned) -> Iterator[str]:
    """What the numbers rest on, what the splits can show, and what caps buy."""
    if plan.earlier is not None:
        yield from _taken(plan, plan.earlier)
    yield from _assumed(plan)
    yield (
        "The lower ends allow for a run that ends early: with every selection task solved, or for"
        " want of patience."
    )
    if plan.by_program and plan.earlier is None:
        yield "An attempt counts as one call; a program makes several, so calls are too few."
    yield from _course_notes(plan.forecast.course)
    for split in MEASURED:
        yield _resolution(split, plan.sizes[split])
    planned = len(plan.forecast.steps)
    for bought in plan.bought():
        if bought.steps == planned:
            yield f"run.{bought.cap} pays for all {planned} steps."
    yield from warnings(plan)


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


def plan_document(plan: Planned) -> dict[str, Any]:
    """The plan as JSON; ranges are {low, point, high}, `usd` is null where a price is unknown."""
    forecast, total = plan.forecast, plan.forecast.total
    usd = plan.usd
    return {
        "benchmark": plan.config.env.name,
        "tasks": dict(plan.sizes),
        "steps": len(forecast.steps),
        "rollouts": _document(total.rollouts)
        | {
            "baseline": _document(forecast.baseline.rollouts),
            "test": _document(forecast.test.rollouts),
        },
        "optimizer_calls": _document(total.asked)
        | {"by_stage": {stage: _document(number) for stage, number in total.calls.items()}},
        "judge_calls": _document(total.rollouts * forecast.course.verdicts),
        "preflight_calls": forecast.models,
        "calls": _document(forecast.calls),
        "tokens": _document(plan.tokens),
        "usd": None if usd is None else _document(usd),
        "unknown_prices": {role: plan.costs[role].model for role in plan.unpriced},
        "seconds": _document(total.seconds),
        "assumed": {
            "accuracy": _document(plan.assumed.solved),
            "best_step": plan.assumed.best_step,
            "unchanged": plan.assumed.unchanged,
            "latency": plan.assumed.seconds,
        },
        "like": None if plan.earlier is None else _like(plan, plan.earlier),
        "smallest_gain": {
            split: {
                "one_task": 1 / n,
                "detectable": detectable_gain(n),
                "without_loss": least_gain(n),
            }
            for split in MEASURED
            if (n := plan.sizes[split])
        },
        "caps": [
            {
                "cap": bought.cap.name,
                "limit": bought.cap.limit,
                "steps": bought.steps,
                "final_test": bought.tested,
            }
            for bought in plan.bought()
        ],
        "warnings": list(warnings(plan)),
    }


def _like(plan: Planned, earlier: Earlier) -> dict[str, Any]:
    """What was taken from the earlier run; null for what it does not tell, or was told."""
    return {
        "run": earlier.run,
        "steps": earlier.steps,
        "models": dict(earlier.models),
        **asdict(earlier.told),
        "tokens": {
            role: {
                stage: {"prompt": cost.prompt.point, "completion": cost.completion.point}
                for stage, cost in costs.stages.items()
            }
            for role, costs in plan.costs.items()
        },
    }


def _row(what: str, number: Range) -> tuple[str, str, str]:
    known = number.low == number.high
    return what, f"{number.point:,.0f}", "" if known else f"{number.low:,.0f} to {number.high:,.0f}"


def _number(number: Range) -> str:
    if number.low == number.high:
        return f"{number.point:,.0f}"
    return f"{number.point:,.0f} ({number.low:,.0f} to {number.high:,.0f})"


def _rough(number: Range) -> Range:
    """An estimate with the two digits that it may claim."""
    return Range(*(_two_digits(n) for n in (number.low, number.point, number.high)))


def _two_digits(number: float) -> float:
    return round(number, 1 - math.floor(math.log10(number))) if number >= 1 else 0.0


def _money(plan: Planned) -> str:
    """The price, to go on with; nothing where all is free."""
    usd = plan.usd
    if usd is None:
        return ", price unknown"
    if not usd.high:
        return ""
    return f", {dollars(usd.point)} ({dollars(usd.low)} to {dollars(usd.high)})"


def _document(number: Range) -> dict[str, Any]:
    return {"low": number.low, "point": number.point, "high": number.high}
