"""A run as a plan that is to be like it takes it: what its facts say of such trainings."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import Role, RunFinished
from skillopt_cli.engine.earlier import Earlier
from skillopt_cli.engine.forecast import Assumptions
from skillopt_cli.ui.view import RunView


def earlier_run(folder: Path, view: RunView, benchmark: str) -> Earlier:
    """What the run in `folder`, whose log adds up to `view`, tells of trainings on a benchmark.

    Raises:
        UsageError: it tells nothing of them.
    """
    run = view.run
    if run is None or not (view.made or view.recalled):
        raise UsageError(
            f"the run {folder} has made no attempt yet", "name one that has, or leave out --like"
        )
    if run.benchmark != benchmark:
        raise UsageError(
            f"the run {folder} is one of `{run.benchmark}`, not of `{benchmark}`",
            "name one of the same benchmark: other tasks take other calls",
        )
    told = Assumptions(
        accuracy=_accuracy(view),
        best_step=_best_step(view),
        unchanged=_unchanged(view),
        measured=_measured(view),
        latency=_latency(view),
    )
    names: dict[Role, str] = {"target": run.target, "optimizer": run.optimizer, "judge": run.judge}
    models = {role: name for role, name in names.items() if name not in ("", "none")}
    return Earlier(str(folder), view.total_steps, told, view.ledger, models)


def _accuracy(view: RunView) -> float | None:
    batches = [step.batch for step in view.steps if step.batch is not None]
    scored = sum(batch.scored for batch in batches)
    return 1 - sum(batch.failures for batch in batches) / scored if scored else None


def _best_step(view: RunView) -> int | None:
    """The last step that made a new best skill; None before the run's end, when more may."""
    if not isinstance(view.ending, RunFinished) or not view.total_steps:
        return None
    decided = [(step.number, step.gate.decision) for step in view.steps if step.gate]
    decided += [
        (epoch.step, epoch.slow.decision)
        for epoch in view.epochs
        if epoch.slow and epoch.slow.decision
    ]
    return max((number for number, decision in decided if decision.leads), default=0)


def _unchanged(view: RunView) -> float | None:
    decided = [step.unchanged for step in view.steps if step.decided]
    texts = len(decided) + sum(epoch.guided for epoch in view.epochs)
    same = sum(decided) + sum(epoch.unchanged for epoch in view.epochs)
    return same / texts if texts else None


def _measured(view: RunView) -> float | None:
    """The share measured of candidates; None where none was rejected early, which may be off."""
    gates = [(s.measured, s.gate.decision) for s in view.steps if s.gate and not s.unchanged]
    if not any(decision.early for _, decision in gates):
        return None
    return sum(made for made, _ in gates) / sum(decision.n for _, decision in gates)


def _latency(view: RunView) -> float | None:
    """Seconds of a call in the middle one of the stages, waits for the service included."""
    calls = sum(view.ledger.at_work(role).calls for role in ("target", "judge"))
    if not view.waves or not calls:
        return None
    return float(f"{median(view.waves) * view.ledger.rollouts / calls:.3g}")
