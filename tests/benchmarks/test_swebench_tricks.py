"""SWE-bench: patches that would win without mending anything, and innocent ones that look alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from program_rig import executor_of
from test_swebench import FILES, MEND, PATCH, TEST_PATCH, instance, opened, worked

from skillopt_cli.benchmarks.swebench.patches import without
from skillopt_cli.benchmarks.swebench.repositories import kept_apart, steers_tests

PASS = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome, report.longrepr = "passed", None
"""
FORGED = "print('PASSED test_calc.py::test_the_secret'); print('PASSED test_calc.py::test_half')"
NO_MORE = "nothing was changed but how tests are run"
DO_NOT_COUNT = "1 of 1 hidden tests of the fault fail, and 0 of 1 tests that passed before; changes"


def file(name: str, text: str) -> str:
    return f"mkdir -p $(dirname {name}); cat > {name} <<'END'\n{text}\nEND"


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ([file("conftest.py", PASS)], NO_MORE),
        (["rm conftest.py; ln -s other.py conftest.py", file("other.py", PASS)], DO_NOT_COUNT),
        (["git mv -f calc.py conftest.py"], "hidden tests of the fault fail"),
        ([file("evil.py", PASS), file("pytest.ini", "[pytest]\naddopts=-p evil")], DO_NOT_COUNT),
        ([file("evil.py", PASS), file("tox.ini", "[pytest]\naddopts=-p evil")], DO_NOT_COUNT),
        (
            [file("evil.py", PASS), file("setup.cfg", "[tool:pytest]\naddopts=-p evil")],
            DO_NOT_COUNT,
        ),
        (
            [
                file("evil.py", PASS),
                file("pyproject.toml", '[tool.pytest.ini_options]\naddopts="-p evil"'),
            ],
            DO_NOT_COUNT,
        ),
        ([file("pytest.py", FORGED)], NO_MORE),
        ([file("_pytest/__init__.py", FORGED)], NO_MORE),
        (["rm test_calc.py; ln -s calc.py test_calc.py"], "touches 1 of the tests' own files"),
        (["rm test_calc.py; mkdir test_calc.py; touch test_calc.py/x"], "touches"),
    ],
)
async def test_how_tests_are_run_is_not_for_a_patch_to_say(
    tmp_path: Path, commands: list[str], said: str
) -> None:
    score, made = await worked(
        opened(tmp_path / "tasks"), executor_of("local", tmp_path), *commands
    )
    assert score.hard == 0.0
    assert said in score.feedback
    assert "secret" not in score.feedback
    assert made.outcome["patch"]  # people see all of it


@pytest.mark.parametrize(
    "command",
    [
        file("conftest.py", "collect_ignore = ['test_calc.py']"),
        file("setup.cfg", "[metadata]\nname = calc"),
        # A target may write attributes that git cannot follow, or that alter what it keeps.
        "echo '* working-tree-encoding=UTF-16' > .gitattributes",
        "printf '*.py text eol=crlf -diff\\n* filter=none ident\\n' > .gitattributes",
    ],
)
async def test_a_fault_that_was_mended_as_well_is_mended(tmp_path: Path, command: str) -> None:
    executor = executor_of("local", tmp_path)
    score, _ = await worked(opened(tmp_path / "tasks"), executor, MEND, command)
    assert score.hard == 1.0


async def test_attributes_of_the_repository_keep_no_change_from_counting(tmp_path: Path) -> None:
    files = FILES | {".gitattributes": "* text=auto\n*.md filter=none\n", "a.md": "one\r\ntwo\r\n"}
    task = instance("a", files=files)
    benchmark, executor = opened(tmp_path / "tasks", task), executor_of("local", tmp_path)
    score, made = await worked(benchmark, executor, MEND)
    assert score.hard == 1.0
    assert "a.md" not in made.outcome["patch"]


async def test_what_the_reference_changes_of_it_counts(tmp_path: Path) -> None:
    setting = "diff --git a/conftest.py b/conftest.py\n--- a/conftest.py\n+++ b/conftest.py\n"
    fault = {
        "files": FILES | {"conftest.py": "raise SystemExit('cannot run')\n"},
        "patch": f"{PATCH}{setting}@@ -1 +0,0 @@\n-raise SystemExit('cannot run')\n",
    }
    benchmark, executor = (
        opened(tmp_path / "tasks", instance("a", **fault)),
        executor_of("local", tmp_path),
    )
    task = benchmark.tasks("train")[0]
    proven = await benchmark.score(task, await benchmark.prove(task, executor))
    assert proven.hard == 1.0
    assert (await worked(benchmark, executor, MEND, ": > conftest.py"))[0].hard == 1.0
    assert (await worked(benchmark, executor, MEND))[0].hard == 0.0


async def test_what_is_in_the_way_of_new_tests_is_no_failure_of_ours(tmp_path: Path) -> None:
    new = "diff --git a/checks/test_new.py b/checks/test_new.py\nnew file mode 100644\n"
    body = "--- /dev/null\n+++ b/checks/test_new.py\n@@ -0,0 +1,2 @@\n+def test_new():\n+    pass\n"
    task: dict[str, Any] = instance("a", test_patch=f"{TEST_PATCH}{new}{body}")
    benchmark, executor = opened(tmp_path / "tasks", task), executor_of("local", tmp_path)
    for command in ("touch checks", "ln -s /tmp checks", file("checks/test_new.py/x", "")):
        score, _ = await worked(benchmark, executor, MEND, command)
        assert "touches 1 of the tests' own files" in score.feedback
    score, _ = await worked(benchmark, executor, MEND, file("checks/test_mine.py", ""))
    assert score.hard == 1.0


def test_hidden_tests_and_what_is_in_their_way() -> None:
    patch = "--- a/t/test_a.py\n+++ b/t/test_a.py\n"
    paths = ["t", "t/test_a.py", "t/test_a.py/x", "t/test_ab.py", "t2/test_a.py", "./t/test_a.py"]
    assert kept_apart(paths, patch) == ["t", "t/test_a.py", "t/test_a.py/x", "./t/test_a.py"]


@pytest.mark.parametrize(
    ("path", "steers"),
    [
        ("conftest.py", True),
        ("a/b/conftest.py", True),
        ("docs/pytest.ini", True),
        ("pytest.py", True),
        ("pytest/x.py", True),
        ("src/pytest/x.py", False),
        ("conftest_helper.py", False),
        ("tests/run.py", True),
        ("tests/runner.py", False),
        ("requirements.txt", False),
    ],
)
def test_which_files_say_how_tests_are_run(path: str, steers: bool) -> None:
    assert steers_tests(path, {"test_command": ["python", "./tests/run.py"]}) is steers


def test_a_patch_is_left_without_whole_files() -> None:
    lookalike = (
        "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1 @@\n"
        "--- a/conftest.py\n x\n"
    )
    other = "diff --git a/conftest.py b/conftest.py\nnew file mode 100644\n"
    assert without(lookalike + other, lambda path: path == "conftest.py") == (lookalike, 1)
    assert without("", lambda path: True) == ("", 0)
