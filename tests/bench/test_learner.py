"""The bench of the learner: its results file, its tables, and a run of each kind."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bench" / "learner.py"


def imported(name: str, *folders: str) -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        for folder in folders:
            patch.syspath_prepend(str(ROOT / folder))
        yield importlib.import_module(name)


@pytest.fixture
def learner() -> Iterator[ModuleType]:
    yield from imported("learner", "bench")


@pytest.fixture
def page() -> Iterator[ModuleType]:
    yield from imported("learner_page", "bench", "docs")


def record(system: str, seed: int, accuracy: float, calls: int = 800) -> dict[str, Any]:
    counts = dict.fromkeys(("right", "harmful", "useless", "memorised"), 1)
    spent = {
        "target_calls": calls,
        "test_calls": 120,
        "optimizer_calls": 20,
        "tokens": 400_000,
        "waits": 40,
    }
    return {
        "world": "base",
        "system": system,
        "seed": seed,
        "accuracy": accuracy,
        "before": 0.2,
        "ceiling": 1.0,
        "seconds": 9.5,
        **counts,
        **spent,
    }


def test_a_run_takes_the_place_of_an_earlier_one(learner: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    results = learner.Results(path)
    for made in (record("paper", 1, 0.5), record("default", 0, 0.7), record("paper", 1, 0.6)):
        results.add(made)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept == [record("default", 0, 0.7), record("paper", 1, 0.6)]
    assert learner.Results(path).get("base", "paper", 1) == record("paper", 1, 0.6)
    assert learner.Results(path).get("base", "paper", 2) is None


def test_the_page_compares_the_presets_on_the_same_seeds(page: ModuleType) -> None:
    records = [record("default", seed, 0.9 + seed / 100) for seed in range(3)]
    records += [record("paper", seed, 0.7 + seed / 50, 1_600) for seed in range(3)]
    records += [record("gepa", seed, 0.2 + seed * 0.7) for seed in range(2)]
    records += [record("quick", 0, 0.5)]
    text = page.learner_page(records)
    gains = "+0.190 ± 0.006, **better** | +0.355 ± 0.345, no difference"
    # 800 calls of 1,600, and 680 of 1,480 without the tests.
    assert f"| base | default | {gains} | 50% | 46% |" in text
    assert "| base | quick | -0.200 ± 0.000, no difference | +0.300" in text
    row = "0.910 ± 0.006 | 0.01 | 0.90 | 800 | 20 | 400 k | 40 | 10 | 1.0 | 1.0 | 1.0"
    assert f"| default (3) | {row} |" in text
    assert "Seed skill 0.20, best possible 1.00." in text
    assert "### memorised" not in text


def test_the_page_names_a_loss(page: ModuleType) -> None:
    records = [record("default", seed, 0.5 + seed / 100) for seed in range(3)]
    records += [record("paper", seed, 0.9 + seed / 100) for seed in range(3)]
    assert "-0.400 ± 0.000, **worse**" in page.learner_page(records)


@pytest.mark.slow
def test_the_published_method_learns_and_repeats_itself(tmp_path: Path) -> None:
    argv = [sys.executable, str(SCRIPT), "--worlds", "base", "--systems", "paper", "--twice"]
    argv += ["--seeds", "1", "--results", str(tmp_path / "results.json")]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    (kept,) = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert kept["accuracy"] > kept["before"] + 0.2
    assert 1_000 < kept["target_calls"] < 1_600
    assert kept["waits"] > 60
    assert "the same skill and decisions" in done.stdout
