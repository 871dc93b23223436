"""Fixtures of the web page's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, labelled_run, train
from web_rig import CHROMIUM, Tab


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An outputs folder with two finished runs, `searchqa/a` and `searchqa/b`: for reading only."""
    folder = tmp_path_factory.mktemp("trained")
    with chdir(folder):
        train(*TINY, run_id="a")
        train(*TINY, "--seed", "3", "--learning-rate", "2", run_id="b")
    return folder / "outputs"


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose answers are labels, `folder/p`: for reading only."""
    return labelled_run(tmp_path_factory.mktemp("labelled"))


@pytest.fixture
def browser() -> Iterator[Any]:
    """Debian's Chromium, without a window.

    For one test only: while it is there its library keeps an event loop running in this thread, in
    which no other test could run one.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as started:
        # Root has no sandbox of its own to put it in.
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Callable[..., Tab]]:
    """Opens a tab on a site, with the token; no tab may have met a fault when the test ends."""
    tabs: list[Tab] = []

    def opened(address: str, **options: Any) -> Tab:
        context = browser.new_context(**options)
        context.set_default_timeout(300_000)
        made = Tab(context.new_page(), address)
        made.log_in()
        made.watch()
        tabs.append(made)
        return made

    yield opened
    faults = [fault for made in tabs for fault in made.faults]
    for made in tabs:
        made.page.context.close()
    assert faults == []
