"""The state of a training in two lines: its scores, and whether it beat the seed."""

from __future__ import annotations

from skillopt_cli.core.events import RunFinished
from skillopt_cli.core.gate import EPSILON
from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.run_verdict import RunVerdict
from skillopt_cli.core.statistics import LEVEL, binomial, interval
from skillopt_cli.runlog.best_scores import measured_rounds, scores_by_task
from skillopt_cli.runlog.text.ending import metric_label
from skillopt_cli.runlog.text.flips import flips_words
from skillopt_cli.runlog.text.format import count, out_of, pair, score
from skillopt_cli.runlog.verdict import is_compared
from skillopt_cli.runlog.view import RunView

_WORDS = {
    "improved": "better than the seed",
    "worse": "worse than the seed",
    "unproven": "not proven better than the seed",
    "underpowered": "too few tasks to decide",
}


def score_parts(view: RunView) -> tuple[str, str, str]:
    """The selection scores: what precedes the best one, the best one, and what it rests on.

    The best score has the 95 % interval of its mean, which does not count that it was selected.
    """
    base, standing = view.baseline, view.standing
    if base is None or base.value is None or standing.best is None:
        return "", "not measured yet" if base is None else score(None), metric_label(view)
    means = view.saved.best if view.saved else None
    scored, n = (means.scored, means.n) if means else (base.scored, base.n)
    seed, best = pair(base.value, standing.best)
    reach = out_of(scored, n)
    if scored and 0 <= standing.best <= 1:
        low, high = interval(standing.best, scored)
        reach = f"{low:.2f} to {high:.2f}, {reach}"
    now = standing.current
    moved = now is not None and abs(now - standing.best) > EPSILON
    current = f", now {score(now)}" if moved else ""
    if not standing.best_step:
        return "seed ", best, f"{metric_label(view)} ({reach}){current}"
    return (
        f"seed {seed} -> best ",
        best,
        f"{metric_label(view)} ({reach}), {standing.best_origin}{current}",
    )


def standing_words(view: RunView) -> tuple[str, str]:
    """Whether the best skill is better than the seed, in words and a style; empty where untrained.

    By the tasks that no step used once they were attempted, before that by the selection tasks.
    """
    if not view.total_steps:
        return "", ""
    if view.verdict is not None:
        return proven_words(view.verdict, view.majority)
    seed, best = view.baseline.value if view.baseline else None, view.standing.best
    yet = "" if isinstance(view.ending, RunFinished) else " yet"
    if seed is None or best is None:
        return f"none{yet}: the seed has no score", "dim"
    if not is_compared(view):
        return "none yet: no other text than the seed is measured", "dim"
    if best <= seed + EPSILON:
        return f"not better than the seed{yet}", "yellow"
    won, lost = _flips(view)
    if not won:
        return "above the seed on the selection tasks", "green"
    flips = flips_words(view.run.metric if view.run else "hard", won, lost)
    if sum(binomial(won + lost, 0.5, won)) <= LEVEL:
        return f"better than the seed on the selection tasks: {flips}", "bold green"
    return f"perhaps better than the seed: {flips}; may be chance", "green"


def proven_words(verdict: RunVerdict, majority: LabelDiagnostics | None) -> tuple[str, str]:
    """The verdict in a few words, and a style: `better than the seed: 0.73 against 0.20 on ...`."""
    constant = majority if majority is not None and majority.unbeaten else None
    also = (
        f"; not proven better than one answer for all ({score(constant.score)})" if constant else ""
    )
    if verdict.identical:
        return f"not better: the seed is still the best skill{also}", "yellow"
    style = {"improved": "bold green", "worse": "bold red"}.get(verdict.word, "yellow")
    if constant and verdict.word == "improved":
        style = "yellow"
    if verdict.best is None:
        return _WORDS[verdict.word], style
    best, seed = pair(verdict.best, verdict.seed)
    tasks = count(verdict.n, f"{verdict.split} task")
    return f"{_WORDS[verdict.word]}: {best} against {seed} on {tasks}{also}", style


def _flips(view: RunView) -> tuple[int, int]:
    """Selection tasks on which the best skill scores higher than the seed, and lower.

    None of a mixed score, whose weight the log does not hold.
    """
    metric = view.run.metric if view.run else ""
    if metric not in ("hard", "soft"):
        return 0, 0
    seed, best = measured_rounds(view)
    if seed is None or best is None:
        return 0, 0
    first, second = scores_by_task(seed, metric), scores_by_task(best, metric)
    gains = [second[task] - first[task] for task in first if task in second]
    return sum(g > EPSILON for g in gains), sum(g < -EPSILON for g in gains)
