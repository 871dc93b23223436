from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def page() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module("cost_page")


def test_the_cost_of_a_size_is_that_of_an_attempt_times_its_number(page: ModuleType) -> None:
    logged = {"snapshot_read_s": 2.0, "folding_s": 100.0}
    store = [
        {"attempts": 10**5, "memory": 100, **logged},
        {"attempts": 10**6, "memory": 1000, **logged},
    ]
    one = {"target": "simulated", "attempts": 2000, "wall": 20.0, "copies": 900}
    ray = [
        {"target": "command", "executor": "ray"},
        {**one, "executor": "ray", "journal": 2000, "events": 500, "cpu_ms": 36.0},
        {**one, "executor": "auto", "cpu_ms": 3.6},
    ]
    text = page.cost_page({"store": store, "ray_scale": ray})
    for row in (
        "| journal, with one call an attempt | 2.0 kB | 200 MB | 2.0 GB | 20.0 GB |",
        "| copies for people, a file an attempt, on a disk | 4.1 kB | 410 MB | 4.1 GB | 41.0 GB |",
        "| driver's processor, attempts on Ray | 36.0 ms | 60.0 min | 10.0 h | 4.2 days |",
        "| driver's memory | 1.0 kB | 100 MB | 1.0 GB | 10.0 GB |",
        "| the same without one | 100.0 us | 10.0 s | 100.0 s | 16.7 min |",
    ):
        assert row in text.splitlines()
    assert "100 attempts a second | - | 16.7 min | 2.8 h | 27.8 h |" in text
