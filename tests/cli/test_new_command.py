"""`skillopt new`: what it writes works as it is, installed like anybody's package."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import TINY, refused, skillopt

from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.ports import BenchmarkRequest

MOST_LINES = 60


def in_a_shell(*command: str | Path, site: Path) -> str:
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def program(*arguments: str) -> tuple[str, ...]:
    return ("-c", "from skillopt_cli.cli.main import main; main()", *arguments)


@pytest.mark.slow
def test_a_new_benchmark_is_installed_checked_tested_and_trained(tmp_path: Path) -> None:
    if any(importlib.util.find_spec(name) is None for name in ("pip", "hatchling")):
        pytest.skip("pip and hatchling are needed to install a package")
    said = skillopt("new", "benchmark", "my_rivers")
    assert said.code == 0
    assert said.out.splitlines()[:2] == [
        "wrote skillopt-my_rivers",
        "  pip install --editable skillopt-my_rivers",
    ]
    package = Path("skillopt-my_rivers")
    source = (package / "skillopt_my_rivers" / "__init__.py").read_text(encoding="utf-8")
    assert source.count("\n") < MOST_LINES
    assert "class MyRiversBenchmark(" in source
    site = tmp_path / "site"
    how = ("--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet")
    in_a_shell("-m", "pip", "install", *how, "--target", site, f"./{package}", site=site)
    listed = json.loads(in_a_shell(*program("benchmarks", "list", "--json"), site=site))
    (row,) = [row for row in listed if row["name"] == "my_rivers"]
    assert row["sample"] == {"train": 12, "selection": 8, "test": 12}
    assert "error" not in in_a_shell(*program("data", "check", "my_rivers"), site=site)
    train = ("train", "my_rivers", *TINY, "--run-id", "a", "--display", "none")
    in_a_shell(*program(*train), site=site)
    summary = json.loads(Path("outputs/my_rivers/a/summary.json").read_text(encoding="utf-8"))
    assert summary["status"] == "finished"
    quiet = ("-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(package))
    assert "2 passed" in in_a_shell("-m", "pytest", *quiet, package / "tests", site=site)


def test_a_new_skill_is_trained_by_its_configuration() -> None:
    assert skillopt("new", "skill", "my-rivers", "--out", "some where/rivers").code == 0
    folder = Path("some where/rivers")
    seed = SkillDocument((folder / "my-rivers" / "SKILL.md").read_text(encoding="utf-8"))
    assert seed.text.startswith("---\nname: my-rivers\n") and "\n# My Rivers\n" in seed.text
    ended = skillopt("train", "--config", folder / "config.yaml", *TINY, "--run-id", "a")
    assert ended.code == 0, ended.err
    best = Path("outputs/folder/a/best_skill.md").read_text(encoding="utf-8")
    assert best.startswith("---\nname: my-rivers\n")
    assert best != seed.text
    assert "STARTER" not in "".join(map(str, folder.rglob("*"))).upper()


def test_tasks_of_ones_own_may_be_judged() -> None:
    assert skillopt("new", "skill", "rivers").code == 0
    judged = ("--set", "env.scorer=judge", "--run-id", "a")
    ended = skillopt("train", "--config", "rivers/config.yaml", *TINY, *judged)
    assert ended.code == 0, ended.err
    assert "judge simulated" in ended.err
    assert "; judge " in ended.err


@pytest.mark.parametrize(
    "name",
    ["class", "none", "true", "task", "benchmark", "path", "b1c", "a_1", "starter", "sample"],
)
def test_any_name_makes_a_module_that_can_be_loaded(name: str) -> None:
    assert skillopt("new", "benchmark", name, "--out", "made").code == 0
    path = Path("made") / f"skillopt_{name}" / "__init__.py"
    spec = importlib.util.spec_from_file_location(f"skillopt_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    benchmark = module.SPEC.open(BenchmarkRequest())
    assert (module.SPEC.name, benchmark.name) == (name, name)
    assert len(benchmark.tasks("train")) == 12


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("benchmark", "My Rivers", "did you mean `my_rivers`?"),
        ("benchmark", "my-rivers", "did you mean `my_rivers`?"),
        ("skill", "my_rivers", "did you mean `my-rivers`?"),
        ("benchmark", "1st", "begin with a small letter, and use at most 64 small letters"),
        ("skill", "", "such as my-tasks"),
        ("skill", "x" * 65, "at most 64"),
    ],
)
def test_a_name_that_would_do_is_suggested(kind: str, name: str, hint: str) -> None:
    assert hint in refused(2, "new", kind, name).hint


def test_the_package_of_the_program_is_not_hidden_by_a_benchmark() -> None:
    assert "a package skillopt_cli already" in refused(2, "new", "benchmark", "cli").error


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("benchmark", "Rivers"),
        ("benchmark", "my-rivers"),
        ("benchmark", "my__rivers"),
        ("benchmark", "1st"),
        ("benchmark", "../rivers"),
        ("skill", "my_rivers"),
        ("skill", "a/b"),
        ("skill", "my--rivers"),
    ],
)
def test_a_name_that_is_none_is_refused(kind: str, name: str) -> None:
    assert f"`{name}` cannot be the name of a {kind}" in refused(2, "new", kind, name).error
    assert list(Path().iterdir()) == []


def test_nothing_is_written_over() -> None:
    assert "there is a benchmark `searchqa`" in refused(2, "new", "benchmark", "searchqa").error
    assert skillopt("new", "skill", "rivers", "--json").json == {"folder": "rivers"}
    assert "rivers exists already" in refused(2, "new", "skill", "rivers").error
    Path("file").write_text("", encoding="utf-8")
    assert "cannot write file/a" in refused(3, "new", "skill", "a", "--out", "file/a").error
