"""Task files of one's own as commands read them: what is shown, warned of and missing."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from command_line import refused, skillopt

SIMULATED = ("--set", "env.split_ratio=1:1:2", "--set", "model.backend=simulated")


def write_table(name: str, answers: str, mark: str = ",", column: str = "answers") -> str:
    """Write a table of eight tasks; returns the setting that names it."""
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=mark)
        writer.writerow(("id", "Question", column))
        writer.writerows((f"q{n}", f"What is item {n}, then?", answers) for n in range(8))
    return f"env.data_path={name}"


def test_what_a_file_is_read_as_is_shown() -> None:
    tasks = write_table("T.CSV", "thing", ";", "Answer")
    shown = "T.CSV (columns separated by semicolons) cut 1:1:2"
    assert shown in skillopt("data", "check", "folder", "--set", tasks, *SIMULATED).out
    assert shown in skillopt("eval", "folder", "--from-scratch", "--set", tasks, *SIMULATED).err


@pytest.mark.parametrize(
    ("answers", "column"),
    [
        ("['thing0', 'alt']", "answers"),
        ("['thing0' 'alt']", "answers"),
        ("('thing0', 'alt')", "answers"),
        ('["thing0", "alt"]', "answer"),
    ],
)
def test_a_list_written_as_text_is_warned_of_before_money_is_spent(
    answers: str, column: str
) -> None:
    tasks = write_table("t.csv", answers, column=column)
    warned = "the reference of 8 tasks is a list written as text"
    checked = skillopt("data", "check", "folder", "--set", tasks, *SIMULATED)
    assert f"warning: {warned}" in checked.out
    assert f"Warning: {warned}" in skillopt("plan", "folder", "--set", tasks, *SIMULATED).out
    trained = skillopt("train", "folder", "--set", tasks, *SIMULATED, "--epochs", "1")
    # Once at the start, and once among the notes of the run at its end.
    first, last = (line for line in trained.err.splitlines() if warned in line)
    assert not first.startswith("Note: ")
    assert last.startswith("Note: ")
    measured = skillopt("eval", "folder", "--from-scratch", "--set", tasks, *SIMULATED)
    for run in (trained, measured):
        assert -1 < run.err.find(warned) < run.err.find("Preflight")


def test_labels_in_several_spellings_are_warned_of_before_money_is_spent() -> None:
    labels = ("Account", "Account ", "account", "Returns", "Returns", "Returns")
    with Path("t.csv").open("w", encoding="utf-8", newline="") as file:
        rows = ((f"What is item {n}, then?", labels[n % 6]) for n in range(24))
        csv.writer(file).writerows([("question", "answer"), *rows])
    simulated = ("--set", "model.backend=simulated")
    exact = ("--scorer", "exact")
    warned = "1 label is spelt in several ways: "
    runs = {
        "Warning": skillopt("plan", "t.csv", *simulated, *exact).out,
        "": skillopt("train", "t.csv", *simulated, *exact, "--epochs", "1").err,
    }
    for level, shown in runs.items():
        line, *last = (one for one in shown.splitlines() if warned in one)
        assert [one.partition(":")[0] for one in last] == ([] if level else ["Note"])
        assert level in line
        assert "`Account` / `account`" in line
        assert "Returns" not in line
    # The scorer that is inferred holds them equal.
    assert f"info: {warned}`Account` / `account`" in skillopt("data", "check", "t.csv").out
    planned = skillopt("plan", "t.csv", *simulated)
    assert "some spelt in several ways" in planned.err
    assert warned not in planned.out


def test_a_json_list_below_answers_is_no_reason_for_a_warning() -> None:
    tasks = write_table("t.csv", '["thing0", "alt"]')
    assert "list" not in skillopt("data", "check", "folder", "--set", tasks, *SIMULATED).out


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("t.xlsx", "openpyxl", "sheets"), ("t.parquet", "pyarrow", "parquet")],
)
def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str, extra: str
) -> None:
    Path(name).touch()
    monkeypatch.setitem(sys.modules, package, None)
    ended = refused(3, "data", "check", "folder", "--set", f"env.data_path={name}")
    assert f"reading {name} needs the package `{package}`" in ended.error
    assert f"pip install 'skillopt-cli[{extra}]'" in ended.err
