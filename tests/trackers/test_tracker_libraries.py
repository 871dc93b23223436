"""Every tracker with its real library and a store on this machine, over two processes of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, events, skillopt
from tracker_stores import (
    Found,
    Span,
    file_spans,
    mlflow_run,
    tensorboard_run,
    wandb_run,
)

from skillopt_cli.plugins import load_tracker
from skillopt_cli.trackers.metrics import numbers

ALL = ("mlflow", "otel", "tensorboard", "wandb")
for _name in ALL:
    if _lack := load_tracker(_name).missing():
        pytest.skip(f"{_lack} is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty environment and home, as every test has them, for runs that tests share."""
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - {"PATH", "TMPDIR", "LANG"}:
            if not name.startswith("PYTEST_"):
                patch.delenv(name)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        home = tmp_path_factory.mktemp("runs")
        patch.chdir(home)
        yield home


def two_processes(home: Path, run_id: str, *trackers: str) -> Path:
    """A run that a cap stopped and another process took up."""
    said = [word for name in trackers for word in ("--tracker", name)]
    capped = ("--run-id", run_id, "--max-calls", "90")
    stopped = skillopt("train", "searchqa", *TINY, *said, *capped)
    assert stopped.code == 5, stopped.err
    folder = home / "outputs" / "searchqa" / run_id
    # The trackers are part of the run's configuration.
    ended = skillopt("resume", folder, "--max-calls", "1000")
    assert ended.code == 0, ended.err
    assert len(events(folder, "run_started")) == 2
    assert events(folder, "subscriber_dropped") == []
    return folder


@pytest.fixture(scope="module")
def light(surroundings: Path) -> Path:
    return two_processes(surroundings, "light", "tensorboard", "otel")


@pytest.fixture(scope="module")
def heavy(surroundings: Path) -> Path:
    """With libraries that take many seconds to load, and to make a database."""
    return two_processes(surroundings, "heavy", "mlflow", "wandb")


def history_of(folder: Path) -> dict[int, dict[str, Any]]:
    records = json.loads((folder / "history.json").read_text("utf-8"))
    return {record.pop("step"): record for record in records}


def summary_of(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
    return document


def texts(record: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in record.items() if isinstance(value, str)}


def check_numbers(found: Found, folder: Path) -> None:
    """Every number of history and summary is there, once. Event files hold 32 bits of each."""
    history, summary = history_of(folder), summary_of(folder)
    assert found.runs == 1
    assert sorted(found.rows) == [0, 1, 2, 3, 4]
    assert set(found.written.values()) == {1}, "a step was written twice"
    for step, record in history.items():
        wanted = numbers(record)
        row = {name: value for name, value in found.rows[step].items() if name in wanted}
        assert row == pytest.approx(wanted, rel=1e-6), step
    seed = found.rows[0]
    assert seed["selection_hard"] == pytest.approx(summary["baseline_selection_hard"])
    assert seed["best_score"] == pytest.approx(summary["baseline_gate_score"])
    wanted = numbers(summary)
    told = {name: value for name, value in found.summary.items() if name in wanted}
    assert told == pytest.approx(wanted, rel=1e-6)


def check_texts(found: Found, folder: Path) -> None:
    for step, record in history_of(folder).items():
        row = found.rows[step]
        assert {name: row[name] for name in texts(record)} == texts(record)


def check_files(found: Found, folder: Path) -> None:
    for name in ("best_skill.md", "config.yaml", "history.json", "summary.json"):
        assert found.files[name] == (folder / name).read_bytes()


@pytest.mark.slow
# MLflow maps a relation in a way that SQLAlchemy will give up; this test loads it to read back.
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")
def test_mlflow(heavy: Path) -> None:
    found = mlflow_run(heavy.parents[1])
    check_numbers(found, heavy)
    check_files(found, heavy)
    assert found.status == "FINISHED"
    assert all(one != next for said in found.summaries.values() for one, next in pairwise(said))
    assert found.settings["train.num_epochs"] == "2"
    assert found.settings["model.backend"] == "simulated"


@pytest.mark.slow
def test_wandb(heavy: Path) -> None:
    found = wandb_run(heavy)
    check_numbers(found, heavy)
    check_texts(found, heavy)
    check_files(found, heavy)
    assert found.status == "0"
    assert found.summary["status"] == "finished"
    assert found.settings["train"]["num_epochs"] == 2


@pytest.mark.slow
def test_tensorboard(light: Path) -> None:
    found = tensorboard_run(light)
    check_numbers(found, light)
    check_texts(found, light)


def named(spans: list[Span], name: str) -> Span:
    (span,) = [span for span in spans if span.name == name]
    return span


def test_opentelemetry(light: Path) -> None:
    spans = file_spans(light)
    assert len({span.trace for span in spans}) == 1
    assert len({span.id for span in spans}) == len(spans)
    assert {span.service for span in spans} == {"skillopt"}
    first, second = [span for span in spans if span.name == "run"]
    assert first.parent == second.parent == b""
    assert first.ended <= second.began
    assert first.values["skillopt.status"] == "budget"
    prefix = "skillopt.summary."
    summary = {n.removeprefix(prefix): v for n, v in second.values.items() if n.startswith(prefix)}
    assert summary == numbers(summary_of(light))
    for step, record in history_of(light).items():
        span = named(spans, f"step {step}")
        wanted = {**numbers(record), **texts(record)}
        assert {name: span.values[f"skillopt.{name}"] for name in wanted} == wanted
        assert span.parent in {first.id, second.id}
        stages = [inner for inner in spans if inner.parent == span.id]
        assert [stage.name for stage in stages][:2] == ["rollout", "reflect"]
        assert stages[0].values["skillopt.attempts"] == record["rollout_n"]
        assert all(span.began <= s.began <= s.ended <= span.ended for s in stages)
    assert {s.name for s in spans if s.parent == named(spans, "seed").id} == {"measure"}
    assert "test" in {span.name for span in spans if span.parent == second.id}
