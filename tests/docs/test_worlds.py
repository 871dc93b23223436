"""The worlds of the docs: the mechanisms do there what the page says, by the figures it shows."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from statistics import mean
from types import ModuleType

import pytest
from doc_pages import EXAMPLES

NAMES = ("forgetting", "lapses", "weak_optimizer", "verified_edits")


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


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(place, id=name, marks=() if name == "lapses" else pytest.mark.slow)
        for place, name in enumerate(NAMES)
    ],
    indirect=True,
)
def test_a_few_seeds_show_the_effect_and_are_the_figures_kept(shown: ModuleType, world) -> None:
    places = (0, len(world.settings) - 1)
    names = [world.settings[place].name for place in places]
    found = shown.figures(world, shown.FEW, places)
    assert found == shown.part(shown.kept(world), shown.FEW, names)
    helped, idle = (gain(found["settings"][name]) for name in names)
    assert helped >= 0.05
    assert idle < helped / 2


def test_plots_and_tables_follow_from_the_figures(shown: ModuleType, world) -> None:
    for path, text in shown.rendered(world, shown.kept(world)).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: `make snap`"


@pytest.mark.slow
def test_all_seeds_give_the_figures_kept_and_the_effects_the_page_names(
    shown: ModuleType, world
) -> None:
    found = shown.figures(world, shown.FULL)
    assert found == shown.kept(world)
    first, *others = found["settings"].values()
    pairs = list(zip(first["off"]["final"], first["on"]["final"], strict=True))
    assert gain(first) >= 0.15
    assert sum(on > off for off, on in pairs) >= 10
    assert len(others) == (5 if world is shown.WORLDS[3] else 3)
    assert min(map(gain, others)) <= 0.02
    if world is shown.WORLDS[2]:
        seed, best, final = (mean(first["off"][name]) for name in ("seed", "best", "final"))
        assert final <= seed - 0.15
        assert seed - best <= (seed - final) / 3
        assert mean(first["on"]["final"]) >= seed - 0.02
