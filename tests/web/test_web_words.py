"""The words of the pages are those of people, not those of files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from dom import parsed
from facts import stamp, states
from web_rig import client

from skillopt_cli.store.codec import dump_fact

PATHS = ("", "/steps/1", "/steps/2", "/steps/3", "/tasks", "/tasks?split=test", "/epochs", "/spend")
PATHS += ("/skills", "/steer", "/settings", "/attempts?task=val-001&in=selection")
QUOTED = {"code", "pre", "textarea", "script", "style"}
"""Elements whose text is that of a file or of a setting."""
NAMES = {"learning_rate", "max_calls", "max_usd", "openai_compatible", "val_001"}
"""Names of settings, backends and tasks, which are what people write."""
RAW = re.compile(r"[a-z]+_[a-z_]+")


def words_of(element: Element) -> Iterator[str]:
    """The texts that are not quoted."""
    quoted = element.tag in QUOTED or "said" in (element.get("class") or "").split()
    if not quoted:
        yield element.text or ""
        for each in element:
            yield from words_of(each)
            yield each.tail or ""


def raw_words(page: str) -> set[str]:
    return {word for text in words_of(parsed(page)) for word in RAW.findall(text)} - NAMES


@pytest.mark.parametrize("run", ["a", "b"])
def test_no_page_of_a_finished_run_has_a_word_of_its_files(trained: Path, run: str) -> None:
    with client(trained) as asking:
        for path in PATHS:
            found = raw_words(asking.get(f"/runs/searchqa/{run}{path}").text)
            assert found == set(), path
        for path in ("/", "/compare?run=searchqa/a&run=searchqa/b"):
            assert raw_words(asking.get(path).text) == set(), path


@pytest.mark.parametrize("state", states())
def test_no_state_of_a_run_shows_a_word_of_its_files(tmp_path: Path, state: str) -> None:
    run = tmp_path / "searchqa/run"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text("env:\n  name: searchqa\n", encoding="utf-8")
    lines = [f"{dump_fact(fact)}\n" for fact in stamp(states()[state])]
    (run / "events.jsonl").write_text("".join(lines), encoding="utf-8")
    with client(tmp_path) as asking:
        for path in ("", "/steps/1", "/steps/2", "/steps/3", "/epochs", "/spend", "/steer"):
            found = raw_words(asking.get(f"/runs/searchqa/run{path}").text)
            assert found == set(), path
