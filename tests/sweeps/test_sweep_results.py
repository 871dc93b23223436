"""Ranking and comparing: by selection scores, on the same test tasks, with what luck allows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sweep_rig import finished, stopped, trial

from skillopt_cli.core.errors import DataError
from skillopt_cli.core.events import BaselineMeasured, CheckpointSaved, Means, TestMeasured
from skillopt_cli.core.paired_statistics import sign_flip_test
from skillopt_cli.core.statistics import LEVEL, interval
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.runlog.outcomes import Outcome
from skillopt_cli.runlog.rounds import Round
from skillopt_cli.runlog.view import RunView
from skillopt_cli.sweeps.budget import SweepBudget
from skillopt_cli.sweeps.grid import Caps, SweepGrid
from skillopt_cli.sweeps.report import sweep_document, sweep_page
from skillopt_cli.sweeps.results import SweepResults, sweep_results
from skillopt_cli.sweeps.runner import EndedRun
from skillopt_cli.sweeps.scheduler import SweepOutcome as Ending
from skillopt_cli.sweeps.trials import Trial

GRID = SweepGrid(Path("g.yaml"), "g", "b", "", None, (), (), (), Caps(), None)


class Runs:
    """Finished runs whose marks on test tasks are given."""

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self.views: dict[str, RunView] = {}

    def add(
        self, name: str, best: float, marks: Sequence[float | None], *, seed: int | None = None
    ) -> None:
        made = trial(name, seed)
        made = replace(made, run_id=name if seed is None else f"{name}-{seed}")
        known = [mark for mark in marks if mark is not None]
        mean = sum(known) / len(known)
        test = TestMeasured("best", "x", mean, mean, len(known), len(marks))
        self.trials.append(made)
        outcomes = tuple(Outcome(f"t{i}", mark, mark) for i, mark in enumerate(marks))
        self.views[made.run_id] = replace(
            finished(best=best),
            tests={"best": test},
            rounds=(Round(0, "test", "best", chunks=(outcomes,)),),
        )
        made.folder.mkdir(parents=True)
        self.manifest(made, {f"t{i}": "x" for i in range(len(marks))})

    def manifest(self, made: Trial, test: dict[str, str]) -> None:
        parts = ("config", "benchmark", "target", "optimizer", "seed_skill", "prompts")
        document = {**dict.fromkeys(parts, ""), "splits": {"test": test}}
        (made.folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")

    def sweep_results(self, outcome: Ending | None = None) -> SweepResults:
        read = {t.folder: self.views.get(t.run_id, RunView()) for t in self.trials}
        return sweep_results(self.trials, outcome or Ending(), read.__getitem__)


@pytest.fixture
def runs() -> Runs:
    return Runs()


def page(found: SweepResults) -> str:
    return as_markdown(sweep_page(GRID, found, SweepBudget(())))


def order(found: SweepResults) -> list[str]:
    return [c.settings[0][1] for c in found.combinations]


def test_the_selection_score_ranks_and_the_test_judges(runs: Runs) -> None:
    runs.add("a", 0.5, [1.0] * 8 + [0.0] * 2)
    runs.add("b", 0.7, [0.0] * 8 + [1.0] * 2)
    found = runs.sweep_results()
    assert order(found) == ["b", "a"]
    first, second = found.combinations
    assert first.against is None
    against = second.against
    assert against is not None
    assert (against.won, against.lost, against.n) == (8, 2, 10)
    assert against.difference == pytest.approx(0.6)
    assert against.chance == sign_flip_test([1.0] * 8 + [-1.0] * 2)
    assert against.verdict == "within noise"
    assert "All differences are within noise" in page(found)


def test_nothing_is_called_ranked_before_a_combination_is_complete(runs: Runs) -> None:
    runs.trials.append(trial("a", None))
    assert "Ranked" not in page(runs.sweep_results())
    runs.add("b", 0.5, [1.0])
    assert "Ranked by the selection score" in page(runs.sweep_results())


def test_a_difference_beyond_luck_is_said_with_its_side(runs: Runs) -> None:
    runs.add("a", 0.7, [1.0] * 12)
    runs.add("b", 0.6, [0.0] * 12)
    runs.add("c", 0.5, [1.0] * 11 + [0.0])
    found = runs.sweep_results()
    verdicts = [c.against.verdict for c in found.combinations if c.against]
    assert verdicts == ["worse", "within noise"]
    assert "1 difference from the first is more than noise" in page(found)
    # Two looks were taken, so each chance counts for more.
    assert found.combinations[1].against.chance == pytest.approx(2 * sign_flip_test([-1.0] * 12))  # type: ignore[union-attr]


def test_a_better_test_than_the_first_is_not_hidden(runs: Runs) -> None:
    runs.add("a", 0.7, [0.0] * 12)
    runs.add("b", 0.6, [1.0] * 12)
    second = runs.sweep_results().combinations[1]
    assert second.against and second.against.verdict == "better"


def test_a_mean_that_goes_against_most_tasks_shows_nothing(runs: Runs) -> None:
    # Of ten tasks the second wins nine under one seed of ten, and loses one under all of them.
    for seed in range(10):
        runs.add("a", 0.7, [0.0] * 9 + [1.0], seed=seed)
        runs.add("b", 0.6, [float(seed == 0)] * 9 + [0.0], seed=seed)
    found = runs.sweep_results()
    against = found.combinations[1].against
    assert against is not None
    assert (against.won, against.lost) == (9, 1)
    assert against.difference < 0 and against.chance > LEVEL
    assert against.verdict == "within noise"
    assert "All differences are within noise" in page(found)


def test_the_task_is_the_unit_however_many_seeds(runs: Runs) -> None:
    for seed in (1, 2, 3):
        runs.add("a", 0.6, [1.0, 0.0, 1.0, 0.0], seed=seed)
        runs.add("b", 0.5, [1.0, 0.0, 0.0, 0.0], seed=seed)
    first, second = runs.sweep_results().combinations
    assert first.tested and second.tested and second.against
    assert (first.tested.n, first.tested.hard) == (4, 0.5)
    assert (first.tested.low, first.tested.high) == interval(0.5, 4)
    assert first.tested.by_seed == (0.5, 0.5, 0.5)
    assert (second.against.won, second.against.lost) == (0, 1)


def test_the_mean_of_each_seed_is_over_the_tasks_that_all_have(runs: Runs) -> None:
    runs.add("a", 0.6, [1.0, 1.0, 0.0], seed=1)
    runs.add("a", 0.6, [None, 1.0, 1.0], seed=2)
    (only,) = runs.sweep_results().combinations
    assert only.tested and only.tested.by_seed == (0.5, 1.0)
    assert only.tested.hard == 0.75


def test_seeds_are_averaged_within_a_task(runs: Runs) -> None:
    runs.add("a", 0.8, [1.0, 0.0], seed=1)
    runs.add("a", 0.4, [0.0, 0.0], seed=2)
    (only,) = runs.sweep_results().combinations
    assert only.tested and only.tested.scores == {"t0": 0.5, "t1": 0.0}
    assert only.best == pytest.approx(0.6)
    assert "0.25 (0.00-0.50)" in page(runs.sweep_results())


def test_broken_tasks_are_left_out_on_both_sides(runs: Runs) -> None:
    runs.add("a", 0.7, [1.0, None, 1.0])
    runs.add("b", 0.6, [None, 0.0, 0.0])
    second = runs.sweep_results().combinations[1]
    assert second.against and (second.against.n, second.against.lost) == (1, 1)


def test_what_is_not_finished_stands_last_and_is_not_compared(runs: Runs) -> None:
    runs.add("a", 0.9, [1.0, 1.0], seed=1)
    runs.trials.append(replace(trial("a", 2), run_id="a-2"))
    runs.add("b", 0.5, [1.0, 0.0], seed=1)
    runs.add("b", 0.5, [1.0, 0.0], seed=2)
    runs.trials.append(replace(trial("c", 1), run_id="c-1"))
    runs.views["c-1"] = stopped(4, 130)
    found = runs.sweep_results(Ending(failures={"a-2": EndedRun(runs.trials[1], 4, "no key")}))
    assert order(found) == ["b", "a", "c"]
    assert [c.tested is not None for c in found.combinations] == [True, False, False]
    said = page(found)
    assert "1 of 2: 1 failed" in said and "interrupted" in said
    assert "a-2: no key" in said
    assert "fewer than two combinations have test scores" in said


def test_other_tasks_are_not_compared(runs: Runs) -> None:
    runs.add("a", 0.9, [1.0, 1.0])
    runs.add("b", 0.5, [1.0, 0.0])
    runs.manifest(runs.trials[1], {"t0": "x", "t1": "another text"})
    found = runs.sweep_results()
    assert all(c.against is None for c in found.combinations)
    assert "do not have the same test tasks" in found.incomparable
    assert "Not compared" in page(found)


def test_a_best_skill_that_reads_like_the_seed_has_the_seed_s_marks(runs: Runs) -> None:
    runs.add("a", 0.5, [1.0, 0.0])
    (made,) = runs.views["a"].rounds
    runs.views["a"] = replace(runs.views["a"], rounds=(replace(made, label="seed"),))
    (only,) = runs.sweep_results().combinations
    assert only.tested and only.tested.hard == 0.5


def test_one_seed_is_said_to_compare_skills_only(runs: Runs) -> None:
    runs.add("a", 0.9, [1.0, 1.0])
    runs.add("b", 0.5, [1.0, 0.0])
    assert "trained with one seed" in page(runs.sweep_results())


def test_the_document_holds_what_the_page_shows(runs: Runs) -> None:
    runs.add("a", 0.9, [1.0] * 6)
    runs.add("b", 0.5, [0.0] * 6)
    document = sweep_document(GRID, runs.sweep_results(), SweepBudget(()), 0)
    first, second = document["combinations"]
    assert json.loads(json.dumps(document)) == document
    assert first["place"] == 1 and first["against_first"] is None
    assert second["against_first"]["verdict"] == "worse"
    assert second["test"]["n"] == 6
    assert [run["run_id"] for run in second["runs"]] == ["b"]
    assert document["finished"] is True


def test_equal_scores_share_a_place(runs: Runs) -> None:
    for name, best in (("a", 0.5), ("b", 0.9), ("c", 0.3), ("d", 0.9), ("e", 0.1 + 0.2)):
        runs.add(name, best, [1.0, 0.0])
    runs.trials.append(trial("f"))
    found = runs.sweep_results()
    assert order(found) == ["b", "d", "a", "c", "e", "f"], "equal ones in the order of the grid"
    assert found.places == [1, 1, 3, 4, 4, None]
    document = sweep_document(GRID, found, SweepBudget(()), 0)
    assert [c["place"] for c in document["combinations"]] == [1, 1, 3, 4, 4, None]
    rows = [line.split("|")[1].strip() for line in page(found).splitlines() if "| 0." in line]
    assert rows[:5] == ["1", "1", "3", "4", "4"]


def test_settings_have_the_values_that_their_keys_want(runs: Runs) -> None:
    settings = (
        ("optimizer.learning_rate", "8"),
        ("optimizer.lr_scheduler", "cosine"),
        ("optimizer.use_meta_skill", "false"),
        ("model.temperature", "0.5"),
        ("model.target.name", "4"),
        ("env.split_dir", ""),
        ("optimizer.verify", "off"),
        ("evaluation.use_gate", "off"),
    )
    runs.add("a", 0.5, [1.0])
    runs.trials = [replace(runs.trials[0], settings=settings)]
    (only,) = sweep_document(GRID, runs.sweep_results(), SweepBudget(()), 0)["combinations"]
    assert only["settings"] == {
        "optimizer.learning_rate": 8,
        "optimizer.lr_scheduler": "cosine",
        "optimizer.use_meta_skill": False,
        "model.temperature": 0.5,
        "model.target.name": "4",
        "env.split_dir": None,
        "optimizer.verify": "off",
        "evaluation.use_gate": False,
    }


def test_a_run_whose_log_is_damaged_has_no_result(runs: Runs) -> None:
    runs.add("a", 0.5, [1.0])
    runs.add("b", 0.4, [1.0])

    def read(folder: Path) -> RunView:
        if folder.name == "a":
            raise DataError("line 3 is not a fact")
        return runs.views[folder.name]

    found = sweep_results(runs.trials, Ending(), read)
    first, second = found.combinations
    assert (first.settings[0][1], found.places) == ("b", [1, None])
    assert (second.results[0].status, second.results[0].message) == (
        "failed",
        "line 3 is not a fact",
    )
    assert "a: line 3 is not a fact" in page(found)


def gated(
    runs: Runs, name: str, metric: str, gate: float, hard: float, weight: float = 0.5
) -> None:
    """A run whose best skill has these selection scores under its gate metric and the hard one."""
    runs.add(name, gate, [1.0, 0.0])
    made = runs.trials[-1]
    evaluation = made.config.evaluation.model_copy(
        update={"gate_metric": metric, "gate_mixed_weight": weight}
    )
    runs.trials[-1] = replace(
        made, config=made.config.model_copy(update={"evaluation": evaluation})
    )
    means = Means("x", hard, gate, 4, 4)
    checkpoint = CheckpointSaved(1, gate, gate, 1, 1, 9, means, means)
    runs.views[name] = replace(
        runs.views[name],
        saved=checkpoint,
        baseline=BaselineMeasured(gate / 2, hard / 2, gate / 2, 4, 4),
    )


@pytest.mark.parametrize(
    ("gates", "metric", "places"),
    [
        ((("hard", 0.5), ("hard", 0.5)), "hard", ["a", "b"]),
        ((("soft", 0.5), ("soft", 0.5)), "soft", ["b", "a"]),
        ((("mixed", 0.5), ("mixed", 0.5)), "mixed", ["b", "a"]),
        ((("hard", 0.5), ("soft", 0.5)), "hard", ["a", "b"]),
        ((("mixed", 0.2), ("mixed", 0.8)), "hard", ["a", "b"]),
        # The weight of a gate that mixes nothing is none of its metric.
        ((("soft", 0.2), ("soft", 0.8)), "soft", ["b", "a"]),
    ],
)
def test_combinations_are_ranked_by_one_metric_which_is_named(
    runs: Runs, gates: tuple[tuple[str, float], ...], metric: str, places: list[str]
) -> None:
    scores = {"a": (0.6, 0.6), "b": (0.5 if metric == "hard" == gates[1][0] else 0.9, 0.5)}
    for name, (gate, weight) in zip("ab", gates, strict=True):
        gated(runs, name, gate, *scores[name], weight)
    found = runs.sweep_results()
    assert (found.metric, order(found)) == (metric, places)
    shown = {c.settings[0][1]: (c.before, c.best) for c in found.combinations}
    by_hard = len(found.metrics) > 1
    assert shown == {n: (v[by_hard] / 2, v[by_hard]) for n, v in scores.items()}
    text = page(found)
    named = f"selection ({metric})" in text and "test (hard)" in text
    assert named == any(gate != "hard" for gate, _ in gates)
    assert ("the gates of the runs have different metrics" in text) == by_hard
    document = sweep_document(GRID, found, SweepBudget(()), 0)
    assert document["ranked_by"] == metric
    assert [c["best_gate_score"] for c in document["combinations"]] == [shown[n][1] for n in places]


def test_the_notes_agree_with_each_other(runs: Runs) -> None:
    for name, best, mark in (("a", 0.7, 1.0), ("b", 0.6, 0.0), ("c", 0.5, 0.0)):
        runs.add(name, best, [mark] * 12)
    notes = sweep_document(GRID, runs.sweep_results(), SweepBudget(()), 0)["notes"]
    assert notes[1:3] == [
        "2 differences from the first are more than noise.",
        "12 test tasks hardly show a gain of up to 0.20.",
    ]
