"""Steering a run from its page: in a browser, and as requests that a browser would send."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import events
from dom import parsed, text_of
from starlette.testclient import TestClient
from web_rig import HOME, PROGRAM, Tab, bare, client, served

from skillopt_cli.control.commands import (
    Allow,
    Command,
    ControlReply,
    Hint,
    Pause,
    Resume,
    Set,
    Status,
    Stop,
    Veto,
)
from skillopt_cli.core.errors import ConfigError, NotRunning, UsageError
from skillopt_cli.core.events import RunFailed
from skillopt_cli.web import control as steering
from skillopt_cli.web.security import Access

URL = "/runs/searchqa/held"
STEER = f"{URL}/steer"
ANSWER = ControlReply("", 1, 3, None, False, False, 5, {"max_usd": 2.5})


@contextmanager
def training(folder: Path, *arguments: str) -> Iterator[tuple[Path, Any]]:
    """A simulated run without a near end, `searchqa/held`, in a process of its own; its folder."""
    slow = ("--epochs", "1000", "--set", "model.simulated.latency_ms=250")
    argv = [*PROGRAM, "train", "searchqa", "--preset", "tiny", *slow, "--run-id", "held"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*argv, *arguments], cwd=folder, env=bare(folder), **quiet) as process:
        try:
            yield folder / "outputs" / "searchqa" / "held", process
        finally:
            process.kill()


def at_work(opened: Tab) -> Any:
    """The steering page of the run, once it listens."""
    opened.open("/")
    opened.page.get_by_role("link", name="searchqa/held").wait_for()
    opened.open(STEER)
    opened.page.get_by_role("button", name="Pause now").wait_for()
    return opened.page


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def said(page: Any, text: str) -> None:
    page.locator("#message", has_text=text).wait_for()


@pytest.mark.slow
def test_an_edit_is_vetoed_before_the_gate(tab: Callable[..., Tab], tmp_path: Path) -> None:
    with served(tmp_path / "outputs") as address, training(tmp_path) as (folder, process):
        opened = tab(address)
        page = at_work(opened)
        press(page, "Pause when the next edits are chosen")
        said(page, "the run will pause when the next edits are chosen")
        page.get_by_label("What the optimizer should know").fill("Units come after numbers.")
        press(page, "Give this hint")
        said(page, "will read it")
        assert page.get_by_label("What the optimizer should know").input_value() == ""
        page.get_by_text("Units come after numbers.").wait_for()
        # The edits appear by themselves.
        page.get_by_role("heading", name="Chosen edits").wait_for()
        assert "paused with its edits chosen" in page.inner_text("#part-status")
        press(page, "Veto edit 1")
        said(page, "is struck out")
        press(page, "Take the veto of edit 1 back")
        said(page, "is no longer struck out")
        page.get_by_label("Reason for the veto of edit 1").fill("it guesses <b>")
        press(page, "Veto edit 1")
        said(page, "is struck out")
        step = int(page.inner_text("#message").removeprefix("edit 1 of step ").split()[0])
        page.locator("#edit-1", has_text="vetoed: it guesses <b>").wait_for()
        assert page.get_by_role("button", name="Veto edit 1").count() == 0
        press(page, "Resume")
        said(page, "the run goes on")
        page.get_by_role("heading", name="Chosen edits").wait_for(state="detached")
        page.get_by_role("link", name="Overview").click()
        page.get_by_role("link", name=f"Step {step}").click()
        page.get_by_text("vetoed").first.wait_for()
        assert "it guesses <b>" in page.inner_text("main")
        opened.open(STEER)
        press(page, "Stop")
        said(page, "stopping: ")
        assert process.wait(600) == 130
        page.get_by_text("No process is at work on it.").wait_for()
    report = folder / "steps" / f"step_{step:04}" / "edit_report.json"
    assert '"state": "vetoed"' in report.read_text(encoding="utf-8")
    first, veto = events(folder, "edit_vetoed")
    assert (veto["step"], veto["number"], veto["reason"]) == (step, 1, "it guesses <b>")
    assert first == {**veto, "reason": ""}
    (dropped,) = events(folder, "veto_dropped")
    assert (dropped["step"], dropped["number"]) == (step, 1)
    (hint,) = events(folder, "hint_given")
    assert hint["text"] == "Units come after numbers."


@pytest.mark.slow
def test_steering_works_without_script(tab: Callable[..., Tab], tmp_path: Path) -> None:
    with served(tmp_path / "outputs") as address, training(tmp_path) as (folder, process):
        watching = tab(address)
        at_work(watching)
        opened = tab(address, java_script_enabled=False)
        page = at_work(opened)
        press(page, "Pause now")
        said(page, "paused: calls in flight end")
        assert "paused, step" in page.inner_text("#part-status")
        # Another window hears of it.
        watching.page.get_by_role("button", name="Resume").wait_for()
        page.get_by_label("Limit").select_option("run.max_concurrency")
        page.get_by_label("New value").fill("0")
        press(page, "Change the limit")
        said(page, "must be at least 1, not 0")
        assert page.get_by_label("New value").input_value() == "0"
        assert all("422" in fault for fault in opened.faults)
        opened.faults.clear()
        page.get_by_label("New value").fill("3")
        press(page, "Change the limit")
        said(page, '"Calls at a time, per provider" is 3 now')
        page.get_by_label("Limit").select_option("run.max_calls")
        page.get_by_label("New value").fill("5000")
        press(page, "Change the limit")
        said(page, '"Most calls" is 5000 now')
        stands = page.inner_text("#part-status")
        assert "at most 3 per provider" in stands
        assert "Most calls 5000" in stands
        # What is planned on top of a pause can be taken back during it.
        press(page, "Pause when the next edits are chosen")
        said(page, "will pause when the next edits are chosen")
        press(page, "Cancel the planned pause")
        said(page, "the planned pause is cancelled")
        assert "paused, step" in page.inner_text("#part-status")
        assert "it will pause" not in page.inner_text("#part-status")
        press(page, "Resume")
        said(page, "the run goes on")
        press(page, "Stop")
        said(page, "stopping: ")
        assert process.wait(600) == 130
        opened.open(STEER)
        press(page, "Resume the run")
        said(page, "the run is resumed")
        page.get_by_role("button", name="Pause now").wait_for()
        press(page, "Stop")
        said(page, "stopping: ")
        while "No process is at work on it." not in page.inner_text("#part-status"):
            page.reload()
    assert "stopping" in (folder / "console.log").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_is_typed_outlives_the_news(tab: Callable[..., Tab], tmp_path: Path) -> None:
    with served(tmp_path / "outputs") as address, training(tmp_path) as (_, process):
        opened = tab(address)
        page = at_work(opened)
        page.get_by_label("What the optimizer should know").fill("half a sen")
        page.get_by_label("New value").focus()
        page.locator("#part-status", has_text="step 2 of 2000").wait_for()
        assert page.get_by_label("What the optimizer should know").input_value() == "half a sen"
        press(page, "Stop")
        assert process.wait(600) == 130


@pytest.mark.slow
def test_a_page_follows_a_run_that_is_taken_up(tab: Callable[..., Tab], tmp_path: Path) -> None:
    cut = ("--run-id", "cut", "--max-rollouts", "15")
    argv = [*PROGRAM, "train", "searchqa", "--preset", "tiny", *cut]
    assert subprocess.run(argv, cwd=tmp_path, env=bare(tmp_path), check=False).returncode == 5
    with served(tmp_path / "outputs") as address:
        opened = tab(address)
        opened.open("/runs/searchqa/cut")
        argv = [*PROGRAM, "resume", "cut", "--max-rollouts", "1000"]
        subprocess.run(argv, cwd=tmp_path, env=bare(tmp_path), check=True)
        told = opened.page.locator("#part-status")
        told.filter(has_text="finished, 4 of 4 steps recorded").wait_for()


def sign_of(text: str) -> str:
    found = [
        e.get("value", "") for e in parsed(text).iter("input") if e.get("name") == "form_token"
    ]
    return found[0]


def tell(asking: TestClient, name: str, command: str, **values: str) -> Any:
    body = {"form_token": sign_of(asking.get("/new").text), "do": command, **values}
    url = f"/runs/searchqa/{name}/steer"
    return asking.post(url, data=body, headers={"origin": HOME}, follow_redirects=False)


def test_a_run_at_rest_says_so(trained: Path) -> None:
    with client(trained) as asking:
        text = asking.get("/runs/searchqa/a/steer").text
        assert "No process is at work on it." in text
        assert "<button" not in text
        answer = tell(asking, "a", "hint", text="so <b>it</b> is")
    assert answer.status_code == 422
    page = parsed(answer.text)
    told = page.find(".//*[@id='message']")
    assert told is not None
    assert "no process is at work in " in text_of(told)
    assert "Hint: " in text_of(told)


def test_without_a_token_no_run_with_programs_is_taken_up(trained: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    config = root / "searchqa/a/config.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["model"]["target"]["backend"] = "command"
    settings["model"]["command"] = {"argv": ["/bin/true"]}
    config.write_text(yaml.safe_dump(settings))
    with client(root, Access("")) as asking:
        answer = tell(asking, "a", "take_up")
    assert answer.status_code == 422
    told = parsed(answer.text).find(".//*[@id='message']")
    assert told is not None
    assert "no run with programs, which this one has: /bin/true" in text_of(told)


def test_a_run_that_asks_for_a_program_is_resumed_with_consent(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    folder = root / "searchqa/a"
    settings = yaml.safe_load((folder / "config.yaml").read_text())
    settings["model"]["target"]["backend"] = "command"
    settings["model"]["command"] = {"argv": ["/bin/true"]}
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    log = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(li for li in log if "run_finished" not in li))
    launched: list[Path] = []
    monkeypatch.setattr(steering, "launch", lambda argv, folder: launched.append(folder))
    with client(root) as asking:
        answer = tell(asking, "a", "take_up")
        shown = " ".join(text_of(parsed(answer.text)).split())
        assert "asks to run the program /bin/true" in shown
        (box,) = (e for e in parsed(answer.text).iter("input") if e.get("name") == "trust")
        tell(asking, "a", "take_up", trust="another")
        assert launched == []
        answer = tell(asking, "a", "take_up", trust=str(box.get("value")))
    assert answer.status_code == 303
    assert len(launched) == 1


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    """The commands that a run accepts: no veto of edit 9, no cap of abc; status is left out."""
    found: list[Command] = []

    async def send(folder: Path, command: Command) -> ControlReply:
        if isinstance(command, Veto) and command.number == 9:
            raise UsageError("there is no edit 9: 4 edits are chosen", "look again")
        if command == Set("run.max_usd", "abc"):
            raise ConfigError("run.max_usd must be a number, not abc", "or `run.max_calls=9`")
        if not isinstance(command, Status):
            found.append(command)
        return ANSWER

    monkeypatch.setattr(steering, "send", send)
    return found


@pytest.mark.parametrize(
    ("sent", "command"),
    [
        ({"do": "pause"}, Pause()),
        ({"do": "pause_at_edits"}, Pause("edits")),
        ({"do": "resume"}, Resume()),
        ({"do": "drop_pause"}, Resume("edits")),
        ({"do": "stop"}, Stop()),
        ({"do": "set", "key": "run.max_usd", "value": "3"}, Set("run.max_usd", "3")),
        ({"do": "veto", "number": "2", "reason": "why"}, Veto(2, "why")),
        ({"do": "allow", "number": "2"}, Allow(2)),
        ({"do": "hint", "text": "say it"}, Hint("say it")),
    ],
)
def test_each_form_is_its_command(
    trained: Path, received: list[Command], sent: dict[str, str], command: Command
) -> None:
    with client(trained) as asking:
        answer = tell(asking, "a", sent["do"], **sent)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/runs/searchqa/a/steer?flash=")
    assert received == [command]


def test_a_limit_that_is_refused_is_named_by_its_label(trained: Path, received: object) -> None:
    with client(trained) as asking:
        answer = tell(asking, "a", "set", key="run.max_usd", value="abc")
    page = parsed(answer.text)
    message = page.find(".//*[@id='message']")
    assert message is not None
    assert text_of(message) == (
        '"Most US dollars" must be a number, not abc Hint: or "Most calls" 9'
    )
    chosen = {e.get("value"): text_of(e) for e in page.iter("option")}
    assert chosen["run.max_usd"] == "Most US dollars"


def test_a_planned_pause_is_confirmed_until_the_run_pauses(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    path = root / "searchqa/a/events.jsonl"
    log = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in log if "run_finished" not in line))
    planned = replace(ANSWER, said="it waits for edits", planned=True)
    replies = iter([planned, planned, replace(ANSWER, paused="edits")])

    async def send(folder: Path, command: Command) -> ControlReply:
        return next(replies)

    monkeypatch.setattr(steering, "send", send)
    with client(root) as asking:
        url = tell(asking, "a", "pause_at_edits").headers["location"]
        assert planned.said in text_of(parsed(asking.get(url).text))
        paused = text_of(parsed(asking.get(url).text))
    assert planned.said not in paused
    assert "paused with its edits chosen" in paused and "running" not in paused


def test_the_state_is_what_the_run_answers(trained: Path, received: list[Command]) -> None:
    with client(trained) as asking:
        text = asking.get("/runs/searchqa/a/steer").text
    stands = text_of(parsed(text))
    assert "Calls in flight: 3, at most 5 per provider. Caps: Most US dollars 2.5." in stands
    assert received == []


@pytest.mark.parametrize(
    "sent",
    [
        {"do": "veto", "number": "-1"},
        {"do": "veto", "number": "one"},
        {"do": "allow", "number": "0"},
        {"do": "veto"},
        {"do": "remove"},
        {},
    ],
)
def test_what_is_no_command_is_refused(
    trained: Path, received: list[Command], sent: dict[str, str]
) -> None:
    with client(trained) as asking:
        answer = tell(asking, "a", sent.pop("do", ""), **sent)
    assert answer.status_code == 422
    assert received == []


def test_a_refusal_keeps_what_was_typed(trained: Path, received: list[Command]) -> None:
    with client(trained) as asking:
        answer = tell(asking, "a", "veto", number="9", reason="it <i>guesses")
        assert answer.status_code == 422
        assert "there is no edit 9: 4 edits are chosen" in answer.text
        typed = tell(asking, "a", "hint", text="so <b>", form_token="of another")
    assert typed.status_code == 422
    assert "so nothing was done" in typed.text
    area = next(parsed(typed.text).iter("textarea"))
    assert area.text == "so <b>"
    assert received == []


def test_an_address_puts_no_words_on_the_page(trained: Path) -> None:
    with client(trained) as asking:
        text = asking.get("/runs/searchqa/a/steer?flash=send+me+your+key").text
    assert "your key" not in text


@pytest.mark.parametrize("name", ["nobody", "..", "a%2f..%2fa"])
def test_there_must_be_such_a_run(trained: Path, received: list[Command], name: str) -> None:
    with client(trained) as asking:
        assert asking.get(f"/runs/searchqa/{name}/steer").status_code == 404
        assert tell(asking, name, "pause").status_code in (404, 405)
    assert received == []


def test_foreign_pages_tell_a_run_nothing(trained: Path, received: list[Command]) -> None:
    with client(trained) as asking:
        body = {"form_token": sign_of(asking.get("/new").text), "do": "stop"}
        url = "/runs/searchqa/a/steer"
        for headers in ({}, {"origin": "null"}, {"origin": "http://evil.example"}):
            assert asking.post(url, data=body, headers=headers).status_code == 403
        unsigned = {"do": "stop"}
        assert asking.post(url, data=unsigned, headers={"origin": HOME}).status_code == 422
    assert received == []


@pytest.mark.parametrize(
    ("ending", "stays"),
    [(None, True), ("finished", False), (4, False), (5, False), (130, True)],
)
def test_a_confirmation_goes_when_the_run_ends_by_itself(
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: int | str | None,
    stays: bool,
) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    log = root / "searchqa/a/events.jsonl"
    *before, last = log.read_text().splitlines(keepends=True)
    log.write_text("".join(before))
    monkeypatch.setattr(steering, "launch", lambda argv, folder: None)
    with client(root) as asking:
        address = tell(asking, "a", "take_up").headers["location"]
        if isinstance(ending, int):
            cause = RunFailed("AuthFailed", "the key was refused", "check it", ending, True)
            last = json.dumps(json.loads(last) | {"event": asdict(cause)}) + "\n"
        if ending is not None:
            log.write_text("".join([*before, last]))
        page = parsed(asking.get(address).text)
    told = page.find(".//*[@id='message']")
    assert told is not None
    stated = r"the run is resumed \(at \d\d:\d\d:\d\d\)"
    assert re.fullmatch(stated if stays else "", text_of(told))
    why = "Cause: the key was refused. Hint: check it"
    assert (why in text_of(page)) == (ending in (4, 5))
    assert ("Stopped by the user at" in text_of(page)) == (ending == 130)


def test_the_confirmation_of_a_stop_goes_once_the_run_has_stopped(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    log = root / "searchqa/a/events.jsonl"
    *before, last = log.read_text().splitlines(keepends=True)
    log.write_text("".join(before))
    replies = [replace(ANSWER, said="stopping: 3 calls in flight may finish"), ANSWER]

    async def send(folder: Path, command: Command) -> ControlReply:
        if not replies:
            raise NotRunning("no process is at work on it", "resume it")
        return replies.pop(0)

    monkeypatch.setattr(steering, "send", send)
    with client(root) as asking:
        address = tell(asking, "a", "stop").headers["location"]
        assert "3 calls in flight may finish" in text_of(parsed(asking.get(address).text))
        stopped = RunFailed("Interrupted", "stopped by the user", "", 130, True)
        end = json.dumps(json.loads(last) | {"event": asdict(stopped)}) + "\n"
        log.write_text("".join([*before, end]))
        page = text_of(parsed(asking.get(address).text))
    assert "may finish" not in page and "No process is at work on it." in page
