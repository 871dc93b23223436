"""The best skills of several runs, compared task by task on their test tasks with the first run's.

The test is that of the verdict: the exact paired sign-flip test, here two-sided, with p-values
corrected for the number of comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from skillopt_cli.core.paired_statistics import paired_differences
from skillopt_cli.core.statistics import LEVEL, corrected
from skillopt_cli.reports.arms import pair_blocks
from skillopt_cli.reports.page import Block, Heading, Line
from skillopt_cli.reports.run.subject import NO_DIFFERENCES, RunDifferences, Subject
from skillopt_cli.runlog.best_scores import best_test_scores
from skillopt_cli.runlog.text.format import one_line

Document = dict[str, Any]


def paired_document(
    runs: Sequence[Subject],
    kind: Literal["hard", "soft"],
    differences: RunDifferences = NO_DIFFERENCES,
) -> list[Document]:
    """Each further run against the first, as JSON; empty where no two have test scores.

    Keys are those of the pairs of an evaluation with several arms.
    """
    scores = [
        {
            t: s
            for t, s in best_test_scores(run.view, kind).items()
            if differences.compares("test", t)
        }
        for run in runs
    ]
    first, *others = zip(runs, scores, strict=True)
    found: list[Document] = []
    for run, own in others:
        pair = paired_differences(*({t: [s] for t, s in one.items()} for one in (first[1], own)))
        if pair.gain is not None:
            found.append({
                "first": one_line(first[0].label),
                "second": one_line(run.label),
                "n": pair.n,
                "gain": pair.gain,
                "interval": pair.interval,
                "won": pair.won,
                "lost": pair.lost,
                "tied": pair.n - pair.won - pair.lost,
                "p_value": pair.p_value(),
            })
    sure = corrected([pair["p_value"] for pair in found])
    return [{**pair, "p_corrected": p} for pair, p in zip(found, sure, strict=True)]


def paired_blocks(
    runs: Sequence[Subject],
    kind: Literal["hard", "soft"],
    differences: RunDifferences = NO_DIFFERENCES,
) -> Iterator[Block]:
    """The same for people; nothing where no two runs have test scores."""
    pairs = paired_document(runs, kind, differences)
    if not pairs:
        return
    yield Heading(f"Test tasks compared ({kind} scores)")
    if sentence := differences.sentence("test"):
        yield Line(sentence, free=True)
    yield from pair_blocks(pairs)
    sure = [pair["second"] for pair in pairs if pair["p_corrected"] < LEVEL]
    noun, verb = ("difference", "is") if len(sure) < 2 else ("differences", "are")
    words = f"the {noun} of {', '.join(sure)}" if sure else "no difference"
    yield Line(
        f"On these test tasks, {words} from the first run {verb} more than chance explains.",
        "dim",
        free=True,
    )
