"""An earlier run as the base of a plan: what its log measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import Role, RunFinished
from skillopt_cli.core.ledger import PREFLIGHT, Ledger, Spent
from skillopt_cli.planning.forecast import Assumptions, AttemptCalls
from skillopt_cli.runlog.view import RunView

ARMS = ("seed", "best", "final")
"""Labels of the texts that every final test compares."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """What an earlier run of the same benchmark measured.

    Attributes:
        run: its folder.
        steps: those of its plan; 0 for an evaluation.
        known: what it measured of the things that a plan assumes.
        ledger: all its calls.
        models: by role.
    """

    run: str
    steps: int
    known: Assumptions
    ledger: Ledger
    models: Mapping[Role, str]

    def known_for(self, steps: int) -> Assumptions:
        """What it measured that holds for a training of so many steps.

        Shares and the latency hold for a longer one as well. What depends on how it ended does not.
        """
        if steps == self.steps:
            return self.known
        return replace(self.known, best_step=None, last_step=None, tested=None, blocks=None)

    def calls(self, role: Role) -> dict[str, Spent]:
        """What the calls of a role cost, by stage; under "" those of all stages together.

        Only where a service counted tokens: else nothing was measured.
        """
        rows = self.ledger.rows.items()
        spent = {s: row for (of, s), row in rows if of == role and s != PREFLIGHT}
        spent[""] = self.ledger.at_work(role)
        return {s: row for s, row in spent.items() if row.calls > row.silent}

    def attempt_calls(self, guessed: AttemptCalls) -> AttemptCalls:
        """The calls of its attempts as the likely ones; the ends of the guess stay."""
        attempts = self.ledger.rollouts
        if not attempts:
            return guessed
        turns, verdicts = (
            self.ledger.at_work(role).calls / attempts for role in ("target", "judge")
        )
        return AttemptCalls(guessed.turns.likely(turns), guessed.verdicts.likely(verdicts))


def earlier_run(folder: Path, view: RunView, benchmark: str) -> EarlierRun:
    """The run in `folder`, read as `view`, as the base of a plan for a benchmark.

    Raises:
        UsageError: it is of another benchmark, or made no attempt yet.
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
    known = Assumptions(
        accuracy=_accuracy(view),
        best_step=_best_step(view),
        unchanged=_unchanged(view),
        measured=_measured(view),
        latency=_latency(view),
        passing=_passing(view),
        trials=_trials(view),
        last_step=view.done if view.stopped else None,
        tested=_tested(view),
        blocks=_blocks(view),
    )
    names: dict[Role, str] = {"target": run.target, "optimizer": run.optimizer, "judge": run.judge}
    models = {role: name for role, name in names.items() if name not in ("", "none")}
    return EarlierRun(str(folder), view.total_steps, known, view.ledger, models)


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


def _passing(view: RunView) -> float | None:
    """The share of failed tasks that passing edits solved, of a round of analysis."""
    rounds = [(step.batch.failures, v) for step in view.steps if step.batch for v in step.verified]
    solved = sum(
        len({task for trial in verified.trials if trial.passed for task in trial.fixed})
        for _, verified in rounds
    )
    failed = sum(failures for failures, _ in rounds)
    return solved / failed if failed else None


def _trials(view: RunView) -> float | None:
    """The attempts that verified edits, per failed task; None where none were."""
    ledger, failed = view.ledger, sum(step.batch.failures for step in view.steps if step.batch)
    calls = ledger.rows.get(("target", "verify"))
    if calls is None or not failed:
        return None
    return calls.calls * ledger.rollouts / ledger.at_work("target").calls / failed


def _tested(view: RunView) -> int | None:
    """The texts that the final test compared; None before the run's end."""
    texts = {test.digest for label, test in view.tests.items() if label in ARMS}
    return len(texts) if texts and isinstance(view.ending, RunFinished) else None


def _blocks(view: RunView) -> int | None:
    """The blocks whose removal was measured; None without pruning."""
    tried = view.pruned.blocks if view.pruned else None
    return None if tried is None else sum(block.gain is not None for block in tried)


def _latency(view: RunView) -> float | None:
    """Seconds of a call in the middle one of the stages, waits for the service included."""
    calls = sum(view.ledger.at_work(role).calls for role in ("target", "judge"))
    if not view.waves or not calls:
        return None
    return float(f"{median(view.waves) * view.ledger.rollouts / calls:.3g}")
