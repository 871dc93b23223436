"""Pages are fresh, complete, loadable and linked: what they promise is there."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
import yaml
from doc_pages import DOCS, PAGES, ROOT, anchors, blocks, headings, links, prose

from skillopt_cli import __version__
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.config.declarations import known_keys
from skillopt_cli.core.events import RunEvent

REFERENCE = DOCS / "reference"
_SETTINGS = re.compile(r"settings=\{([^}]*)\}")
_KEY = re.compile(r'"([a-z_]+\.[a-z_.]+)":')
_SET = re.compile(r"--set ([a-z_]+\.[a-z_.]+)=")
_OPEN = ("env.",)
"""Sections in which a benchmark may have keys of its own."""


@pytest.fixture(scope="module")
def generate() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module("generate")


def test_generated_pages_are_fresh(generate: ModuleType) -> None:
    for name, text in generate.pages().items():
        written = (REFERENCE / name).read_text(encoding="utf-8")
        assert written == text, f"docs/reference/{name} is out of date: run `make snap`"


def test_every_command_has_a_heading(generate: ModuleType) -> None:
    named = headings(REFERENCE / "cli.md")
    for path in generate.commands():
        assert f"skillopt {' '.join(path)}" in named


def test_every_key_is_in_the_configuration_reference() -> None:
    text = (REFERENCE / "config.md").read_text(encoding="utf-8")
    sections = ("model.optimizer", "model.target")
    missing = [key for key in known_keys() if f"`{key}`" not in text and key not in sections]
    assert not missing


def test_every_kind_of_event_has_a_heading() -> None:
    named = headings(REFERENCE / "events.md")
    for kind in get_args(RunEvent):
        assert kind.__dataclass_fields__["kind"].default in named


@pytest.mark.parametrize(
    "block",
    [block for page in PAGES for block in blocks(page) if block.language == "yaml"],
    ids=lambda block: block.place,
)
def test_yaml_goes_through_the_configuration_layers(block, tmp_path: Path) -> None:
    assert isinstance(yaml.safe_load(block.text), dict)
    path = tmp_path / "config.yaml"
    path.write_text(block.text, encoding="utf-8")
    settle(Overrides(config=path, roles=()), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_settings_named_within_a_sentence_exist(page: Path) -> None:
    """Blocks are run; what a sentence shows as `settings={...}` or `--set KEY=` is looked up."""
    text = page.read_text(encoding="utf-8")
    given = {key for shown in _SETTINGS.findall(text) for key in _KEY.findall(shown)}
    given |= set(_SET.findall(prose(page)))
    begun = tuple(f"{key}." for key in known_keys()) + _OPEN
    assert not [key for key in given - set(known_keys()) if not key.startswith(begun)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_internal_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.relative_to(ROOT)} links to {link}, which is not there"
        if anchor:
            assert anchor in anchors(target), f"{page.relative_to(ROOT)}: no heading for {link}"


def test_every_page_is_reached_from_the_index() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached:
            continue
        reached.add(page)
        for link in links(page):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists():
                ahead.append(target)
    assert set(PAGES) <= reached


def test_paths_in_the_readme_exist() -> None:
    tops = "|".join(re.escape(entry.name) for entry in ROOT.iterdir() if entry.name != "outputs")
    for path in re.findall(rf"`((?:{tops})(?:/[\w./-]*)?)`", prose(ROOT / "README.md")):
        assert (ROOT / path).exists(), f"README.md names {path}"


@pytest.mark.parametrize(
    "block",
    [block for page in PAGES for block in blocks(page) if block.source is not None],
    ids=lambda block: block.place,
)
def test_shown_files_are_the_files(block) -> None:
    text = block.source.read_text(encoding="utf-8")
    if block.note.startswith("part of:"):
        assert block.text in text
    else:
        assert block.text == text, f"{block.place} differs from {block.source.relative_to(ROOT)}"


def test_the_picture_of_the_floors_names_every_package() -> None:
    page = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    parts = (p for p in (ROOT / "skillopt_cli").iterdir() if not p.name.startswith("__"))
    packages = {p.stem for p in parts if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert described == packages


def test_the_way_of_a_rollout_leads_through_files_that_exist() -> None:
    page = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    way = page.partition("<!-- the way of a rollout -->")[2].partition("<!-- end of the way -->")[0]
    files = re.findall(r"^\| \d+ \| `([^`]+)`", way, re.MULTILINE)
    assert 0 < len(files) <= 20
    assert [f for f in files if not (ROOT / "skillopt_cli" / f).is_file()] == []


def test_decisions_are_short_and_whole() -> None:
    pages = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert numbers == list(range(1, len(pages) + 1))
    for page in pages:
        parts = ["Context", "Options refused", "Decision", "How we would know it was wrong"]
        assert headings(page)[1:] == parts, page.name
        assert len(page.read_text(encoding="utf-8").splitlines()) <= 30, page.name


def test_the_changelog_is_about_this_version() -> None:
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None and newest.group(1) == __version__


def test_the_readme_leads_to_the_web_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "docs/how-to/web-page.md" in text
    assert "no web interface" not in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_placeholder(page: Path) -> None:
    """A line that is one word in capitals was to be replaced by a text."""
    assert not re.findall(r"^[A-Z]{2,}$", prose(page), re.M)
