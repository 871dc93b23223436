"""SWE-bench: logs of test runs, and when a fault counts as mended."""

from __future__ import annotations

import pytest

from skillopt_cli.benchmarks.swebench.patches import paths_of
from skillopt_cli.benchmarks.swebench.repositories import kept_apart
from skillopt_cli.benchmarks.swebench.scoring import grade, read_log

SUMMARY = "=========================== short test summary info ============================\n"


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ("PASSED t.py::a", {"t.py::a": "PASSED"}),
        ("FAILED t.py::a - assert 1 == 2", {"t.py::a": "FAILED"}),
        ("FAILED t.py::a", {"t.py::a": "FAILED"}),
        ("ERROR t.py::a - boom", {"t.py::a": "ERROR"}),
        ("ERROR t.py", {"t.py": "ERROR"}),
        ("XFAIL t.py::a - later", {"t.py::a": "XFAIL"}),
        ("SKIPPED [1] t.py:3: no network", {}),
        ("PASSED", {}),
        (" PASSED t.py::a", {}),
        ("passed t.py::a", {}),
        ("PASSED t.py::a[x]", {"t.py::a[x]": "PASSED"}),
        ("PASSED t.py::a[x y]", {"t.py::a[x y]": "PASSED", "t.py::a[x": "PASSED"}),
        ("FAILED t.py::a[x y] - no", {"t.py::a[x y]": "FAILED", "t.py::a[x": "FAILED"}),
        ("PASSED t.py::a\nFAILED t.py::a", {"t.py::a": "FAILED"}),
        ("\x1b[32mPASSED\x1b[0m t.py::\x1b[1ma\x1b[0m", {"t.py::a": "PASSED"}),
        (f"PASSED t.py::printed\n{SUMMARY}PASSED t.py::a", {"t.py::a": "PASSED"}),
        (f"{SUMMARY}PASSED t.py::b\n{SUMMARY}PASSED t.py::a", {"t.py::a": "PASSED"}),
        ("test_a (x.T) ... ok", {"test_a (x.T)": "PASSED"}),
        ("test_a (x.T) ... FAIL", {"test_a (x.T)": "FAILED"}),
        ("test_a (x.T) ... ERROR", {"test_a (x.T)": "ERROR"}),
        ("test_a (x.T) ... skipped 'no'", {"test_a (x.T)": "SKIPPED"}),
        ("ERROR: test_a (x.T)", {"test_a (x.T)": "ERROR"}),
        ("FAIL: test_a (x.T)\nok", {"test_a (x.T)": "FAILED"}),
        ("collected 0 items", {}),
        ("", {}),
    ],
)
def test_what_a_log_tells(log: str, found: dict[str, str]) -> None:
    code = int(any(status in ("FAILED", "ERROR") for status in found.values()))
    assert read_log(log, code) == found


@pytest.mark.parametrize("code", [1, 2, 5, 139, -9])
def test_a_failed_run_that_tells_of_no_failure_tells_nothing(code: int) -> None:
    assert read_log("PASSED t.py::a", code) == {}
    assert read_log("PASSED t.py::a\nFAILED t.py::b", code) != {}


@pytest.mark.parametrize(
    ("mend", "keep", "resolved"),
    [
        ("PASSED", "PASSED", True),
        ("XFAIL", "PASSED", True),
        ("PASSED", "XFAIL", True),
        ("PASSED", "SKIPPED", True),
        ("SKIPPED", "PASSED", False),
        ("FAILED", "PASSED", False),
        ("ERROR", "PASSED", False),
        ("PASSED", "FAILED", False),
        ("PASSED", "ERROR", False),
        ("", "PASSED", False),
        ("PASSED", "", False),
        ("passed", "PASSED", False),
    ],
)
def test_when_a_fault_is_mended(mend: str, keep: str, resolved: bool) -> None:
    known = {name: status for name, status in (("m", mend), ("k", keep)) if status}
    assert grade(known, ["m"], ["k"]).resolved is resolved
    assert grade({**known, "other": "FAILED"}, ["m"], ["k"]).resolved is resolved


def test_all_named_tests_count_and_no_others() -> None:
    known = {"a": "PASSED", "b": "FAILED", "c": "PASSED"}
    found = grade(known, ["a", "b"], ["c", "d"])
    assert (found.fixed, found.broken) == (("a",), ("b",))
    assert (found.kept, found.lost) == (("c",), ("d",))
    assert grade(known, ["a"], []).resolved
    assert not grade({}, ["a"], []).resolved


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ({"a[x y]": "PASSED"}, True),
        ({"a[x y]": "PASSED", "a[x z]": "XFAIL"}, True),
        ({"a[x y]": "PASSED", "a[x z]": "FAILED"}, False),
        ({"a[y]": "PASSED"}, False),
    ],
)
def test_a_name_cut_within_its_parameters(statuses: dict[str, str], status: bool) -> None:
    assert grade(statuses, ["a[x"], []).resolved is status


@pytest.mark.parametrize(
    ("patch", "paths"),
    [
        ("diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", {"x.py"}),
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", {"x.py"}),
        ("--- a/x.py\t2024-01-01\n+++ b/x.py\t2024-01-01\n", {"x.py"}),
        ("diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n", {"n.py"}),
        ("diff --git a/o b/o\ndeleted file mode 100644\n--- a/o\n+++ /dev/null\n", {"o"}),
        ("diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n", {"e"}),
        (
            "diff --git a/o.py b/n.py\nsimilarity index 100%\nrename from o.py\nrename to n.py\n",
            {"o.py", "n.py"},
        ),
        ('diff --git "a/\\303\\244.py" "b/\\303\\244.py"\n--- "a/\\303\\244.py"\n', {"ä.py"}),
        ("diff --git a/a b.py b/a b.py\n--- a/a b.py\t\n+++ b/a b.py\t\n", {"a b.py"}),
        ("diff --git a/i.png b/i.png\nGIT binary patch\n", {"i.png"}),
        ("", set()),
    ],
)
def test_which_files_a_patch_touches(patch: str, paths: set[str]) -> None:
    assert paths_of(patch) == paths


def test_hidden_tests_are_kept_apart_by_whole_names() -> None:
    tests = "--- a/tests/test_x.py\n+++ b/tests/test_x.py\n"
    touched = ["tests/test_x.py", "test_x.py", "./tests/test_x.py", "tests/test_x.pyi"]
    assert kept_apart(touched, tests) == ["tests/test_x.py", "./tests/test_x.py"]
