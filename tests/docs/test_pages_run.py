"""Every command on every page runs, offline, and prints what the page says it prints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_pages import (
    EXAMPLES,
    PAGES,
    ROOT,
    Shell,
    blocks,
    fits,
    install_example_plugin,
    shell_environment,
)

from skillopt_cli.testing import run_model_server

SHOWN_URL = "http://127.0.0.1:8000/v1"
SHOWN_CHECKOUT = "skillopt/docs/"
"""Where the files of the repository lie on a page; there is no checkout in its folder."""
RUN = [page for page in PAGES if any(block.runs for block in blocks(page))]
QUICK = {
    "README.md",
    "docs/tutorial/first-experiment.md",
    "docs/how-to/add-a-benchmark.md",
    "docs/benchmarks/docvqa.md",
}
"""Every command is a process of its own, so the other pages are run with the slow tests."""


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def server_url(page: Path) -> Iterator[str]:
    """A model server for pages that show an endpoint, in place of the address they show."""
    if not any(block.runs and SHOWN_URL in block.text for block in blocks(page)):
        yield SHOWN_URL
        return
    with run_model_server(bodies=False) as server:
        yield server.url


def test_the_quick_pages_are_pages() -> None:
    assert set(map(page_id, RUN)) >= QUICK


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page_id(page) in QUICK else pytest.mark.slow) for page in RUN],
    ids=page_id,
)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, server_url: str) -> None:
    site = tmp_path / "site"
    install_example_plugin(site)
    folder = tmp_path / "work"
    folder.mkdir()
    shell = Shell(folder, shell_environment(site))
    printed = ""
    for block in blocks(page):
        if block.source is not None:
            home = EXAMPLES if EXAMPLES in block.source.parents else ROOT
            place = folder / block.source.relative_to(home)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(block.source, place)
        if block.runs:
            text = block.text.replace(SHOWN_CHECKOUT, f"{ROOT}/docs/")
            code, printed = shell.run(text.replace(SHOWN_URL, server_url))
            assert code == 0, f"{block.place} ended with {code}:\n{block.text}\n{printed}"
        if block.note == "output":
            wanted = block.text.replace(SHOWN_URL, server_url)
            assert fits(wanted, printed), f"{block.place} should be:\n{printed}"


def test_what_is_not_run_says_why() -> None:
    for page in PAGES:
        for block in blocks(page):
            if block.note.startswith("not run"):
                reason = block.note.removeprefix("not run:").strip()
                assert reason, f"{block.place} gives no reason"


@pytest.mark.parametrize(
    ("pattern", "output", "expected"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("took ... s", "took 3.1 s", True),
        ("took ... s", "took 3.1 min", False),
        ("a\n...\nz", "a\nb\nc\nz", True),
        ("a\n...\nz", "a\nz", True),
        ("a\n...\nz", "a\nb\nc", False),
        ("one", "one\ntwo", False),
    ],
)
def test_wildcards_allow_no_more_than_they_say(pattern: str, output: str, expected: bool) -> None:
    assert fits(pattern, output) is expected
