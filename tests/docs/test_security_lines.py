"""Each line of the tables of the page on security is tested, by tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from doc_pages import DOCS, ROOT, prose

PAGE = DOCS / "explanation" / "security.md"
TESTS: dict[str, dict[str, list[str]]] = yaml.safe_load(
    (Path(__file__).parent / "security_lines.yaml").read_text(encoding="utf-8")
)


def table_lines(text: str) -> list[tuple[str, str]]:
    """The heading above and the first cell of each line of each table, heads left out."""
    found: list[tuple[str, str]] = []
    heading, in_body = "", False
    for line in text.splitlines():
        if title := re.match(r"#+ +(.+)", line):
            heading = title.group(1).strip()
        if not line.startswith("|"):
            in_body = False
        elif re.fullmatch(r"[|: -]+", line):
            in_body = True
        elif in_body:
            found.append((heading, line.split("|")[1].strip()))
    return found


LINES = table_lines(prose(PAGE))


@cache
def functions(path: Path) -> frozenset[str]:
    """The names of a module's functions; none where there is no such file."""
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def is_a_test(name: str) -> bool:
    file, _, function = name.partition("::")
    return function.startswith("test_") and function in functions(ROOT / file)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line[0]}: {line[1]}")
def test_a_line_names_tests_that_exist(line: tuple[str, str]) -> None:
    tests = TESTS.get(line[0], {}).get(line[1], [])
    assert tests, "name its tests in tests/docs/security_lines.yaml"
    assert [name for name in tests if not is_a_test(name)] == []


def test_no_line_is_written_twice_and_none_is_left_over() -> None:
    assert len(set(LINES)) == len(LINES) > 20
    named = {(heading, line) for heading, lines in TESTS.items() for line in lines}
    assert named - set(LINES) == set()


def test_the_check_finds_what_it_looks_for() -> None:
    page = "## A\n| what | how |\n|---|---|\n| x | y |\n\ntext\n### B\n| a |\n|:--|\n| b |\n"
    assert table_lines(page) == [("A", "x"), ("B", "b")]
    here = "tests/docs/test_security_lines.py::"
    assert is_a_test(f"{here}test_the_check_finds_what_it_looks_for")
    for name in ("test_gone", "is_a_test", "", "test_the_check_finds_what_it_looks_for[x]"):
        assert not is_a_test(f"{here}{name}")
    assert not is_a_test("tests/docs/gone.py::test_a_line_names_tests_that_exist")
