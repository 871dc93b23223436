"""`skillopt data sample|prepare|check`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import SMALLEST, refused, skillopt


def test_a_sample_is_written_once_and_can_be_trained_on() -> None:
    ended = skillopt("data", "sample", "searchqa")
    assert ended.out == (
        "wrote data/searchqa-sample; use it with --split-dir data/searchqa-sample\n"
    )
    trained = skillopt("train", "searchqa", *SMALLEST, "--split-dir", "data/searchqa-sample")
    assert trained.code == 0
    (data,) = [line for line in trained.err.splitlines() if line.startswith("Data: ")]
    assert "data/searchqa-sample" in data
    assert "exists already" in refused(2, "data", "sample", "searchqa").error
    assert skillopt("data", "sample", "searchqa", "--out", "d", "--json").json == {"folder": "d"}


def test_what_has_no_sample_or_download_says_so() -> None:
    assert "no bundled sample" in refused(2, "data", "sample", "folder").error
    assert "nothing to download" in refused(2, "data", "prepare", "folder").error
    assert "`nothing`" in refused(2, "data", "sample", "nothing").error


def test_a_sample_that_cannot_be_written_is_an_error_of_the_data() -> None:
    Path("file").touch()
    ended = refused(3, "data", "sample", "searchqa", "--out", "file/below")
    assert "file/below" in ended.error


def test_a_download_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    ended = skillopt("data", "prepare", "searchqa")
    assert ended.code in (2, 3, 4)
    assert "datasets" in ended.err
    assert "skillopt-cli[data]" in ended.err
    assert "Traceback" not in ended.err
    assert not Path("data").exists()


def test_sound_data_has_no_faults() -> None:
    ended = skillopt("data", "check", "searchqa")
    assert ended.code == 0
    assert ended.out.splitlines()[0].startswith("searchqa: bundled sample")
    assert skillopt("data", "check", "searchqa", "--json").json == []


def test_faults_are_listed_and_an_error_is_an_exit_code() -> None:
    skillopt("data", "sample", "searchqa", "--out", "d")
    (path,) = Path("d/test").iterdir()
    items = json.loads(path.read_text(encoding="utf-8"))
    items = [{**item, "answers": ["see <answer>x</answer>"]} for item in items]
    path.write_text(json.dumps(items), encoding="utf-8")
    ended = skillopt("data", "check", "searchqa", "--split-dir", "d")
    assert ended.code == 3
    assert "error: the reference itself does not score 1.0" in ended.out
    assert "`searchqa`" in ended.error
    found = skillopt("data", "check", "searchqa", "--split-dir", "d", "--json")
    assert found.code == 3
    assert any(finding["level"] == "error" for finding in json.loads(found.out))


def test_check_lists_all_rows_that_contradict_an_earlier_one() -> None:
    rows = [f"Where is parcel {n % 5} now?,{'yes' if n < 5 else 'no'}" for n in range(10)]
    Path("t.csv").write_text("text,label\n" + "\n".join(rows), encoding="utf-8")
    given = ("data", "check", "t.csv")
    ended = skillopt(*given)
    assert ended.code == 3
    assert ended.out.count("error: ") == ended.out.count("ask the same") == 5
    assert "t.csv, line 6 and " in ended.out and "`yes` and `no`" in ended.out
    assert "has 5 errors" in ended.err
    assert [found["level"] for found in skillopt(*given, "--json").json] == ["error"] * 5


def test_check_lists_all_tasks_that_splits_share() -> None:
    lines = [json.dumps({"question": f"Is {n}?", "answer": f"a{n}"}) for n in range(6)]
    for split in ("train", "val", "test"):
        Path("d", split).mkdir(parents=True)
        Path("d", split, "t.jsonl").write_text("\n".join(lines), encoding="utf-8")
    ended = skillopt("data", "check", "folder", "--split-dir", "d")
    assert ended.code == 3
    assert ended.out.count("share a task") == 12
