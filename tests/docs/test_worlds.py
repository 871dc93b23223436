"""The worlds of the docs: the mechanisms do there what the page says, by the figures it shows."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from statistics import mean
from types import ModuleType

import pytest
from doc_pages import EXAMPLES

NAMES = ("forgetting", "lapses", "weak_optimizer")


@pytest.fixture(scope="module")
def shown() -> Iterator[ModuleType]:
    """The script that runs the worlds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES / "worlds"))
        yield importlib.import_module("run_all")


@pytest.fixture(params=range(len(NAMES)), ids=NAMES)
def world(request: pytest.FixtureRequest, shown: ModuleType):
    return shown.WORLDS[request.param]


def gain(arms) -> float:
    """Mean of the final skill's test score with the mechanism, less that without."""
    return mean(arms["on"]["final"]) - mean(arms["off"]["final"])


def test_a_few_seeds_show_the_effect_and_are_the_figures_kept(shown: ModuleType, world) -> None:
    places = (0, len(world.settings) - 1)
    names = [world.settings[place].name for place in places]
    found = shown.figures(world, shown.FEW, places)
    assert found == shown.part(shown.kept(world), shown.FEW, names)
    helped, idle = (gain(found["settings"][name]) for name in names)
    assert helped >= 0.05
    assert idle < helped / 2


def test_over_all_seeds_it_helps_where_it_should_and_not_everywhere(
    shown: ModuleType, world
) -> None:
    kept = shown.kept(world)
    assert kept["seeds"] == list(shown.FULL)
    first, *others = kept["settings"].values()
    pairs = list(zip(first["off"]["final"], first["on"]["final"], strict=True))
    assert gain(first) >= 0.15
    assert sum(on > off for off, on in pairs) >= 10
    assert len(others) == 3
    assert min(map(gain, others)) <= 0.02


def test_without_the_gate_the_final_skill_collapses_and_the_promoted_one_does_not(
    shown: ModuleType,
) -> None:
    arms = next(iter(shown.kept(shown.WORLDS[2])["settings"].values()))
    seed, best, final = (mean(arms["off"][name]) for name in ("seed", "best", "final"))
    assert final <= seed - 0.15
    assert seed - best <= (seed - final) / 3
    assert mean(arms["on"]["final"]) >= seed - 0.02


def test_plots_and_tables_follow_from_the_figures(shown: ModuleType, world) -> None:
    for path, text in shown.rendered(world, shown.kept(world)).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: `make snap`"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_seeds_give_the_figures_kept(shown: ModuleType, world) -> None:
    assert shown.figures(world, shown.FULL) == shown.kept(world)
