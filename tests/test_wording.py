"""Docstrings, help texts and pages are plain English: no metaphor, no second word for one thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "skillopt_cli"
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])

BANNED = {
    # What a colleague would say instead, for every word that is not to be used.
    "anew": "again",
    "befalls?": "happens to",
    "came to|comes to": "was, is, results in",
    "courier|scribe": "client, writer",
    "crew": "runners",
    "foretells?": "prints the plan",
    "for want of": "without",
    "heed(s|ed|ing)?": "uses, follows",
    "held against": "compared with",
    "hindsight": "epoch reflection",
    "housing": "executors",
    "lanes?": "rate limiter",
    "luck": "chance",
    "mend(s|ed|ing)?": "fixes, the remedy",
    "purse": "budget",
    "shall": "is to, must",
    "stands|stood": "is, occurs",
    "tapes?|taped|taping": "recording",
    "tells|told": "reports, shows",
    "tempo": "rate",
    "says": "states, prints, returns",
    "whoever": "the caller, a person who",
    "wishes": "overrides, requests",
    "yard|album|shelf": "repositories, image store, cache",
}
WORDS = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
_LITERAL = re.compile(
    r"^\s*\w+(?:, \w+)*:|``[^`]*``|`[^`]*`|\"[^\"]*\"|\]\([^)]*\)|<!--.*?-->", re.MULTILINE
)


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a file, those below fields included, with the lines they begin at."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, value.value


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of the errors that a file raises, with the lines they begin at.

    Left out is what must stay as it is: `ToolFault`, which a model reads and the journal keeps, and
    `LeftOut`, which is part of the recorded source of a run's tasks.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        raised = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(raised, ast.Call) and ast.unparse(raised.func) not in (
            "ToolFault",
            "LeftOut",
        ):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page outside of code blocks, with their numbers."""
    code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield number, line


def odd_words(text: str) -> list[str]:
    """The banned words of a text, outside of literals and quotations."""
    return [match[0] for match in WORDS.finditer(_LITERAL.sub(" ", text))]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=str)
def test_docstrings_are_plain(path: Path) -> None:
    found = {f"{path.name}:{n}": words for n, t in docstrings(path) if (words := odd_words(t))}
    assert found == {}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=str)
def test_messages_are_plain(path: Path) -> None:
    found = {f"{path.name}:{n}": words for n, t in messages(path) if (words := odd_words(t))}
    assert found == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_plain(page: Path) -> None:
    found = {n: words for n, line in prose(page) if (words := odd_words(line))}
    assert found == {}


def test_the_check_finds_what_it_looks_for() -> None:
    assert odd_words("It tells whoever heeds it, anew.") == ["tells", "whoever", "heeds", "anew"]
    assert odd_words('`Tape.lane` and "as the skill says" are literals.') == []
