"""Whether the analyst can learn from a benchmark at all, before any answer is seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from skillopt_cli.core.edit_counts import Evidence
from skillopt_cli.core.formatting import count
from skillopt_cli.core.labels import LEAST_TASKS, folded
from skillopt_cli.core.task import Task
from skillopt_cli.optimizers.rules.case import Case
from skillopt_cli.optimizers.rules.text import words
from skillopt_cli.ports import Benchmark, Referenced
from skillopt_cli.stages.leak_check import split_labels, task_answers

AT_MOST = 200
"""Tasks looked at, taken evenly over the split."""


def why_unsuited(benchmark: Benchmark, tasks: Sequence[Task]) -> str:
    """Why `rules` can hardly help on these train tasks; "" where it may, or where none can tell.

    The references must occur in the texts of the tasks, or be labels, for half of the tasks. What a
    run counts besides, answers near their references, is not known beforehand.
    """
    if not isinstance(benchmark, Referenced):
        return ""
    labels = {folded(name) for name in split_labels(benchmark, tasks).names}
    cases = []
    for task in tasks[:: max(1, math.ceil(len(tasks) / AT_MOST))]:
        if wanted := benchmark.expected(task):
            brief = benchmark.brief(task)
            source = words("\n".join(section.text for section in brief.sections))
            named = map(folded, task_answers(task, wanted).references)
            label = next((name for name in named if name in labels), None)
            cases.append(Case(brief, "", wanted, True, label=label, source=source))
    fitting = sum(case.label is not None or case.grounded for case in cases)
    evidence = Evidence(len(cases), fitting)
    if not evidence.weak:
        return ""
    few = f"{count(len(tasks), 'train task')} are too few to know a set of labels by"
    why = few if len(tasks) < LEAST_TASKS else "they are no label set"
    return f"`rules` can hardly help: {evidence.lacking('train task')}, and {why}"
