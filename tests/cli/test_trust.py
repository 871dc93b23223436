"""A stranger's files start no program and send no key without consent."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, finished_run, refused, skillopt

from skillopt_cli import evaluate, resume, train
from skillopt_cli.core.errors import NotTrusted
from skillopt_cli.testing import ModelServer

STRANGER = 65533
KEY = "sk-0123456789abcdef"
ANSWERS = "#!/bin/sh\ntouch {mark}\necho Paris\n"
ACTS = ("socket.connect", "socket.sendto", "subprocess.Popen", "os.exec", "os.posix_spawn")
_watching: list[list[tuple[str, Any]]] = []
BARE = {"OPENAI_API_KEY": KEY}


def _hook(event: str, arguments: Any) -> None:
    for seen in _watching if event in ACTS else ():
        seen.append((event, arguments))


sys.addaudithook(_hook)


@contextmanager
def nothing_is_done() -> Iterator[None]:
    """No socket is opened and no process started inside."""
    seen: list[tuple[str, Any]] = []
    _watching.append(seen)
    try:
        yield
    finally:
        _watching.remove(seen)
    assert seen == []


def agent(folder: Path = Path()) -> Path:
    """A program that leaves a mark where it ran."""
    program, mark = folder / "agent", (folder / "mark").absolute()
    program.write_text(ANSWERS.format(mark=mark), encoding="utf-8")
    program.chmod(0o755)
    return mark


def evil_config(server: ModelServer) -> tuple[str, ...]:
    """A file with a program that gets the user's key, and an address elsewhere for it."""
    agent()
    Path("evil.yaml").write_text(
        f"""
model:
  optimizer: {{backend: openai_compatible, name: m, base_url: '{server.url}'}}
  target: {{backend: command}}
  command: {{argv: [./agent], variables: [OPENAI_API_KEY]}}
""",
        encoding="utf-8",
    )
    return ("train", "searchqa", *SMALLEST[2:], "--preset", "quick", "--config", "evil.yaml")


def redirecting_env(server: ModelServer) -> tuple[str, ...]:
    """A `.env` that sends the user's key elsewhere."""
    Path(".env").write_text(f"OPENAI_BASE_URL={server.url}\n", encoding="utf-8")
    models = ("--target-model", "m", "--optimizer-model", "m")
    return ("train", "searchqa", *SMALLEST, "--set", "model.backend=openai_compatible", *models)


def gift_folder(server: ModelServer) -> tuple[str, ...]:
    """A run that another user wrote."""
    folder = finished_run(*SMALLEST)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, STRANGER, STRANGER)
    return ("resume", str(folder))


WORDS = {
    evil_config: ("evil.yaml", "/agent`", "OPENAI_API_KEY", "http://127.0.0.1:"),
    redirecting_env: (".env", "OPENAI_BASE_URL", "OPENAI_API_KEY", "http://127.0.0.1:"),
    gift_folder: ("outputs/searchqa/a", f"user {STRANGER}"),
}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
CASES = [
    evil_config,
    redirecting_env,
    pytest.param(gift_folder, marks=AS_ROOT),
]
Case = Callable[[ModelServer], tuple[str, ...]]


@pytest.mark.parametrize("case", CASES)
def test_it_stops_before_anything_is_sent_or_started(server: ModelServer, case: Case) -> None:
    command = case(server)
    with nothing_is_done():
        ended = refused(2, *command, **BARE)
    for word in WORDS[case]:
        assert word in ended.error, (word, ended.error)
    assert "--trust" in ended.hint
    assert not Path("mark").exists()
    assert server.requests() == []


@pytest.mark.parametrize("case", CASES)
def test_consent_by_a_flag_is_remembered(server: ModelServer, case: Case) -> None:
    command = case(server)
    ended = skillopt(*command, "--trust", **BARE)
    assert ended.code == 0, ended.err
    if case is not gift_folder:
        assert server.requests()
        command = (*command, "--run-id", "again")
    assert skillopt(*command, **BARE).code == 0


@AS_ROOT
def test_a_file_of_another_user_in_an_own_run_folder_counts(server: ModelServer) -> None:
    folder = finished_run(*SMALLEST)
    os.chown(folder / "config.yaml", STRANGER, STRANGER)
    for command in (
        ("resume", folder),
        ("eval", "--skill", folder),
        ("prune", folder, "--out", "pruned.md"),
        ("aa", folder),
        ("aa", folder, "searchqa", *SMALLEST),
    ):
        refused(2, *command)
    # Of a skill alone nothing is taken but its text.
    ended = skillopt("eval", "searchqa", "--skill", folder, *SMALLEST)
    assert ended.code == 0, ended.err


@AS_ROOT
def test_a_gift_cannot_bring_its_own_consent(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = evil_config(server)
    ended = skillopt(*command, "--trust", **BARE)
    assert ended.code == 0, ended.err
    own = Path.home() / ".local" / "state" / "skillopt" / "trusted"
    assert {path.stat().st_mode & 0o777 for path in own.iterdir()} == {0o600}
    assert own.stat().st_mode & 0o777 == 0o700
    own.parent.rename("gift")
    refused(2, *command, "--run-id", "b", **BARE)
    Path(".env").write_text(f"XDG_STATE_HOME={Path.cwd()}\n", encoding="utf-8")
    Path("gift").rename("skillopt")
    refused(2, *command, "--run-id", "b", **BARE)
    monkeypatch.setenv("XDG_STATE_HOME", str(Path.cwd()))
    assert skillopt(*command, "--run-id", "b", **BARE).code == 0


def test_what_was_typed_is_not_asked_again_by_a_resume(server: ModelServer) -> None:
    agent()
    typed = (
        *("--set", "model.target.backend=command", "--set", "model.command.argv=./agent"),
        *("--set", "model.command.variables=OPENAI_API_KEY"),
        *("--set", "model.optimizer.backend=openai_compatible", "--optimizer-model", "m"),
        *("--set", f"model.optimizer.base_url={server.url}"),
    )
    small = (*SMALLEST[2:], "--preset", "quick")
    ended = skillopt("train", "searchqa", *small, *typed, "--run-id", "a", **BARE)
    assert ended.code == 0, ended.err
    assert "Programs: " in ended.err and "OPENAI_API_KEY -> http://127.0.0.1" in ended.err
    again = skillopt("resume", "a", **BARE)
    assert again.code == 0, again.err


def test_a_changed_program_is_asked_for_again(server: ModelServer) -> None:
    command = evil_config(server)
    assert skillopt(*command, "--trust", **BARE).code == 0
    text = Path("evil.yaml").read_text(encoding="utf-8")
    Path("evil.yaml").write_text(text.replace("[./agent]", "[./agent, --more]"), encoding="utf-8")
    ended = refused(2, *command, "--run-id", "b", **BARE)
    assert "--more" in ended.error
    assert "send OPENAI_API_KEY to http" not in ended.error


def test_every_command_that_calls_or_starts_asks_first(server: ModelServer) -> None:
    evil_config(server)
    Path("skill.md").write_text("# Task\n", encoding="utf-8")
    Path("grid.yaml").write_text(
        "benchmark: searchqa\ngrid: {train.seed: [1]}\nconfig: evil.yaml\n", encoding="utf-8"
    )
    Path("fixed.yaml").write_text(
        "benchmark: searchqa\ngrid: {train.seed: [1]}\nfixed:\n"
        "  model.target.backend: command\n  model.command.argv: ./agent\n"
        "  model.optimizer.backend: simulated\n",
        encoding="utf-8",
    )
    Path("open.yaml").write_text("run: {executor: local}\n", encoding="utf-8")
    settings = ("--config", "evil.yaml")
    with nothing_is_done():
        for command in (
            ("eval", "searchqa", "--skill", "skill.md", *settings),
            ("eval", "searchqa", "--skill", "skill.md", "--arms", "none", *settings),
            ("eval", "searchqa", "--skill", "skill.md", "--targets", "a,b", *settings),
            ("prune", "skill.md", "searchqa", *settings),
            ("aa", "skill.md", "searchqa", *settings),
            ("data", "check", "spreadsheetbench", "--config", "open.yaml"),
            ("sweep", "grid.yaml"),
            ("sweep", "fixed.yaml"),
            ("backends", "list", "--probe", *settings),
        ):
            refused(2, *command, **BARE)
        for flags in ((), ("--probe",)):
            ended = skillopt("doctor", "searchqa", *settings, *flags, **BARE)
            assert ended.code == 2
            assert "agent" in ended.out and "--trust" in ended.out
    assert not Path("mark").exists()


def test_the_consent_of_a_doctor_is_remembered_as_that_of_a_run(server: ModelServer) -> None:
    evil_config(server)
    settings = ("doctor", "searchqa", "--config", "evil.yaml")
    assert skillopt(*settings, **BARE).code == 2
    assert "consent" in skillopt(*settings, "--trust", **BARE).out
    again = skillopt(*settings, **BARE)
    assert "you have not agreed" not in again.out and "not checked" not in again.out
    ended = skillopt("train", "searchqa", "--config", "evil.yaml", *SMALLEST[2:], **BARE)
    assert "you have not agreed" not in ended.err


def test_without_consent_a_doctor_checks_what_starts_and_calls_nothing(server: ModelServer) -> None:
    evil_config(server)
    with nothing_is_done():
        shown = skillopt("doctor", "searchqa", "--config", "evil.yaml", "--json", **BARE)
    rows = {row["name"]: row for row in shown.json["checks"]}
    assert (shown.code, rows["consent"]["state"]) == (2, "failing")
    assert {"data", "tasks used", "seed skill", "sandbox", "outputs", "disk", "runs"} <= {*rows}
    assert rows["not checked"]["what"] == "optimizer, target, addresses"
    assert not {"optimizer", "target", "address"} & {*rows}


def test_without_consent_a_role_that_needs_none_is_checked(server: ModelServer) -> None:
    evil_config(server)
    settings = ("--config", "evil.yaml", "--optimizer-backend", "rules")
    with nothing_is_done():
        shown = skillopt("doctor", "searchqa", *settings, "--json", **BARE)
    rows = {row["name"]: row for row in shown.json["checks"]}
    assert rows["optimizer"]["what"] == "rules, which needs no model"
    assert rows["not checked"]["what"] == "target, addresses"


def test_a_plan_shows_what_will_be_asked(server: ModelServer) -> None:
    evil_config(server)
    settings = ("plan", "searchqa", "--config", "evil.yaml")
    with nothing_is_done():
        shown = skillopt(*settings, **BARE)
        document = skillopt(*settings, "--json", **BARE).json
    assert shown.code == 0
    assert "Programs: " in shown.out and "Keys: OPENAI_API_KEY -> " in shown.out
    assert "you have not agreed" in shown.out
    assert "\nhint: look at evil.yaml, then agree with `--trust`\n" in shown.out
    kinds = {(row["kind"], row["needs_consent"]) for row in document["privileges"]}
    assert kinds == {("program", True), ("endpoint", True)}


def test_a_call_from_python_needs_the_same_consent(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    evil_config(server)
    small = {"train.train_size": 4, "evaluation.sel_env_num": 4, "evaluation.test_env_num": 3}
    with nothing_is_done(), pytest.raises(NotTrusted, match="agent"):
        train("searchqa", config="evil.yaml", settings=small)
    with nothing_is_done(), pytest.raises(NotTrusted, match="agent"):
        evaluate(None, "searchqa", config="evil.yaml")
    result = train("searchqa", config="evil.yaml", settings=small, epochs=1, run_id="a", trust=True)
    assert result.finished
    assert resume("a").finished


def test_a_tracker_gets_nothing_of_a_foreign_file_that_loads_code(server: ModelServer) -> None:
    Path("evil").mkdir()
    Path("evil/sitecustomize.py").write_text("open('mark', 'w')\n", encoding="utf-8")
    text = f"PYTHONPATH={Path('evil').absolute()}\nSKILLOPT_RUN__TRACKERS=tensorboard\n"
    Path(".env").write_text(text, encoding="utf-8")
    assert skillopt("train", "searchqa", *SMALLEST).code == 0
    assert not Path("mark").exists()


def test_a_name_in_the_folder_is_not_a_program_of_the_user(server: ModelServer) -> None:
    mark = agent(Path())
    Path("agent").rename("codex")
    Path(".env").write_text(f"PATH={Path.cwd()}\n", encoding="utf-8")
    ended = skillopt("doctor", "searchqa", "--target-backend", "codex_exec", **BARE, PATH="")
    assert ended.code
    assert not mark.exists()


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_terminal_is_asked(server: ModelServer, answer: str) -> None:
    command = evil_config(server)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "skillopt_cli", *command, "--json"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, **BARE},
    )
    os.close(theirs)
    shown = _until(ours, b"Do you agree?")
    assert not Path("mark").exists()
    assert server.requests() == []
    os.write(ours, f"{answer}\n".encode())
    events = process.communicate()[0].decode()
    code = process.returncode
    assert "evil.yaml asks to run the program" in shown
    assert "evil.yaml asks to send OPENAI_API_KEY to http://127.0.0.1" in shown
    if answer == "y":
        assert code == 0, shown
        assert json.loads(events.splitlines()[-1])
        assert Path("mark").exists() and server.requests()
    else:
        assert code == 2
        assert not Path("mark").exists() and server.requests() == []
    os.close(ours)


def _until(terminal: int, sign: bytes) -> str:
    shown = b""
    while sign not in shown:
        shown += os.read(terminal, 4096)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("named", ["./gone", "gone", "/no/such/program"])
def test_a_program_that_does_not_exist_is_no_matter_of_consent(named: str) -> None:
    text = f"model: {{target: {{backend: command}}, command: {{argv: [{named}]}}}}"
    Path("lost.yaml").write_text(text, encoding="utf-8")
    asked = ("--config", "lost.yaml", "--optimizer-backend", "simulated")
    ended = refused(4, "train", "searchqa", *SMALLEST, *asked, PATH=os.environ["PATH"])
    assert f"{named.removeprefix('.')}`, which model.command.argv names" in ended.error
    assert "correct it in lost.yaml" in ended.hint and "--trust" not in ended.err
