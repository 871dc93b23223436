"""Runs in processes of their own that share a cache, in a folder and in an object store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from command_line import SMALLEST, events, refused, skillopt, train
from object_server import ObjectServer, object_server

from skillopt_cli.testing import ModelServer, run_model_server

PROGRAM = (sys.executable, "-c", "from skillopt_cli.cli.main import main; main()")
RUN = Path("outputs") / "searchqa"
SECRET = "canary-of-the-object-store"


@pytest.fixture
def objects() -> Iterator[ObjectServer]:
    s3fs = pytest.importorskip("s3fs")
    s3fs.S3FileSystem.clear_instance_cache()
    with object_server() as running:
        yield running
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with run_model_server(key="canary-of-the-model") as running:
        yield running


def in_a_process(*words: str, variables: Mapping[str, str]) -> None:
    done = subprocess.run(
        [*PROGRAM, *words],
        env={**os.environ, **variables, "OPENAI_API_KEY": "canary-of-the-model"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def asking(server: ModelServer) -> list[str]:
    """The flags of a run whose models are behind a server."""
    names = [w for role in ("optimizer", "target") for w in (f"--{role}-model", "simulated")]
    return [
        *("--optimizer-backend", "openai_compatible", "--target-backend", "openai_compatible"),
        *(*names, "--set", f"model.base_url={server.url}"),
    ]


def baseline(folder: Path) -> list[bool]:
    """For each attempt of the seed at a selection task, whether it was recalled."""
    kinds = [event["kind"] for event in events(folder)]
    before = events(folder)[: kinds.index("baseline_measured")]
    calls = [e for e in before if e["kind"] == "call_made" and e["stage"] == "measure"]
    made = [e for e in before if e["kind"] == "rollout_finished" and e["stage"] == "measure"]
    recalled = [event["recalled"] for event in made]
    assert len(calls) == recalled.count(False)
    return recalled


@pytest.mark.parametrize("where", ["folder", "objects"])
def test_the_second_run_makes_none_of_the_seeds_calls(
    where: str, model: ModelServer, objects: ObjectServer
) -> None:
    place = "s3://bucket/searchqa" if where == "objects" else "cache"
    given = ["train", "searchqa", *SMALLEST, "--display", "none"]
    given += [*asking(model), "--set", f"run.cache_dir={place}"]
    for run, rate in (("a", "2"), ("b", "8")):
        words = [*given, "--run-id", run, "--learning-rate", rate]
        in_a_process(*words, variables=objects.variables)
    first, second = RUN / "a", RUN / "b"
    assert baseline(first) == [False] * 4
    assert baseline(second) == [True] * 4
    assert events(second, "degraded") == events(first, "degraded")
    held = list(objects.objects.values()) if where == "objects" else contents(Path("cache"))
    assert len(held) > 8
    for key in (SECRET, "canary-of-the-model"):
        assert not [each for each in (*held, *contents(RUN)) if key.encode() in each]


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def test_runs_of_a_sweep_in_processes_measure_the_seed_once(model: ModelServer) -> None:
    Path("grid.yaml").write_text(
        "benchmark: searchqa\npreset: tiny\nseeds: [1]\n"
        "fixed: {train.num_epochs: 1, evaluation.sel_env_num: 4, evaluation.test_env_num: 3}\n"
        "grid: {optimizer.learning_rate: [2, 8]}\n",
        encoding="utf-8",
    )
    given = [*asking(model), "--display", "none", "--jobs", "2"]
    in_a_process("sweep", "grid.yaml", *given, variables={})
    runs = sorted(RUN.glob("grid-*"))
    assert len(runs) == 2
    made = [baseline(run) for run in runs]
    assert sorted(map(tuple, made)) == [(False,) * 4, (True,) * 4]


def test_a_cache_that_refuses_ends_no_run_and_scores_nothing(
    objects: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in objects.variables.items():
        monkeypatch.setenv(name, value)
    objects.refusing = True
    alone = train(*SMALLEST, run_id="alone")
    folder = train(*SMALLEST, "--set", "run.cache_dir=s3://bucket/searchqa", run_id="shared")
    reasons = [event["reason"] for event in events(folder, "degraded") if event["where"] == "cache"]
    assert "lookup failed: s3://bucket/searchqa cannot be read: no" in reasons
    assert "entry not shared: s3://bucket/searchqa cannot be written: no" in reasons
    assert re.fullmatch(r"in all: .*entry not shared \d+ times", reasons[-1])
    for name in ("best_skill.md", "history.json"):
        assert scores(folder / name) == scores(alone / name)
    assert events(folder, "run_finished")


def scores(path: Path) -> object:
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    records = json.loads(path.read_text(encoding="utf-8"))
    return [{k: v for k, v in record.items() if "score" in k or "hard" in k} for record in records]


def test_a_resume_takes_nothing_from_the_cache_that_its_journal_holds(
    objects: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in objects.variables.items():
        monkeypatch.setenv(name, value)
    shared = ("--set", "run.cache_dir=s3://bucket/searchqa")
    ended = skillopt("train", "searchqa", *SMALLEST, *shared, "--run-id", "a", "--max-calls", "8")
    assert ended.code == 5, ended.err
    objects.objects.clear()
    made = len(events(RUN / "a", "call_made"))
    assert skillopt("resume", RUN / "a", "--max-calls", "99").code == 0
    keys = Counter(path.rsplit("/", 1)[1] for method, path in objects.asked if method == "PUT")
    assert max(keys.values()) == 1
    assert len(events(RUN / "a", "call_made")) > made


def test_a_key_in_the_address_is_refused() -> None:
    ended = refused(2, "train", "searchqa", *SMALLEST, "--set", "run.cache_dir=s3://a:b@bucket/x")
    assert "holds a key" in ended.error


def test_another_run_may_be_the_cache() -> None:
    first = train(*SMALLEST)
    second = train(*SMALLEST, "--set", f"run.cache_dir={first}", run_id="b")
    assert not [e for e in events(second, "call_made") if e["stage"] != "preflight"]
