"""The points trackers are told: those of `history.json`, and the seed before them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import TINY, finished_run, skillopt
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.events import RunStarted, Stamped, TestMeasured
from skillopt_cli.ports import Point
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal
from skillopt_cli.trackers.metrics import MetricsProjection, numbers


def facts(folder: Path) -> list[Stamped]:
    with Journal(Path(":memory:")) as journal, FileStore(folder, journal) as store:
        return list(store.facts())


def points(log: list[Stamped], projection: MetricsProjection | None = None) -> list[Point]:
    projection = projection or MetricsProjection()
    return [point for fact in log for point in projection.add(fact)]


def history(folder: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((folder / "history.json").read_text("utf-8"))
    return found


def test_every_number_and_text_of_the_history_is_a_points() -> None:
    folder = finished_run(*TINY)
    seed, *steps = points(facts(folder))
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    assert seed.step == 0
    assert seed.values["selection_hard"] == summary["baseline_selection_hard"]
    assert seed.values["current_score"] == summary["baseline_gate_score"]
    records = history(folder)
    assert [point.step for point in steps] == [record.pop("step") for record in records]
    for point, record in zip(steps, records, strict=True):
        assert point.values == numbers(record)
        assert point.texts == {k: v for k, v in record.items() if isinstance(v, str)}
        assert point.values["fixed"] == len(record["fixed"])  # type: ignore[arg-type]
        assert point.values["tokens/rollout/calls"] == 6
        assert round(point.ended - point.began, 1) == record["wall_time_s"]


def test_stages_are_told_with_the_step_they_belong_to() -> None:
    projection = MetricsProjection()
    log = facts(finished_run(*TINY))
    seed, first, *_ = points(log, projection)
    assert [(stage.stage, stage.attempts) for stage in seed.stages] == [("measure", 8)]
    named = [stage.stage for stage in first.stages]
    assert named == ["rollout", "reflect", "aggregate", "select", "update", "measure"]
    assert first.stages[0].attempts == 6
    for stage in first.stages:
        assert first.began <= stage.began <= stage.ended <= first.ended
    # Each text is tested once: seed, best, and the final one, to which guidance was added at a tie.
    tested = {fact.event.digest for fact in log if isinstance(fact.event, TestMeasured)}
    assert [stage.stage for stage in projection.rest] == ["test"] * len(tested)
    assert len(tested) == 3


def test_a_run_that_was_taken_up_has_each_step_once_and_one_identity() -> None:
    folder = Path("outputs/searchqa/a")
    assert skillopt("train", "searchqa", *TINY, "--run-id", "a", "--max-calls", "90").code == 5
    first = MetricsProjection()
    early = points(facts(folder), first)
    assert 0 < first.done < 4
    assert skillopt("resume", folder, "--max-calls", "1000").code == 0
    whole = MetricsProjection()
    log = facts(folder)
    told = points(log, whole)
    assert [point.step for point in told] == [0, 1, 2, 3, 4]
    assert told[: len(early)] == early
    assert first.identity == whole.identity != ""
    assert first.began < whole.began
    moved = [replace(fact, time=fact.time + 1) for fact in log]
    other = MetricsProjection()
    points(moved, other)
    assert other.identity != whole.identity


def test_a_step_whose_checkpoint_was_saved_but_not_told_is_told_by_the_next_process() -> None:
    folder = finished_run(*TINY)
    log = facts(folder)
    at = next(i for i, f in enumerate(log) if getattr(f.event, "done", None) == 1 and i > 0)
    saved = log[at].event
    started = next(fact.event for fact in log if isinstance(fact.event, RunStarted))
    again = replace(started, done=1, recorded=saved)  # type: ignore[arg-type]
    died = [*log[:at], replace(log[at], event=again)]
    assert [point.step for point in points(died)] == [0, 1]


def test_an_evaluation_has_no_points() -> None:
    started = RunStarted("e", "searchqa", 0, 0, 0, "none", "t", "d", 1, 1, 1, "hard")
    measured = TestMeasured("eval", "d", 0.5, 0.5, 2, 2)
    projection = MetricsProjection()
    assert points([Stamped(1, 5.0, started), Stamped(2, 6.0, measured)], projection) == []
    assert projection.identity and projection.done == 0


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"a": None, "b": "text", "c": {}}, {}),
        ({"a": True, "b": False}, {"a": 1.0, "b": 0.0}),
        ({"a": ["x", "y"], "b": []}, {"a": 2.0, "b": 0.0}),
        ({"a": {"b": {"c": 3}, "d": None}}, {"a/b/c": 3.0}),
    ],
)
def test_numbers_of_a_document(record: dict[str, object], told: dict[str, float]) -> None:
    assert numbers(record) == told


@given(st.dictionaries(st.text("abc", min_size=1), st.floats(allow_nan=False)))
def test_plain_numbers_stay_what_they_are(record: dict[str, float]) -> None:
    assert numbers(record) == record
