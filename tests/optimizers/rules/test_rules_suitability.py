"""`rules` is found unsuited before a run, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from quiz import Readings
from test_rules_labels import Tickets

from skillopt_cli.optimizers.rules import STAGES
from skillopt_cli.optimizers.rules.suitability import why_unsuited

PROVERBS = (
    "haste makes waste",
    "less is more",
    "time will tell",
    "ice is cold",
    "all is well",
)


def test_answers_in_the_text_and_labels_suit_it() -> None:
    for benchmark in (Readings(), Tickets()):
        assert why_unsuited(benchmark, benchmark.tasks("train")) == ""
    assert STAGES.unsuited is why_unsuited


@pytest.mark.parametrize(("strange", "unsuited"), [(12, False), (13, True), (24, True)])
def test_answers_from_elsewhere_do_not(strange: int, unsuited: bool) -> None:
    benchmark = Readings()
    tasks = [
        replace(task, data={**task.data, "answers": [f"{PROVERBS[n % 5]} {n}{n}{n}"]})
        if n < strange
        else task
        for n, task in enumerate(benchmark.tasks("train"))
    ]
    told = (
        f"`rules` can hardly help: the references of {strange} of 24 train tasks do not occur in"
        " their texts, and they are no label set"
    )
    assert why_unsuited(benchmark, tasks) == (told if unsuited else "")


def test_without_references_there_is_nothing_to_tell() -> None:
    assert why_unsuited(object(), Readings().tasks("train")) == ""
    assert why_unsuited(Readings(), []) == ""
