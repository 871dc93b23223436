"""Golden runs: whole runs in two files each, so that any change of behaviour is a readable diff.

Run with `UPDATE_SNAPSHOTS=1` to write them again, then read the difference.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from skillopt_cli.config.files import preset_layers
from skillopt_cli.config.layers import flatten
from skillopt_cli.core.events import EditsVerified, PassingChecked, RunEvent
from skillopt_cli.core.task import Split
from skillopt_cli.engine.session import train_session
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal
from skillopt_cli.testing import Toy, ToyBenchmark, toy_session

GOLDEN = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("UPDATE_SNAPSHOTS"))
FILES = ("events.jsonl", "best_skill.md")


@dataclass(frozen=True)
class GoldenRun:
    """A run of the toy benchmark.

    Attributes:
        name: its folder of golden files; "" for those without one.
        sizes: train, selection and test tasks.
        preset: "" for the defaults of the fields.
    """

    name: str
    sizes: tuple[int, int, int]
    seed: int
    preset: str
    settings: tuple[str, ...]

    async def carry_out(self, folder: Path) -> list[RunEvent]:
        """Its events; the run is laid down in the folder."""
        splits: tuple[Split, ...] = ("train", "selection", "test")
        benchmark = ToyBenchmark(dict(zip(splits, self.sizes, strict=True)), self.seed)
        settings = ("run.workers=2", *preset_settings(self.preset), *self.settings)
        with Journal(folder / "journal.sqlite") as journal, FileStore(folder, journal) as store:
            session = toy_session(Toy(settings, benchmark=benchmark), store)
            assert await train_session(session) == 0
            return [fact.event for fact in store.facts()]


def preset_settings(name: str) -> list[str]:
    """The settings of a shipped preset, as for `--set`."""
    layers = preset_layers(name) if name else []
    return [f"{key}={value}" for layer in layers for key, value in flatten(layer.values)]


FOUR_STEPS = ("train.batch_size=3", "optimizer.learning_rate=3")
TWO_EPOCHS = (16, 6, 3), 7, "default", ("train.batch_size=8",)
CHECKED = (
    "optimizer.verify=joint",
    "optimizer.check_passing=true",
    "model.simulated.forget_rate=0.6",
)
RUNS = {
    run.name: run
    for run in (
        GoldenRun("", (6, 5, 3), 4, "", FOUR_STEPS),
        GoldenRun("paper", (6, 5, 3), 4, "paper", FOUR_STEPS),
        GoldenRun("default", *TWO_EPOCHS),
        GoldenRun("default_checked", *TWO_EPOCHS[:3], (*TWO_EPOCHS[3], *CHECKED)),
    )
}


@pytest.mark.parametrize("name", RUNS)
async def test_a_golden_run(name: str, tmp_path: Path) -> None:
    await RUNS[name].carry_out(tmp_path)
    for file in FILES:
        text = (tmp_path / file).read_text(encoding="utf-8")
        golden = GOLDEN / name / file
        if UPDATE:
            golden.parent.mkdir(parents=True, exist_ok=True)
            golden.write_text(text, encoding="utf-8")
        assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["default", "default_checked"])
async def test_edits_pass_and_fail_and_are_removed(name: str, tmp_path: Path) -> None:
    """What the golden runs are there to show."""
    events = await RUNS[name].carry_out(tmp_path)
    trials = [t for event in events if isinstance(event, EditsVerified) for t in event.trials]
    passed = Counter(trial.passed for trial in trials)
    assert passed[True] >= 3
    assert passed[False] >= 3
    assert {event.round for event in events if isinstance(event, EditsVerified)} == {1, 2}
    removed = [e for event in events if isinstance(event, PassingChecked) for e in event.removed]
    assert bool(removed) == (name == "default_checked")
    assert {trial.joint for trial in trials if trial.tried} >= {name == "default_checked"}


@pytest.mark.parametrize(("name", "files"), [("", 40), ("default_checked", 120)])
async def test_the_same_run_twice_leaves_the_same_bytes(
    name: str, files: int, tmp_path: Path
) -> None:
    trees = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        await RUNS[name].carry_out(folder)
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        trees.append({
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in found
            if "sqlite" not in path.name
        })
    assert trees[0] == trees[1]
    assert len(trees[0]) > files
