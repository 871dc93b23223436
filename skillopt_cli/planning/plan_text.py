"""The text of a plan: the lines before a training, and table and JSON of `skillopt plan`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from skillopt_cli.core.events import Role
from skillopt_cli.core.formatting import count
from skillopt_cli.core.statistics import detectable_gain, least_gain
from skillopt_cli.planning.forecast import Forecast, Range, whole_parts
from skillopt_cli.planning.plan_from_run import EarlierRun
from skillopt_cli.planning.plan_notes import (
    latency_words,
    number,
    start_warnings,
    unsolved_words,
    warnings,
)
from skillopt_cli.planning.planner import PlannedRun
from skillopt_cli.runlog.manifest_diff import MEASURED
from skillopt_cli.runlog.text.format import dollars, duration


def short_lines(plan: PlannedRun) -> Iterator[str]:
    """What a training will take, in some lines; a warning for each cap that buys less than all."""
    forecast, total = plan.forecast, plan.forecast.total
    asked = f", {number(total.asked)} optimizer calls" if "optimizer" in plan.costs else ""
    steps = count(len(forecast.steps), "step")
    left = "" if len(forecast.steps) == plan.plan.total else f" of {plan.plan.total} left"
    yield f"Plan: {steps}{left}, {number(total.rollouts)} rollouts{asked}"
    if line := unsolved_words(plan):
        yield f"Plan: {line}"
    yield f"Plan: about {number(_rough(plan.tokens))} tokens{_money(plan)}, {time_words(plan)}"
    yield from start_warnings(plan)


def time_words(plan: PlannedRun) -> str:
    """How long a training likely takes, in which range, and with what this was computed."""
    workers, seconds = count(plan.config.run.workers, "worker"), plan.forecast.total.seconds
    took = duration(seconds.point)
    if seconds.low < seconds.high:
        took += f" ({_duration_range(seconds)})"
    return f"{took} with {workers} if {latency_words(plan)}"


def _duration_range(seconds: Range) -> str:
    return f"{duration(seconds.low)} to {duration(seconds.high)}"


def plan_rows(plan: PlannedRun) -> list[tuple[str, str, str]]:
    """Rows of (what, likely, range) in the order things are spent; parts add up to their totals."""
    forecast = plan.forecast
    calls = _whole_calls(forecast)
    return [
        ("steps", f"{len(forecast.steps):,}", count(plan.config.train.num_epochs, "epoch")),
        *_rollout_rows(forecast),
        *([_row("judge calls", calls["judge"])] if calls["judge"].high else []),
        *(_optimizer_rows(forecast) if "optimizer" in plan.costs else []),
        ("preflight calls", f"{forecast.models}", ""),
        _row("all calls", sum(calls.values(), Range.of(forecast.models))),
        _row("tokens (estimate)", _rough(plan.tokens)),
        *_cost_rows(plan),
    ]


def _whole_calls(forecast: Forecast) -> dict[Role, Range]:
    """The calls of the training in whole numbers, by role, those of the preflight apart."""
    calls = forecast.calls_of(forecast.total)
    return {role: whole_parts([number])[0] for role, number in calls.items()}


def _rollout_rows(forecast: Forecast) -> Iterator[tuple[str, str, str]]:
    """Attempts by what they are for and, where one takes several turns, the target's calls."""
    spent = (forecast.baseline, forecast.training, forecast.pruning, forecast.test)
    parts = whole_parts([part.rollouts for part in spent])
    baseline, training, pruning, test = parts
    yield _row("rollouts", sum(parts, Range()))
    yield _row("  baseline", baseline)
    yield _row("  steps", training)
    if pruning.high:
        yield _row("  pruning", pruning)
    yield _row("  final test", test)
    if forecast.attempt.turns.high > 1:
        yield _row("target calls", _whole_calls(forecast)["target"])


def _optimizer_rows(forecast: Forecast) -> Iterator[tuple[str, str, str]]:
    """The optimizer's calls, and those of each stage."""
    yield _row("optimizer calls", _whole_calls(forecast)["optimizer"])
    calls = forecast.total.calls
    for name, part in zip(calls, whole_parts([*calls.values()]), strict=True):
        yield _row(f"  {name}", part)


def _cost_rows(plan: PlannedRun) -> Iterator[tuple[str, str, str]]:
    """The rows of money, where it is not all free, and time."""
    usd, seconds = plan.usd, plan.forecast.total.seconds
    if usd is None:
        models = ", ".join(f"{plan.costs[role].model} ({role})" for role in plan.unpriced)
        yield "US dollars", "unknown", f"no price for {models}: see model.prices"
    elif usd.high:
        yield "US dollars", dollars(usd.point), f"{dollars(usd.low)} to {dollars(usd.high)}"
    yield "time", duration(seconds.point), _duration_range(seconds)


def plan_document(plan: PlannedRun) -> dict[str, Any]:
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
            "by_stage": {stage: _document(number) for stage, number in total.attempts.items()},
        },
        "optimizer_calls": _document(total.asked)
        | {"by_stage": {stage: _document(number) for stage, number in total.calls.items()}},
        "judge_calls": _document(forecast.calls_of(total)["judge"]),
        "preflight_calls": forecast.models,
        "calls": _document(forecast.calls),
        "calls_if_none_solved": plan.unsolved,
        "likely_calls": None if plan.likely is None else _document(plan.likely),
        "tokens": _document(plan.tokens),
        "usd": None if usd is None else _document(usd),
        "unknown_prices": {role: plan.costs[role].model for role in plan.unpriced},
        "seconds": _document(total.seconds),
        "assumed": {
            "accuracy": _document(plan.assumed.solved),
            "best_step": plan.assumed.best_step,
            "unchanged": plan.assumed.unchanged,
            "measured": plan.assumed.measured,
            "latency": plan.seconds["target"],
            "latency_by_role": dict(plan.seconds),
            "passing": plan.assumed.passing,
            "last_step": plan.assumed.last_step,
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
                "cap": coverage.cap.name,
                "limit": coverage.cap.limit,
                "steps": coverage.steps,
                "final_test": coverage.tested,
            }
            for coverage in plan.cap_coverage()
        ],
        "warnings": list(warnings(plan)),
    }


def _like(plan: PlannedRun, earlier: EarlierRun) -> dict[str, Any]:
    """What was taken from the earlier run; null for what it did not measure, or what was given."""
    return {
        "run": earlier.run,
        "steps": earlier.steps,
        "models": dict(earlier.models),
        **asdict(earlier.known),
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


def _rough(number: Range) -> Range:
    """An estimate with the two digits that it may claim."""
    return Range(
        *(
            round(n, 1 - math.floor(math.log10(n))) if n >= 1 else 0.0
            for n in (number.low, number.point, number.high)
        )
    )


def _money(plan: PlannedRun) -> str:
    """The price, to go on with; nothing where all is free."""
    usd = plan.usd
    if usd is None:
        return ", price unknown"
    if not usd.high:
        return ""
    return f", {dollars(usd.point)} ({dollars(usd.low)} to {dollars(usd.high)})"


def _document(number: Range) -> dict[str, Any]:
    return {"low": number.low, "point": number.point, "high": number.high}
