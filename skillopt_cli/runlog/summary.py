"""`summary.json`: a run in numbers, as one JSON document with a stable order of keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from skillopt_cli.core.events import Means, RunFailed, RunFinished, Stamped
from skillopt_cli.core.statistics import interval
from skillopt_cli.runlog.costs import Document, cost_entries
from skillopt_cli.runlog.expectation import expected_best
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import origin
from skillopt_cli.runlog.parts import StepView
from skillopt_cli.runlog.pruning import pruned_document
from skillopt_cli.runlog.text.exit_error import exit_error
from skillopt_cli.runlog.text.header import start_notes
from skillopt_cli.runlog.text.verdict import majority_document, verdict_document
from skillopt_cli.runlog.verdict import why_no_change, why_not_better
from skillopt_cli.runlog.view import RunView
from skillopt_cli.store.layout import SUMMARY_SCHEMA

Status = Literal["running", "finished", "stopped_early", "budget", "interrupted", "failed"]

TESTS = {
    "baseline_test": "seed",
    "test": "best",
    "final_test": "final",
    "no_skill_test": "no_skill",
}
"""What the entries of a test are called, and the label it has in the log."""


def summary(facts: Iterable[Stamped]) -> Document:
    """The content of `summary.json` for a run with these facts."""
    return summarise(fold(facts))


def summarise(view: RunView, *, expect: bool = True) -> Document:
    """The content of `summary.json` for a folded run.

    Args:
        expect: compute `best_gate_score_expected`, which takes longer than all the rest; else None.

    Scores are in [0, 1] and None when unknown; each comes with `n` (tasks asked for), `scored` and
    `coverage`, and where the log names it with the digest of the text it was measured on. Costs are
    those of `cost_entries`. Key names follow the published `summary.json` where the meaning is the
    same.
    """
    expected = expected_best(view) if expect else None
    return {
        "schema": SUMMARY_SCHEMA,
        **_identity(view),
        "notes": list(start_notes(view.run)) if view.run else [],
        **_ending(view),
        **_selection(view),
        "baseline_gate_score": view.baseline.value if view.baseline else None,
        "baseline_gate_score_interval": _interval(*_seed_value(view)),
        "best_step": view.standing.best_step,
        "final_step": view.standing.current_step,
        "best_origin": origin(view.standing.best_step, view.standing.best_epoch),
        "final_origin": origin(view.standing.current_step, view.standing.current_epoch),
        "best_gate_score": view.standing.best,
        "best_gate_score_interval": _interval(view.standing.best, _best_scored(view)),
        "best_gate_score_expected": expected.value if expected else None,
        "final_gate_score": view.standing.current,
        "planned_steps": view.total_steps,
        "total_steps": view.done,
        **_counts(view.steps, "total_"),
        "epoch_stats": _epochs(view),
        **_pruned(view),
        **_tests(view),
        "verdict": verdict_document(view.verdict, view.majority) if view.verdict else None,
        "majority_baseline": majority_document(view.verdict, view.majority),
        "why_no_change": why_no_change(view),
        "why_no_better": why_not_better(view) or None,
        "rollouts_made": view.made,
        "rollouts_recalled": view.recalled,
        "rollouts_saved": view.rollouts_saved,
        "broken": _broken(view),
        "degraded": view.degraded_by_place,
        **_judge(view),
        **cost_entries(view),
        "drift_allowed": list(view.drift),
        "wall_time_s": round(view.wall_time, 3),
    }


def status(view: RunView) -> Status:
    """The state of the run, in one word."""
    if view.ending is None:
        return "interrupted" if view.deserted else "running"
    if not isinstance(view.ending, RunFailed):
        return "stopped_early" if view.stopped else "finished"
    causes: dict[int, Status] = {5: "budget", 130: "interrupted"}
    return causes.get(view.ending.exit_code, "failed")


def _identity(view: RunView) -> Document:
    run = view.run
    return {
        "run_id": run.run_id if run else None,
        "benchmark": run.benchmark if run else None,
        "data": run.data if run else None,
        "optimizer": run.optimizer if run and run.total_steps else None,
        "target": run.target if run else None,
        "judge": (run.judge or None) if run else None,
        "gate_metric": run.metric if run else None,
        "skill": run.skill if run else None,
        "skill_title": (run.skill_title or None) if run else None,
    }


def _ending(view: RunView) -> Document:
    end = view.ending
    failed = end if isinstance(end, RunFailed) else None
    unmet = exit_error(end.exit_code) if isinstance(end, RunFinished) else None
    why = failed or unmet
    return {
        "status": status(view),
        "exit_code": end.exit_code if end else None,
        "error": failed.error if failed else type(unmet).__name__ if unmet else None,
        "message": why.message if why else None,
        "hint": why.hint if why else None,
        "resumable": failed.resumable if failed else None,
        "stopped_early": view.stopped or None,
    }


def _selection(view: RunView) -> Document:
    saved = view.saved
    return {
        **_seed_scores(view, "baseline_selection"),
        **_means("best_selection", saved.best if saved else None),
        **_means("final_selection", saved.current if saved else None),
    }


def _seed_scores(view: RunView, name: str) -> Document:
    base = view.baseline
    seed = view.tests.get("seed")
    if base is None:
        return _scores(name, None, None, (0, 0))
    digest = seed.digest if seed else None
    return _scores(name, base.hard, base.soft, (base.scored, base.n), digest)


def _seed_value(view: RunView) -> tuple[float | None, int]:
    """The seed's score under the gate metric, and how many tasks it is of."""
    return (view.baseline.value, view.baseline.scored) if view.baseline else (None, 0)


def _best_scored(view: RunView) -> int:
    """How many tasks the best skill's score is of."""
    return view.saved.best.scored if view.saved and view.saved.best else _seed_value(view)[1]


def _means(name: str, means: Means | None) -> Document:
    if means is None:
        return _scores(name, None, None, (0, 0))
    return _scores(name, means.hard, means.soft, (means.scored, means.n), means.digest)


def _scores(
    name: str,
    hard: float | None,
    soft: float | None,
    reach: tuple[int, int],
    digest: str | None = None,
) -> Document:
    """The entries of one measurement; `reach` is how many tasks were scored, and asked for."""
    scored, n = reach
    return {
        f"{name}_hard": hard,
        f"{name}_soft": soft,
        f"{name}_n": n,
        f"{name}_scored": scored,
        f"{name}_coverage": coverage(scored, n),
        f"{name}_digest": digest,
        f"{name}_hard_interval": _interval(hard, scored),
    }


def _interval(mean: float | None, scored: int) -> list[float] | None:
    """95 % confidence interval of a mean over tasks, None when it is unknown."""
    return list(interval(mean, scored)) if mean is not None and scored else None


def coverage(scored: int, n: int) -> float | None:
    """Share of tasks with a score, None when none was asked for."""
    return scored / n if n else None


def _counts(steps: Iterable[StepView], prefix: str = "") -> Document:
    actions = [step.action or "" for step in steps]
    accepts = ("accept", "accept_new_best", "force_accept")
    return {
        f"{prefix}accepts": sum(action in accepts for action in actions),
        f"{prefix}rejects": actions.count("reject"),
        f"{prefix}skips": sum(action.startswith("skip_") for action in actions),
        f"{prefix}indecisive": actions.count("indecisive"),
    }


def _epochs(view: RunView) -> list[Document]:
    epochs: dict[int, list[StepView]] = {}
    for step in view.steps:
        if step.plan is not None:
            epochs.setdefault(step.plan.epoch, []).append(step)
    return [
        {
            "epoch": epoch,
            "steps": [step.number for step in steps],
            **_counts(steps),
            "best_score_at_epoch_end": last.best if (last := steps[-1].standing) else None,
            "current_score_at_epoch_end": last.current if last else None,
        }
        for epoch, steps in sorted(epochs.items())
    ]


def _tests(view: RunView) -> Document:
    document: Document = {}
    for name, label in TESTS.items():
        test = view.tests.get(label)
        reach = (test.scored, test.n) if test else (0, 0)
        hard, soft = (test.hard, test.soft) if test else (None, None)
        document |= _scores(name, hard, soft, reach, test.digest if test else None)
    for name in ("test", "final_test"):
        for kind in ("hard", "soft"):
            document[f"{name}_delta_{kind}"] = delta(
                document[f"{name}_{kind}"], document[f"baseline_test_{kind}"]
            )
    others = [t for label, t in view.tests.items() if label not in TESTS.values()]
    for test in others:
        document |= _scores(test.label, test.hard, test.soft, (test.scored, test.n), test.digest)
    return document


def _pruned(view: RunView) -> Document:
    """What was removed from the best skill at the end, where that was tried."""
    return {} if view.pruned is None else {"pruned": pruned_document(view.pruned)}


def delta(value: float | None, base: float | None) -> float | None:
    """How much a score gained, None when either is unknown."""
    return None if value is None or base is None else value - base


def _judge(view: RunView) -> Document:
    """How steady the judge is, where answers were judged twice, and how often it was unreadable."""
    twice, agreed = view.judged_twice
    asked, again = view.verdicts
    return {
        **({"judged_twice": _share(twice, "agreed", agreed)} if twice else {}),
        **({"unreadable_verdicts": _share(asked, "unreadable", again)} if again else {}),
    }


def _share(answers: int, name: str, part: int) -> Document:
    return {"answers": answers, name: part, "share": part / max(answers, 1)}


def _broken(view: RunView) -> Document:
    stages: dict[str, int] = {}
    for (_, stage, _), reasons in view.broken.items():
        stages[stage] = stages.get(stage, 0) + sum(reasons.values())
    return {
        "total": view.broken_total,
        "by_stage": dict(sorted(stages.items())),
        "reasons": view.broken_reasons,
    }
