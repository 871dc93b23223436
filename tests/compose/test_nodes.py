"""Runs on a cluster whose nodes are in this process: what travels, and what must be the same."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, refused, skillopt
from here_cluster import HereCluster

from skillopt_cli.benchmarks.alfworld import SPEC as ALFWORLD
from skillopt_cli.compose import nodes
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.plugins import BENCHMARKS, load_benchmark, names
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Filed, Interactive

SAMPLES = [name for name in names(BENCHMARKS) if load_benchmark(name).sample is not None]


@pytest.fixture(autouse=True)
def own_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> list[HereCluster]:
    """The clusters that runs open, each of this process."""
    made: list[HereCluster] = []

    def cluster(address: str, needs: nodes.WorkerNeeds) -> HereCluster:
        made.append(HereCluster((address, needs)))
        return made[-1]

    monkeypatch.setattr(nodes, "RayCluster", cluster)
    return made


def results(folder: Path) -> tuple[dict[str, Any], dict[tuple[str, str], Any]]:
    """What must be equal wherever attempts are made: all of it, and the rows that both have.

    A measurement that is settled early ends with the attempts that are then in flight.
    """
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    rows = {
        (str(path.relative_to(folder)), row["id"]): row
        for path in folder.rglob("results.jsonl")
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }
    best = (folder / "best_skill.md").read_text(encoding="utf-8")
    gates = [(step["step"], step["action"], step["current_score"]) for step in history]
    return {"best": best, "gates": gates}, rows


@pytest.mark.parametrize("benchmark", ["searchqa", "spreadsheetbench", "officeqa"])
def test_a_training_equals_that_of_one_machine(benchmark: str, clusters: list[HereCluster]) -> None:
    found = []
    for executor in ("local", "ray"):
        given = ("train", benchmark, *SMALLEST, "--run-id", executor, "--executor", executor)
        ended = skillopt(*given)
        assert ended.code == 0, ended.err
        found.append(results(Path("outputs", benchmark, executor)))
    (here, here_rows), (there, there_rows) = found
    assert here == there
    both = here_rows.keys() & there_rows.keys()
    assert both
    assert [here_rows[key] for key in both] == [there_rows[key] for key in both]
    (cluster,) = clusters
    assert len(cluster.workers) > 1


@pytest.mark.parametrize("name", SAMPLES)
async def test_a_copy_on_a_node_plays_the_reference_as_the_benchmark_does(
    name: str, tmp_path: Path
) -> None:
    spec = load_benchmark(name)
    if spec.missing() or name == ALFWORLD.name:
        pytest.skip("its engine is slow to start")
    benchmark = spec.open(BenchmarkRequest())
    copy: Benchmark = pickle.loads(pickle.dumps(benchmark))
    assert copy.version == benchmark.version
    if not isinstance(benchmark, Interactive):
        return
    assert isinstance(copy, Interactive)
    executor = LocalExecutor(tmp_path / "attempts", {"PATH": os.environ["PATH"]})
    task = benchmark.tasks("train")[0]
    if isinstance(benchmark, Filed):
        elsewhere = [
            replace(file, path=shutil.copy(file.path, tmp_path / f"{n}{Path(file.path).name}"))
            for n, file in enumerate(benchmark.files(task))
        ]
        assert isinstance(copy, Filed)
        copy.read_at(elsewhere)
    made = await copy.prove(task, executor)
    assert made == await benchmark.prove(task, executor)
    assert (await benchmark.score(task, made)).hard == 1.0


def stub(path: Path, answer: str) -> Path:
    path.write_text(
        f"#!{sys.executable} -I\nprint('<answer>{answer}</answer>')\n", encoding="utf-8"
    )
    path.chmod(0o755)
    return path


def test_a_program_takes_its_variables_from_its_node(
    tmp_path: Path, clusters: list[HereCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROGRAM_KEY", "key-of-the-program")
    program = stub(tmp_path / "agent", "yes")
    given = ("eval", "searchqa", "--skill", "seed.md", "--set", "env.limit=2", "--executor", "ray")
    target = ("--target-backend", "command", "--set", f'model.command.argv=["{program}"]')
    target += ("--set", 'model.command.variables=["PROGRAM_KEY"]', "--workers", "3")
    Path("seed.md").write_text("# Skill\n\nBe brief.\n", encoding="utf-8")
    assert skillopt(*given, *target).code == 0
    (cluster,) = clusters
    assert cluster.asked == ("local", nodes.WorkerNeeds(1.0, 1000))
    assert len(cluster.workers) == 3
    assert b"key-of-the-program" not in pickle.dumps((cluster.plan, cluster.contents))

    # On a node without the variable.
    monkeypatch.setattr(nodes, "read_environment", lambda: {"PATH": os.environ["PATH"]})
    ended = skillopt(*given, *target)
    assert ended.code == 4
    assert "the variable PROGRAM_KEY, which model.command.variables names, is not set" in ended.err
    assert "on the node " in ended.err


def test_a_node_with_another_program_of_that_name_is_refused(
    tmp_path: Path, clusters: list[HereCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = stub(tmp_path / "agent", "yes")
    opened = HereCluster.open

    async def open_later(self: HereCluster, *given: Any) -> None:
        stub(tmp_path / "agent", "no")
        await opened(self, *given)

    monkeypatch.setattr(HereCluster, "open", open_later)
    Path("seed.md").write_text("# Skill\n\nBe brief.\n", encoding="utf-8")
    given = ("eval", "searchqa", "--skill", "seed.md", "--set", "env.limit=2", "--executor", "ray")
    target = ("--target-backend", "command", "--set", f'model.command.argv=["{program}"]')
    ended = refused(2, *given, *target)
    assert "the target is " in ended.err
    assert "and on the driver's machine " in ended.err
