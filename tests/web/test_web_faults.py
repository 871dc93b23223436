"""Whatever stands in an address or lies in a run folder, the server says so and goes on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from command_line import refused, skillopt
from dom import parsed
from starlette.testclient import TestClient
from web_rig import HOME, PROGRAM, Tab, bare, client, held_at_edits, served, webui

from skillopt_cli.core.errors import DataError, SkillOptError
from skillopt_cli.store.lock import lock_run
from skillopt_cli.web.launcher import launch
from skillopt_cli.web.paths import Outputs, RunName
from skillopt_cli.web.runs import Runs, RunSnapshot

RUN = "/runs/searchqa/a"
DIGITS = "9" * 5000
GONE = "there is no such run"


@pytest.fixture
def outputs(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "outputs"))


@pytest.fixture
def run(outputs: Path) -> Path:
    return outputs / "searchqa/a"


@pytest.fixture
def web(outputs: Path) -> Iterator[TestClient]:
    with client(outputs, origin=HOME) as asking:
        yield asking


def pipe_at(path: Path) -> None:
    """Put a pipe that nobody writes in the place of a file."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize("number", [DIGITS, "-1", "x", "٣", "1.0"])
def test_a_step_that_is_no_number_of_ours_is_not_there(web: TestClient, number: str) -> None:
    assert web.get(f"{RUN}/steps/{number}").status_code == 404
    for asked in (number, f"candidate-{number}"):
        assert web.get(f"{RUN}/skills", params={"a": asked, "b": "best"}).status_code == 404
    assert web.get(f"{RUN}/steps/1").status_code == 200


@pytest.mark.parametrize("number", [DIGITS, "-1", "٣", "0", ""])
def test_an_edit_that_is_no_number_of_ours_is_refused(web: TestClient, number: str) -> None:
    found = parsed(web.get("/new").text).iter("input")
    sign = next(e.get("value", "") for e in found if e.get("name") == "form_token")
    told = web.post(f"{RUN}/steer", data={"form_token": sign, "do": "veto", "number": number})
    assert told.status_code == 422 and "has no such command" in told.text


@pytest.mark.parametrize("value", [DIGITS, "[" * 3000])
def test_a_setting_without_end_is_a_fault_of_the_form(web: TestClient, value: str) -> None:
    found = parsed(web.get("/new").text).iter("input")
    sign = next(e.get("value", "") for e in found if e.get("name") == "form_token")
    form = {"form_token": sign, "benchmark": "searchqa", "preset": "tiny", "set:run.workers": value}
    assert web.post("/new", data=form).status_code == 422


def test_a_pipe_in_the_place_of_a_log_is_told_as_a_fault(web: TestClient, run: Path) -> None:
    pipe_at(run / "events.jsonl")
    assert "unreadable" in web.get("/").text
    told = web.get(RUN)
    assert told.status_code == 422
    assert "events.jsonl cannot be read: it is no regular file" in told.text
    listed = {Path(row["folder"]).name: row for row in skillopt("runs", "list", "--json").json}
    assert listed["a"]["status"] == "unreadable" and listed["b"]["status"] == "finished"
    for command in ("gate-report", "resume"):
        assert "events.jsonl" in refused(3, command, "a").error


def test_a_pipe_in_the_place_of_any_other_file_holds_nobody_up(web: TestClient, run: Path) -> None:
    pages = ["/", "/compare?run=searchqa/a&run=searchqa/b"]
    pages += [f"{RUN}{page}" for page in ("", "/steer", "/tasks", "/skills", "/settings")]
    pages += [f"{RUN}/steps/1", f"{RUN}/skills?a=seed&b=candidate-1"]
    pages += [f"{RUN}/attempts?task=val-001&in=selection"]
    files = [path for path in run.rglob("*") if path.is_file() and path.name != "events.jsonl"]
    # The settings last: without them there is no run.
    for path in sorted(files, key=lambda path: path.name == "config.yaml"):
        pipe_at(path)
        known = path.parent == run or path.parent.name in ("step_0001", "skills", "selection")
        for page in pages if known else ():
            assert web.get(page).status_code in (200, 404, 422), (page, path)
    assert web.get(RUN).status_code == 404


BOMB = "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)
)
MERGED = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: 1}}\n" for n in range(1, 20)
)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("config.yaml", BOMB, "aliases stand for more than 10,000 values"),
        ("config.yaml", MERGED, "aliases stand for more than 10,000 values"),
        ("config.yaml", "a: &a [*a]\n", "an alias occurs in what it names"),
        ("config.yaml", "a: 1\n" * 10_000_000, "it holds more than 100 kB"),
        ("config.yaml", "[" * 50_000, "lies too deep"),
        ("sources.json", "[" * 50_000, "cannot be read"),
        ("sources.json", " " * 50_000_000, "it holds more than 1,000 kB"),
        ("manifest.json", "[" * 25_000_000, "it holds more than 20,000 kB"),
    ],
)
def test_settings_without_end_hold_up_no_page(
    web: TestClient, run: Path, name: str, text: str, said: str
) -> None:
    (run / name).write_text(text, encoding="utf-8")
    answer = web.get(f"{RUN}/settings")
    assert (answer.status_code, said in answer.text) == (422, True), answer.text
    assert web.get("/").status_code == 200


@pytest.mark.parametrize("text", ["[]", "1", '{"versions": [1]}', '{"versions": "1"}'])
def test_a_manifest_of_another_form_hides_no_settings(
    web: TestClient, run: Path, text: str
) -> None:
    (run / "manifest.json").write_text(text, encoding="utf-8")
    answer = web.get(f"{RUN}/settings")
    assert answer.status_code == 200 and "train.batch_size" in answer.text


@pytest.mark.parametrize("name", ["console.log", "run.lock"])
def test_a_run_with_a_pipe_in_the_place_of_a_file_is_not_taken_up(run: Path, name: str) -> None:
    pipe_at(run / name)
    with pytest.raises(DataError if name == "console.log" else SkillOptError):
        launch(["resume", str(run), "--no-such-flag"], run)


def test_the_reader_survives_a_log_it_stumbles_over(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(Outputs(outputs), patience=0)
    seen, read = Runs.snapshot, list[str]()
    folders = [outputs / "searchqa" / name for name in ("a", "b")]
    for folder in folders:
        (folder / "summary.json").unlink()
    # The shorter log is read first.
    first, second = sorted(folders, key=lambda folder: (folder / "events.jsonl").stat().st_size)

    def stumbling(self: Runs, name: RunName, patience: float | None = None) -> RunSnapshot:
        read.append(name.run_id)
        if name.run_id == first.name:
            raise RuntimeError("a bug")
        runs.close()
        return seen(self, name, 60)

    runs.rows()
    monkeypatch.setattr(Runs, "snapshot", stumbling)
    reader = Thread(target=runs.read_pending)
    reader.start()
    reader.join(60)
    assert read == [first.name, second.name]
    assert f"searchqa/{first.name} cannot be read on" in caplog.text and "a bug" in caplog.text


def test_a_run_that_was_removed_is_forgotten(outputs: Path, run: Path) -> None:
    runs = Runs(Outputs(outputs), patience=60)
    assert len(runs.rows()) == len(runs._rows) == 2
    shutil.rmtree(run)
    assert len(runs.rows()) == len(runs._rows) == 1


def test_a_run_that_was_removed_is_said_to_be_gone(web: TestClient, run: Path) -> None:
    assert web.get(f"{RUN}/skills?a=nothing").status_code == 404
    assert GONE not in web.get(f"{RUN}/skills?a=nothing").text
    shutil.rmtree(run)
    for page in ("", "/tasks", "/steer", "/steps/1"):
        answer = web.get(f"{RUN}{page}")
        assert answer.status_code == 404 and GONE in answer.text


@pytest.mark.slow
def test_an_open_page_says_that_its_run_is_gone(tab: Callable[..., Tab], outputs: Path) -> None:
    with served(outputs) as address:
        finished, held = tab(address), tab(address)
        finished.open(RUN)
        with lock_run(outputs / "searchqa/b"):
            held.open("/runs/searchqa/b")
            held.page.locator("body[data-news]").wait_for()
            finished.page.locator("body[data-still]").wait_for()
            for name in ("a", "b"):
                shutil.rmtree(outputs / "searchqa" / name)
            held.page.get_by_text(GONE).wait_for()
        finished.page.evaluate("dispatchEvent(new Event('focus'))")
        finished.page.get_by_text(GONE).wait_for()
        for opened in (finished, held):
            assert all("404" in fault for fault in opened.faults)
            opened.faults.clear()


@pytest.mark.slow
def test_open_pages_say_that_they_lost_their_server(
    tab: Callable[..., Tab], tmp_path: Path
) -> None:
    with held_at_edits(tmp_path):
        root = tmp_path / "outputs"
        with served(root) as address:
            pages = ("/", "/runs/searchqa/held")
            opened = [tab(address) for _ in pages]
            for one, path in zip(opened, pages, strict=True):
                one.open(path)
                one.page.get_by_text("paused with its edits chosen").first.wait_for()
                assert not one.page.locator("#lost").is_visible()
        for one in opened:
            one.page.locator("#lost", has_text="Connection lost").wait_for()
            assert "lost" in one.page.locator("body").get_attribute("class")
        with served(root, "--port", address.rpartition(":")[2]):
            for one in opened:
                one.page.locator("#lost").wait_for(state="hidden")
                assert "lost" not in one.page.locator("body").get_attribute("class")
            stop = [*PROGRAM, "ctl", "held", "stop"]
            subprocess.run(stop, cwd=tmp_path, env=bare(tmp_path), check=True)
            for one in opened:
                told = one.page.locator("td[data-title=Status], #part-status")
                told.filter(has_text=re.compile("stopped", re.IGNORECASE)).first.wait_for()
                one.faults.clear()


@pytest.mark.slow
def test_open_pages_stay_when_their_server_comes_back_with_another_token(
    tab: Callable[..., Tab], trained: Path
) -> None:
    with served(trained) as address:
        opened = tab(address)
        opened.open("/runs/searchqa/a/steer")
        opened.page.get_by_role("heading", level=1).wait_for()
    port = address.rpartition(":")[2]
    with webui(trained, "--port", port) as server:
        opened.page.evaluate("dispatchEvent(new Event('focus'))")
        banner = opened.page.locator("#lost", has_text="Open the new link")
        banner.wait_for()
        assert re.search(r"from [012]\d:\d\d:\d\d\.$", banner.inner_text())
        assert opened.page.get_by_role("heading", level=1).inner_text() == "a: Steer"
        assert "needs its token" not in opened.page.content()
        other = opened.page.context.new_page()
        other.goto(server.link)
        opened.page.locator("#lost").wait_for(state="hidden")
    opened.faults.clear()
