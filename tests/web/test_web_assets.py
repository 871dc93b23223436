"""Files that the page loads: those of others are unchanged, licensed, and run under the policy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from web_rig import Tab, client, served, text_of, until

from skillopt_cli.web.context import ASSETS, ECHARTS

OTHERS = {ECHARTS: "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"}
"""SHA-256 of dist/echarts.min.js in the npm package echarts@6.1.0."""
OURS = {"app.js", "charts.js", "style.css", "icon.svg", "LICENSES.txt"}


def test_every_file_of_others_is_pinned_and_licensed() -> None:
    found = {path.name for path in ASSETS.iterdir()}
    assert found == OURS | OTHERS.keys()
    licences = ASSETS.joinpath("LICENSES.txt").read_text(encoding="utf-8")
    notice = (Path(__file__).parents[2] / "NOTICE").read_text(encoding="utf-8")
    for name, digest in OTHERS.items():
        assert sha256(ASSETS.joinpath(name).read_bytes()).hexdigest() == digest
        assert name in licences and name in notice
    for licence in ("Apache License", "Version 2.0", "Copyright (c) 2017, Baidu", "Bostock"):
        assert licence in licences


def test_only_pages_with_charts_load_the_library(trained: Path) -> None:
    with client(trained) as asking:
        for path, loaded in (("/runs/searchqa/a", True), ("/", False), ("/new", False)):
            assert (ECHARTS in asking.get(path).text) is loaded, path
        library = asking.get(f"/assets/{ECHARTS}")
        assert "immutable" in library.headers["cache-control"]
        assert "no-cache" in asking.get("/assets/app.js").headers["cache-control"]
        assert asking.get("/assets/echarts.min.js").status_code == 404


@pytest.mark.slow
def test_the_title_of_a_zoom_symbol_covers_nothing_on_a_telephone(
    tab: Callable[..., Tab], trained: Path
) -> None:
    with served(trained) as address:
        until(lambda: text_of(address).count("state finished") == 2)
        opened = tab(address, viewport={"width": 390, "height": 900})
        opened.open("/runs/searchqa/a")
        chart = opened.page.locator("score-chart")
        chart.locator("text", has_text="95 % interval").first.wait_for()
        chart.scroll_into_view_if_needed()
        place = chart.bounding_box()
        right, top = place["x"] + place["width"], place["y"]
        for title, left in (("zoom to an area", 84), ("zoom back", 54), ("show all", 25)):
            opened.page.mouse.move(right - left, top + 25)
            found = chart.locator("text", has_text=title)
            found.wait_for()
            shown = found.bounding_box()
            assert top <= shown["y"] and shown["x"] + shown["width"] <= right
            others = [one.bounding_box() for one in chart.locator("text").all()]
            below = min(one["y"] for one in others if one["y"] != shown["y"])
            assert shown["y"] + shown["height"] <= below


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_is_drawn_has_a_tooltip_and_can_be_zoomed(
    tab: Callable[..., Tab], trained: Path, scheme: str
) -> None:
    with served(trained) as address:
        until(lambda: text_of(address).count("state finished") == 2)
        opened = tab(address, viewport={"width": 1000, "height": 900}, color_scheme=scheme)
        page = opened.page
        opened.open("/runs/searchqa/a")
        chart = page.locator("score-chart")
        chart.locator("text", has_text="skill in force").first.wait_for()
        assert chart.get_attribute("aria-label").startswith("Score curve over 4 steps")
        place = chart.bounding_box()
        page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        chart.locator("text", has_text="95 % interval 0.").first.wait_for()
        assert labels(chart) >= {"seed", "1", "2", "3", "4"}
        page.keyboard.down("Control")
        for _ in range(6):
            page.mouse.wheel(0, -400)
        page.keyboard.up("Control")
        page.wait_for_function(
            "() => ![...document.querySelector('score-chart').shadowRoot"
            ".querySelectorAll('text')].some((one) => one.textContent === 'seed')"
        )
        # The other scheme draws it again, in its own colours.
        before = page.evaluate(COLOUR)
        other = "light" if scheme == "dark" else "dark"
        page.emulate_media(color_scheme=other)
        page.wait_for_function(f"(before) => ({COLOUR})() !== before", arg=before)


@pytest.mark.slow
@pytest.mark.parametrize("width", [700, 1000, 1400])
def test_the_legend_of_a_chart_is_shown_whole(
    tab: Callable[..., Tab], trained: Path, width: int
) -> None:
    with served(trained) as address:
        until(lambda: text_of(address).count("state finished") == 2)
        opened = tab(address, viewport={"width": 1400, "height": 900})
        opened.open("/runs/searchqa/b")
        # Made narrower after it was drawn, as people do.
        opened.page.set_viewport_size({"width": width, "height": 900})
        chart = opened.page.locator("score-chart")
        names = {one["name"] for one in json.loads(chart.get_attribute("data-option"))["series"]}
        assert len(names) > 4
        for name in names:
            chart.locator("text", has_text=name).first.wait_for()
        # A legend that scrolls has a page number, such as 1/2.
        assert not [text for text in labels(chart) if re.fullmatch(r"\d+/\d+", text)]


COLOUR = """
() => [...document.querySelector("score-chart").shadowRoot.querySelectorAll("text")]
    .map((one) => one.getAttribute("fill")).join(" ")
"""


def labels(chart: Any) -> set[str]:
    return set(chart.locator("text").all_text_contents())
