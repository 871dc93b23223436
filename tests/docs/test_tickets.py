"""The tickets of the second demo: balanced, disjoint, and a label set that `rules` can learn."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from doc_pages import DOCS
from typer.testing import CliRunner

from skillopt_cli.cli.app import app
from skillopt_cli.compose.benchmark import open_benchmark
from skillopt_cli.compose.roles import optimizer_unsuited
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.task import SPLITS
from skillopt_cli.stages.leak_check import split_labels

QUEUES = ("billing", "login", "returns", "shipping", "technical")


def test_the_tickets_are_a_label_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS / "examples")
    config = settle(Overrides(config=Path("tickets/config.yaml")), {}).config
    benchmark = open_benchmark(config)
    tasks = {split: benchmark.tasks(split) for split in SPLITS}
    assert {split: len(part) for split, part in tasks.items()} == {
        "train": 25,
        "selection": 15,
        "test": 20,
    }
    for part in tasks.values():
        counted = Counter(task.data["answers"][0] for task in part)
        assert sorted(counted) == list(QUEUES)
        assert len(set(counted.values())) == 1
    texts = [task.data["context"] for part in tasks.values() for task in part]
    assert len(set(texts)) == 60
    assert split_labels(benchmark, tasks["train"]).names == QUEUES
    assert optimizer_unsuited(config, benchmark, tasks["train"]) == ""


@pytest.mark.parametrize(
    ("given", "made"),
    [
        # As counted in the runs that these pages are about; their seed skills solve no ticket.
        (("--config", "tickets/config.yaml"), 464),
        (
            (
                *("gallery/tickets/tickets.csv", "--answer-key", "queue", "--preset", "quick"),
                *("--target-backend", "local", "--optimizer-backend", "rules", "--epochs", "1"),
                *("--set", "optimizer.reflect_rounds=1"),
            ),
            379,
        ),
    ],
)
def test_the_plan_of_a_seed_that_solves_nothing_is_near_what_was_measured(
    given: tuple[str, ...], made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DOCS / "examples")
    ended = CliRunner().invoke(app, ["plan", *given, "--json"])
    assert ended.exit_code == 0, ended.output
    plan = json.loads(ended.stdout)
    assert plan["calls_if_none_solved"] == pytest.approx(made, rel=0.2)
    assert plan["calls"]["low"] <= made <= plan["calls"]["high"]
