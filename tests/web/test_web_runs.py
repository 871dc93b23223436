"""RunLog runs: bit by bit, for as long as a page may take, and never outside of the folder."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from web_rig import client

from skillopt_cli.core.errors import DataError
from skillopt_cli.runlog.run_log import RunLog, read_view
from skillopt_cli.runlog.summary import status
from skillopt_cli.store.event_log import MOST, LogTail
from skillopt_cli.store.layout import EVENTS, SUMMARY
from skillopt_cli.store.lock import lock_run
from skillopt_cli.web import runs as reader
from skillopt_cli.web.app import application
from skillopt_cli.web.context import WebContext
from skillopt_cli.web.live import version_of, version_of_list
from skillopt_cli.web.pages.index import run_list_page
from skillopt_cli.web.paths import NotFound, Outputs, RunName
from skillopt_cli.web.runs import Runs
from skillopt_cli.web.security import Access

NAME = RunName("searchqa", "a")


@pytest.fixture
def outputs(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "outputs"))


def log_of(outputs: Path) -> Path:
    return outputs / "searchqa/a" / EVENTS


def test_a_log_read_in_parts_adds_up_to_the_whole(outputs: Path) -> None:
    whole = read_view(outputs / "searchqa/a")
    log = log_of(outputs)
    content = log.read_bytes()
    log.write_bytes(b"")
    reading = RunLog(outputs / "searchqa/a")
    size = 1000
    for start in range(0, len(content), size):
        with log.open("ab") as file:
            file.write(content[start : start + size])
        while reading.advance():
            pass
    assert reading.seen(nobody=True) == whole
    assert reading.facts == content.count(b"\n")
    assert reading.share == 1.0


def read_all(runs: Runs) -> None:
    """Read the logs of finished runs between looks at their list."""
    thread = threading.Thread(target=runs.read_pending)
    thread.start()
    try:
        for _ in range(1500):
            if all(row["status"] == "finished" for row in runs.rows()):
                break
            thread.join(0.02)
        else:
            raise AssertionError("the logs are not read to their end")
    finally:
        runs.close()
        thread.join(10)
    assert not thread.is_alive()


def test_a_line_without_its_end_waits(outputs: Path) -> None:
    log = log_of(outputs)
    first, second, *_ = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first + second[:-1])
    tail = LogTail(log.parent)
    assert [fact.number for fact in tail.read()] == [1]
    assert tail.read() == []
    log.write_bytes(first + second)
    assert [fact.number for fact in tail.read()] == [2]


def test_one_reading_takes_a_bounded_part(outputs: Path) -> None:
    log = log_of(outputs)
    assert log.stat().st_size > MOST
    tail = LogTail(log.parent)
    facts = tail.read()
    assert 0 < len(facts) < log.read_bytes().count(b"\n")
    assert 0 < tail.share < 1


def test_a_missing_log_is_an_empty_one(tmp_path: Path) -> None:
    tail = LogTail(tmp_path)
    assert (tail.read(), tail.share, tail.replaced) == ([], 1.0, False)


def test_a_log_that_may_not_be_read_stops_no_other_run(outputs: Path) -> None:
    log_of(outputs).unlink()
    log_of(outputs).mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        read_view(outputs / "searchqa/a")
    rows = {row["run_id"]: row for row in Runs(Outputs(outputs), patience=60).rows()}
    assert (rows["a"]["status"], rows["b"]["status"]) == ("unreadable", "finished")
    assert str(log_of(outputs)) in rows["a"]["error"]


def test_a_run_that_is_removed_while_it_is_listed_is_left_out(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [*Outputs(outputs).names(), RunName("searchqa", "gone")]
    monkeypatch.setattr(Outputs, "names", lambda self: listed)
    assert [row["run_id"] for row in Runs(Outputs(outputs), patience=60).rows()] == ["a", "b"]


def test_a_run_that_was_made_anew_is_read_anew(outputs: Path) -> None:
    runs = Runs(Outputs(outputs), patience=60)
    assert runs.snapshot(NAME).view.done == 4
    log = log_of(outputs)
    lines = log.read_bytes().splitlines(keepends=True)
    log.unlink()
    log.write_bytes(b"".join(lines[:3]))
    seen = runs.snapshot(NAME)
    assert (seen.facts, seen.view.done) == (3, 0)
    log.write_bytes(b"".join(lines[:2]))
    assert runs.snapshot(NAME).facts == 2


def test_a_page_does_not_wait_for_a_long_log(outputs: Path) -> None:
    for run in ("a", "b"):
        (outputs / "searchqa" / run / SUMMARY).unlink()
    runs = Runs(Outputs(outputs), patience=0.0)
    first = runs.snapshot(NAME)
    assert not first.whole
    assert "reading" in {row["status"] for row in runs.rows()}
    read_all(runs)
    seen = runs.snapshot(NAME)
    assert seen.whole and seen.view.done == 4
    assert version_of(first) != version_of(seen)


def test_more_logs_than_stay_open_are_read_to_their_end(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A slice is too short for any of these logs.
    monkeypatch.setattr(reader, "MOST_OPEN", 1)
    monkeypatch.setattr(reader, "_SLICE", 0.0)
    for run in ("a", "b"):
        (outputs / "searchqa" / run / SUMMARY).unlink()
    for number in range(3):
        shutil.copytree(outputs / "searchqa/a", outputs / f"searchqa/a{number}")
    runs = Runs(Outputs(outputs), patience=0.0)
    assert {row["status"] for row in runs.rows()} == {"reading"}
    read_all(runs)


def test_the_list_needs_no_log_of_a_finished_run(outputs: Path) -> None:
    runs = Runs(Outputs(outputs), patience=0.0)
    rows = runs.rows()
    assert [row["status"] for row in rows] == ["finished", "finished"]
    # A process that is at work on a run may be about to add to it.
    (outputs / "searchqa/a" / EVENTS).touch()
    with lock_run(outputs / "searchqa/b"):
        statuses = [row["status"] for row in Runs(Outputs(outputs), patience=0.0).rows()]
    assert statuses == ["reading", "reading"]
    for run in ("a", "b"):
        (outputs / "searchqa" / run / SUMMARY).unlink()
    assert Runs(Outputs(outputs), patience=60).rows() == rows


def test_the_list_states_where_it_shows_an_earlier_state(outputs: Path) -> None:
    for run in ("a", "b"):
        (outputs / "searchqa" / run / SUMMARY).unlink()
    log = log_of(outputs)
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)
    log.write_bytes(b"".join(lines[: len(lines) // 2]))
    context = WebContext.of(outputs, Access(""), patience=60, stream=1)
    runs = context.runs

    def notes() -> int:
        request = Request({"type": "http", "query_string": b"", "headers": []})
        page = context.render(run_list_page(context, request)).body
        return bytes(page).count(b"earlier state, its log is being read")

    earlier = runs.rows()
    assert [row["behind"] for row in earlier] == [False, False]
    assert notes() == 0
    log.write_bytes(whole)
    runs._patience = 0.0
    later = runs.rows()
    assert {row["run_id"]: row["behind"] for row in later} == {"a": True, "b": False}
    assert version_of_list(later) != version_of_list(earlier)
    assert notes() == 1
    runs._patience = 60
    assert [row["behind"] for row in runs.rows()] == [False, False]
    assert notes() == 0


def test_a_log_that_is_being_read_makes_no_run_interrupted(outputs: Path) -> None:
    for run in ("a", "b"):
        (outputs / "searchqa" / run / SUMMARY).unlink()
    # Without its lifespan nobody reads on between pages.
    app = application(outputs, Access(""), patience=0.0)
    asking = TestClient(app, base_url="http://127.0.0.1:7860")
    for path in ("/runs/searchqa/a", "/runs/searchqa/a/steer"):
        page = asking.get(path).text
        assert "being read" in page and "Its state is shown once its log is read." in page
        for words in ("Interrupted", "interrupted", "unfinished", "Resume", "skillopt resume"):
            assert words not in page, (path, words)
    page = asking.get("/").text
    assert "state reading" in page and '<option value="reading"' not in page


def test_a_page_tells_how_far_a_log_is_read(trained: Path) -> None:
    # Without its lifespan nobody reads on between pages.
    app = application(trained, Access(""), patience=0.0)
    asking = TestClient(app, base_url="http://127.0.0.1:7860")
    page = asking.get("/runs/searchqa/a").text
    assert "The log of this run is being read" in page
    assert 'data-news="/runs/searchqa/a/live"' in page
    for path in ("/steps/4", "/tasks", "/skills", "/epochs", "/spend", "/settings", "/steer"):
        assert asking.get(f"/runs/searchqa/a{path}").status_code == 200, path


def test_of_many_runs_only_rows_are_kept(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_OPEN", 1)
    runs = Runs(Outputs(outputs), patience=60)
    first = runs.rows()
    assert [row["status"] for row in first] == ["finished", "finished"]
    Path(log_of(outputs)).replace(outputs / "kept")
    shutil.copy(outputs / "kept", log_of(outputs))
    assert runs.snapshot(NAME).view.done == 4
    assert runs.rows() == first


def test_a_run_is_at_work_while_its_folder_is_held(outputs: Path) -> None:
    folder = outputs / "searchqa/a"
    lines = log_of(outputs).read_bytes().splitlines(keepends=True)
    log_of(outputs).write_bytes(b"".join(lines[:20]))
    runs = Runs(Outputs(outputs), patience=60)
    assert status(runs.snapshot(NAME).view) == "interrupted"
    with lock_run(folder):
        seen = runs.snapshot(NAME)
        assert seen.at_work and status(seen.view) == "running"
        assert {row["run_id"]: row["status"] for row in runs.rows()}["a"] == "running"
    assert {row["run_id"]: row["status"] for row in runs.rows()}["a"] == "interrupted"


@pytest.mark.parametrize(
    "named",
    [RunName("..", "x"), RunName("searchqa", ".."), RunName("", "a"), RunName("searchqa", "a\0")],
)
def test_no_name_leads_out(outputs: Path, named: RunName) -> None:
    with pytest.raises(NotFound):
        Outputs(outputs).folder(named)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../b/config.yaml", "skills/../../b/x", "\0"])
def test_no_file_of_a_run_leads_out(outputs: Path, path: str) -> None:
    with pytest.raises(NotFound):
        Outputs(outputs).file(NAME, path)
    assert Outputs(outputs).file(NAME, "config.yaml").is_file()


def test_the_outputs_folder_itself_may_be_a_link(outputs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(outputs)
    with client(tmp_path / "link") as asking:
        assert asking.get("/runs/searchqa/a").status_code == 200


def test_a_run_whose_log_is_not_read_yet_has_its_place_by_time(outputs: Path) -> None:
    os.utime(log_of(outputs), (2_000_000_000, 2_000_000_000))
    runs = Runs(Outputs(outputs), patience=0.0)
    runs.snapshot(RunName("searchqa", "b"), 60)
    rows = {row["run_id"]: row for row in runs.rows()}
    assert (rows["a"]["status"], rows["b"]["status"]) == ("reading", "finished")
    assert rows["a"]["updated"] == 2_000_000_000 > rows["b"]["updated"]
