"""A comparison of skills on the same tasks: as a JSON document, rows of tasks, and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from skillopt_cli.compose.training_tasks import TrainingTasks
from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.paired_statistics import disagree
from skillopt_cli.core.repeats import Repeated, compared
from skillopt_cli.core.run_verdict import VerdictRule, run_verdict
from skillopt_cli.core.score import Metric
from skillopt_cli.core.statistics import LEVEL, corrected, interval
from skillopt_cli.core.task import Task, TaskSet
from skillopt_cli.reports.page import Block, Line, Rows
from skillopt_cli.runlog.text.format import UNKNOWN, change, one_line, out_of, p_value, score
from skillopt_cli.runlog.text.verdict import majority_entry, more_tasks_words, verdict_sentence

Document = dict[str, Any]
_PAIR_TITLES = ("pair", "gain", "95 % interval", "won", "lost", "tied", "two-sided p")
_P_DECIDES = "The interval and p disagree: p decides, its test is exact, the interval approximate."
_P_OF_ALL_DECIDES = (
    "Where an interval and p (all pairs) disagree on a pair, p decides: its test is exact and"
    " counts all pairs, the interval is approximate and of that pair alone."
)


def arms_document(
    arms: Mapping[str, Repeated],
    rule: VerdictRule,
    split: TaskSet,
    majority: Mapping[str, LabelDiagnostics],
    used: TrainingTasks | None = None,
) -> Document:
    """The arms, and every pair of them, as JSON; of two arms with the verdict on the second.

    Args:
        majority: by arm, what one answer to all tasks scores; empty where answers are no labels.
        used: tasks among the measured ones that a training of the arms used.
    """
    metric = rule.metric
    found = _verdict(arms, rule, split, used) if len(arms) == 2 else None
    entries = {
        name: {"majority_baseline": majority_entry(constant, split, f"`{name}`")}
        for name, constant in majority.items()
    }
    return {
        "metric": metric.name,
        "arms": [
            {"name": name, **_arm(found, metric), **entries.get(name, {})}
            for name, found in arms.items()
        ],
        "pairs": [asdict(pair) for pair in compared(arms, metric)],
        **({"verdict": found} if found else {}),
        **training_warning(used),
    }


def _verdict(
    arms: Mapping[str, Repeated], rule: VerdictRule, split: TaskSet, used: TrainingTasks | None
) -> Document:
    """The verdict on the second of two arms, by the mean of the draws of each task."""
    (first, one), (second, other) = arms.items()
    same = one.skill.sent.digest == other.skill.sent.digest
    found = run_verdict(one.averaged.marks, other.averaged.marks, split, rule, identical=same)
    sentence = verdict_sentence(found, (f"`{first}`", f"`{second}`"))
    if used is not None:
        # A sentence that starts with the name of an arm keeps it as it is.
        sentence = f"{used.scope}, {sentence[:1].lower()}{sentence[1:]}"
    more = more_tasks_words(found) if used is None else ""
    return {**asdict(found), "sentence": sentence, **({"hint": more} if more else {})}


def training_warning(used: TrainingTasks | None) -> Document:
    """The entry `warning` of an evaluation of tasks that a training used; else no entry."""
    return {"warning": used.warning} if used is not None else {}


def warning_lines(document: Document) -> Iterator[Line]:
    """The warning of an evaluation of tasks that a training used, if it has one."""
    if warning := document.get("warning"):
        yield Line(one_line(warning), "yellow", free=True)


def _arm(found: Repeated, metric: Metric) -> Document:
    averaged = found.averaged
    mean = averaged.mean(metric)
    return {
        "skill_digest": found.skill.digest,
        "chars": len(found.skill.text),
        "n_items": averaged.n,
        "scored": averaged.scored,
        "attempts": found.attempts,
        "attempts_scored": found.scored,
        "coverage": found.coverage,
        "hard": averaged.hard,
        "soft": averaged.soft,
        "value": mean,
        "interval": None if mean is None else interval(mean, averaged.scored),
        "flaky": list(found.flaky),
    }


_SHARED = ("benchmark", "judge", "data", "split", "repeats", "given", "metric", "warning")


def matrix_document(found: Mapping[str, Document]) -> Document:
    """The same arms with several targets; p-values are corrected for all pairs of all targets.

    Args:
        found: the result with each target, by its name.
    """
    pairs = [pair for document in found.values() for pair in document["pairs"]]
    sure = iter(corrected([pair["p_value"] for pair in pairs]))
    first = next(iter(found.values()))
    return {
        **{name: first[name] for name in _SHARED if name in first},
        "targets": [
            {
                "target": name,
                "model": document["target"],
                "arms": document["arms"],
                "pairs": [{**pair, "p_corrected": next(sure)} for pair in document["pairs"]],
                **({"lint": document["lint"]} if "lint" in document else {}),
            }
            for name, document in found.items()
        ],
    }


def task_rows(arms: Mapping[str, Repeated], tasks: Sequence[Task]) -> Iterator[str]:
    """A JSON line per task: the marks of every draw, by arm."""
    for task in tasks:
        marks = {
            name: {
                "hard": [mark.hard for mark in found.draws[task.id]],
                "soft": [mark.soft for mark in found.draws[task.id]],
            }
            for name, found in arms.items()
        }
        row = {"id": task.id, "task_type": task.kind, "arms": marks}
        yield f"{json.dumps(row, ensure_ascii=False)}\n"


def arms_rows(document: Document) -> Iterator[Block]:
    """A table of the arms, one of their pairs, if there are any, and the verdict on a pair."""
    yield Rows(("arm", "score", "95 % interval", "tasks", "chars"), _arm_rows(document))
    found = document.get("verdict")
    if document["pairs"]:
        yield from pair_blocks(document["pairs"], found)
    if found is not None:
        yield Line(f"Verdict: {one_line(found['sentence'])}", free=True)
        if hint := found.get("hint"):
            yield Line(f"hint: {one_line(hint)}", free=True)
    for arm in document["arms"]:
        yield from majority_rows(arm)
    yield from warning_lines(document)


def majority_rows(result: Document) -> Iterator[Line]:
    """What one answer to all tasks scores beside a skill or an arm, where answers are labels."""
    for sentence in result.get("majority_baseline", {"sentences": ()})["sentences"]:
        yield Line(one_line(sentence), free=True)


def matrix_rows(document: Document) -> Iterator[Block]:
    """A table of the arms with every target, and one of their pairs, if there are any."""
    targets = document["targets"]
    scores = [
        [arm["name"], *(_cell(target["arms"][i]) for target in targets)]
        for i, arm in enumerate(targets[0]["arms"])
    ]
    yield Rows(("arm", *(target["target"] for target in targets)), scores)
    pairs = [(target["target"], pair) for target in targets for pair in target["pairs"]]
    if pairs:
        titles, rows = _pair_table([pair for _, pair in pairs])
        named = [[name, *row] for (name, _), row in zip(pairs, rows, strict=True)]
        yield Rows(("target", *titles), named)
        yield from _decision([pair for _, pair in pairs])
    yield from warning_lines(document)


def _cell(arm: Document) -> str:
    """A score with its interval."""
    return f"{score(arm['value'])} ({interval_words(arm['interval'])})"


def title(document: Document) -> str:
    """What was measured: `test (hard, 2 draws each)`."""
    draws = f", {document['repeats']} draws each" if document["repeats"] > 1 else ""
    return f"{document['split']} ({document['metric']}{draws})"


def _arm_rows(document: Document) -> list[list[str]]:
    return [
        [
            arm["name"],
            score(arm["value"]),
            interval_words(arm["interval"]),
            out_of(arm["scored"], arm["n_items"]),
            f"{arm['chars']:,}",
        ]
        for arm in document["arms"]
    ]


def pair_blocks(pairs: Sequence[Document], verdict: Document | None = None) -> Iterator[Block]:
    """A table of pairs and, where an interval and a p-value disagree, which of them decides.

    Args:
        verdict: on the only pair, if there is one.
    """
    yield Rows(*_pair_table(pairs))
    yield from _decision(pairs, verdict)


def _decision(pairs: Sequence[Document], verdict: Document | None = None) -> Iterator[Line]:
    if sentence := deciding_sentence(pairs, verdict):
        yield Line(sentence, "dim", free=True)


def deciding_sentence(pairs: Sequence[Document], verdict: Document | None = None) -> str:
    """Which number decides, where those of a table of pairs disagree; empty where they agree.

    Args:
        pairs: entries of a comparison.
        verdict: on the only pair, if there is one. Its test is one-sided, and its own sentence
            states where the interval disagrees with that test; p-values of the table are two-sided.
    """
    if verdict is not None:
        one_sided = verdict["p_value"]
        if all((pair["p_corrected"] <= LEVEL) == (one_sided <= LEVEL) for pair in pairs):
            return ""
        such = "loss" if (verdict["gain"] or 0) < 0 else "gain"
        return (
            f"The verdict decides by a one-sided test, for such a {such} alone:"
            f" p {p_value(one_sided)}, at the 5 % level. The p-values of the table are"
            " two-sided, for a difference either way."
        )
    known = (pair for pair in pairs if pair["interval"] is not None)
    apart = any(disagree(pair["interval"], pair["p_corrected"]) for pair in known)
    if not apart:
        return ""
    return _P_OF_ALL_DECIDES if len(pairs) > 1 else _P_DECIDES


def _pair_table(pairs: Sequence[Document]) -> tuple[list[str], list[list[str]]]:
    """Titles and rows of a table of pairs; several have p corrected for all of them too."""
    titles, rows = [*_PAIR_TITLES], [_pair_row(pair) for pair in pairs]
    if len(pairs) > 1:
        titles.append("p (all pairs)")
        for row, pair in zip(rows, pairs, strict=True):
            row.append(p_value(pair["p_corrected"]))
    return titles, rows


def _pair_row(pair: Document) -> list[str]:
    counts = [str(pair[name]) for name in ("won", "lost", "tied")]
    ends = UNKNOWN if pair["interval"] is None else "{:+.2f} to {:+.2f}".format(*pair["interval"])
    return [
        f"{pair['first']} -> {pair['second']}",
        change(pair["gain"]),
        ends,
        *counts,
        p_value(pair["p_value"]),
    ]


def interval_words(ends: Sequence[float] | None) -> str:
    """A confidence interval: `0.41 to 0.67`."""
    return UNKNOWN if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"
