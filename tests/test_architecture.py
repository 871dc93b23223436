"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

import skillopt_cli
from skillopt_cli.core import errors, events

PACKAGE = Path(skillopt_cli.__file__).parent
ROOT = PACKAGE.parent

FLOORS = {
    "core": 0,
    "permissions": 0.4,
    "safe_files": 0.5,
    "ports": 1,
    "skill_folder": 1,
    "plugins": 1.1,
    "config": 1.2,
    "executors": 1.5,
    "stages": 2,
    "backends": 2,
    "benchmarks": 2,
    "store": 2,
    "cluster": 2.5,
    "control": 2,
    "runlog": 3,
    "replay": 3,
    "optimizers": 4,
    "trackers": 4,
    "engine": 4,
    "charts": 4,
    "compose": 5,
    "planning": 6,
    "doctor": 6,
    "apply_skill": 6,
    "ui": 6,
    "reports": 7,
    "sweeps": 8,
    "web": 9,
    "api": 9,
    "cli": 10,
    # Public helpers for plug-in authors may use everything below the command line.
    "testing": 10,
    "__main__": 10,
}
"""A module may import from its own floor and below, and beside itself only its own package."""

BESIDE = {
    ("config", "config"),
    ("__main__", "cli"),
}
YAML_READER = "front_matter.py"
"""The module of `core` that needs more than the standard library (decision 0040)."""
# The store is a port's implementation that the reading side of the displays shares.
SOURCES = sorted(PACKAGE.rglob("*.py"))


def area(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a source."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path: Path) -> list[str]:
    found: list[str] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return found


def functions(path: Path) -> list[tuple[str, int]]:
    return [
        (
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name}",
            (node.end_lineno or 0) - node.lineno + 1,
        )
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def wrong_imports(path: Path) -> list[str]:
    mine = area(path)
    wrong = []
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "skillopt_cli" or len(parts) < 2:
            continue
        theirs = parts[1]
        above = FLOORS[theirs] > FLOORS[mine]
        beside = FLOORS[theirs] == FLOORS[mine] and theirs != mine and (mine, theirs) not in BESIDE
        if above or beside:
            wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    return wrong


def test_imports_point_down() -> None:
    sources = [path for path in SOURCES if path != PACKAGE / "__init__.py"]
    assert [wrong for path in sources for wrong in wrong_imports(path)] == []


def links_made(path: Path) -> list[str]:
    """Places that give an existing file a second name: who may write there alters both."""
    return [
        f"{path.name}:{node.lineno}"
        for node in nodes(path)
        if isinstance(node, ast.Attribute)
        and (node.attr == "hardlink_to" or ast.unparse(node) == "os.link")
    ]


def test_no_file_gets_a_second_name(tmp_path: Path) -> None:
    assert [place for path in SOURCES for place in links_made(path)] == []
    planted = tmp_path / "planted.py"
    planted.write_text("copytree(a, b, copy_function=os.link)\nPath(a).hardlink_to(b)\n")
    assert sorted(links_made(planted)) == ["planted.py:1", "planted.py:2"]


def test_a_planted_upward_import_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "imports", lambda path: ["skillopt_cli.cli.app"])
    assert wrong_imports(PACKAGE / "core" / "gate.py")


def test_core_uses_the_standard_library_only() -> None:
    import sys

    foreign = {
        f"{path.name}: {name}"
        for path in SOURCES
        if area(path) == "core"
        for name in imports(path)
        if name.split(".")[0] not in {*sys.stdlib_module_names, "skillopt_cli"}
    }
    assert foreign == {f"{YAML_READER}: yaml"}


def test_files_are_small() -> None:
    sizes = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8").count("\n") for p in SOURCES}
    assert {name: size for name, size in sizes.items() if size > 400} == {}


def test_functions_are_short() -> None:
    lengths = sorted((size, name) for path in SOURCES for name, size in functions(path))
    assert lengths[int(0.95 * (len(lengths) - 1))][0] <= 50
    assert lengths[-1][0] <= 80, lengths[-1]


def test_modules_of_tests_have_names_of_their_own() -> None:
    """They are imported by their names alone: of two with one name, one would hide the other."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py"))
    assert [name for name, n in names.items() if n > 1 and name != "conftest.py"] == []


def test_the_loop_fits_on_a_page() -> None:
    sizes = dict(functions(PACKAGE / "engine" / "loop.py"))
    assert sum(sizes.values()) < 60


def unexplained(text: str) -> list[int]:
    """Lines of a source that catch every error and do not say why, right above."""
    lines = text.splitlines()
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
        and not lines[node.lineno - 2].lstrip().startswith("#")
    ]


def test_whoever_catches_every_error_says_why() -> None:
    found = {str(p.relative_to(ROOT)): unexplained(p.read_text(encoding="utf-8")) for p in SOURCES}
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert unexplained("try:\n    pass\nexcept Exception:\n    pass\n") == [3]


def test_the_seams_are_counted_and_each_is_short() -> None:
    seams = {
        node.name: sum(
            isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body
        )
        for path in SOURCES
        if area(path) == "ports"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases)
    }
    assert seams == {
        "Benchmark": 3,
        "Referenced": 1,
        "Interactive": 2,
        "Filed": 2,
        "Judged": 2,
        "ChatBackend": 1,
        "AgentBackend": 1,
        "AttemptRunner": 1,
        "Executor": 2,
        "Store": 13,
        "Control": 2,
        "Tracker": 3,
    }


def test_nothing_is_process_wide() -> None:
    rebinding = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.Global)
    ]
    assert rebinding == []


def test_every_error_is_drawn_and_has_an_exit_code() -> None:
    tree = errors.__doc__ or ""
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.SkillOptError)
    ]
    for kind in kinds:
        drawn = re.search(rf"\b{kind.__name__}\s+(\d+)", tree)
        assert drawn, f"{kind.__name__} is not in the drawing"
        assert int(drawn.group(1)) == kind.exit_code


def test_every_event_is_frozen_and_tagged() -> None:
    kinds = list(get_args(events.RunEvent))
    declared = [
        value
        for value in vars(events).values()
        if isinstance(value, type)
        and hasattr(value, "kind")
        and value.__module__.startswith(events.__name__)
    ]
    assert set(kinds) == set(declared)
    tags = [member.__dataclass_fields__["kind"].default for member in kinds]
    assert len(set(tags)) == len(tags)
    assert all(member.__dataclass_params__.frozen for member in kinds)


def test_nothing_speaks_of_the_machine_it_was_written_on() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    pattern = re.compile(r"(?<![\w.])/(?:work|root|home/\w+)/")
    found = []
    for name in filter(None, listed):
        path = ROOT / name
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        if pattern.search(text):
            found.append(name)
    assert found == []


def test_configs_ship_in_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {"configs": "skillopt_cli/configs"}
    assert list((ROOT / "configs").glob("*/default.yaml"))
