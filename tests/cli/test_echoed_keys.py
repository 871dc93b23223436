"""Services and programs repeat every secret they see, and none reaches a disk or a screen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from command_line import SMALLEST, Ended, events, outcome, skillopt, train
from echoing import EchoServer, echo_program, echo_server
from planted_secrets import MARK, SECRETS, leaks

from skillopt_cli.cli.commands import COMMANDS, load_command
from skillopt_cli.plugins import load_backend, load_tracker
from skillopt_cli.testing import ModelServer

TARGET = ("--set", "model.target.backend={}", "--target-model", "m")
PLAIN = (
    *("--set", "model.optimizer.backend=openai_compatible", "--optimizer-model", "m"),
    *("--set", "model.optimizer.api_key_env=MINE"),
    *("--set", "model.retry.base_seconds=0", "--set", "evaluation.min_coverage=0.1"),
    *("--set", "model.prices=[]", "--set", "run.executor=local", "--workers", "2"),
)
SERVED = ("openai_compatible", "openai_chat", "claude_chat", "qwen_chat", "minimax_chat")
RELAYED = ("codex_exec", "claude_code_exec")
PROGRAMS = ("command", "cursor_exec", "copilot_exec")
FOLDER = Path("outputs", "searchqa", "a")


@pytest.fixture
def echo(server: ModelServer) -> Iterator[EchoServer]:
    with echo_server(server) as running:
        yield running


def flags(backend: str, auth_mode: str = "api_key") -> tuple[str, ...]:
    """The arguments of a run whose target is played by a backend."""
    own: tuple[str, ...] = ()
    if backend == "openai_chat":
        own = ("--set", f"model.target.auth_mode={auth_mode}")
    if backend == "openai_compatible":
        own = ("--set", "model.target.api_key_env=MINE")
    if backend in PROGRAMS:
        program = echo_program(Path("agent").absolute(), backend)
        own = ("--set", f"model.{backend}.path={program}")
    if backend == "command":
        own = ("--set", f"model.command.argv={program}", "--set", "model.command.variables=LOGIN")
    return (*SMALLEST, *PLAIN, *(word.format(backend) for word in TARGET), *own)


def variables(echo: EchoServer, backend: str) -> dict[str, str]:
    """The environment of a run; a variable that is named by nothing holds no secret."""
    names = ("OPENAI_BASE_URL", "OPENAI_COMPATIBLE_BASE_URL", "QWEN_CHAT_BASE_URL")
    return {
        **{
            name: value
            for name, value in SECRETS.items()
            if name != "LOGIN" or backend == "command"
        },
        **dict.fromkeys((*names, "MINIMAX_BASE_URL"), f"{echo.url}/v1"),
        "ANTHROPIC_BASE_URL": echo.url,
        "AZURE_OPENAI_ENDPOINT": echo.url,
        "OTEL_EXPORTER_OTLP_ENDPOINT": echo.url,
    }


def recorded(backend: str) -> tuple[str, ...]:
    """The flag of a recording, where there can be one."""
    return () if backend in PROGRAMS else ("--record", "tape.jsonl")


def silent(ended: Ended) -> Ended:
    """Assert that no secret was printed."""
    assert not MARK.search(ended.out + ended.err)
    return ended


@pytest.mark.parametrize("backend", ["openai_compatible", "command"])
def test_what_comes_back_is_hidden_before_it_is_read(echo: EchoServer, backend: str) -> None:
    start = ("train", "searchqa", *flags(backend), "--run-id", "a", *recorded(backend))
    told = silent(skillopt(*start, **variables(echo, backend)))
    assert told.code == 0, told.err
    assert echo.failed > 0
    reasons = [e["reason"] for e in events(FOLDER, "degraded") if e["where"] == "secrets"]
    seen = "MINE" if backend == "openai_compatible" else "LOGIN"
    assert f"the value of {seen} was read, and replaced by ***" in reasons
    assert len(reasons) == len(set(reasons)) <= len(SECRETS)
    assert any("***" in path.read_text("utf-8") for path in FOLDER.rglob("rollout/*.json"))
    assert leaks(Path(), but=[Path("agent")]) == []
    if backend == "openai_compatible":
        again = train(*flags(backend), "--replay", "tape.jsonl", run_id="b")
        assert outcome(again) == outcome(FOLDER)


def needs(name: str) -> object:
    environment = {**os.environ, **SECRETS}
    lacking = load_backend(name).missing(environment) if name in RELAYED else ""
    return pytest.param(name, marks=pytest.mark.skipif(bool(lacking), reason=lacking))


def process(*arguments: object, **more: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "skillopt_cli", *map(str, arguments)]
    environment = {**os.environ, **more}
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, env=environment, stdout=pipe, stderr=pipe, text=True)


def command(*arguments: object, **more: str) -> Ended:
    """Run a command in a process of its own, and look at all that it prints."""
    running = process(*arguments, **more)
    out, err = running.communicate()
    return silent(Ended(running.returncode, out, err))


def killed(attempts: int, *arguments: object, **more: str) -> None:
    """Start a command and kill it at once when so many attempts have ended."""
    running = process(*arguments, **more)
    while running.poll() is None and len(events(FOLDER, "rollout_finished")) < attempts:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    out, err = running.communicate()
    assert running.returncode == -signal.SIGKILL, err
    assert not MARK.search(out + err)


@pytest.mark.slow
@pytest.mark.parametrize("backend", [needs(name) for name in (*SERVED, *RELAYED, *PROGRAMS)])
def test_no_command_leaves_a_secret_anywhere_and_a_killed_run_comes_to_the_same(
    echo: EchoServer, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _places(tmp_path).items():
        monkeypatch.setenv(name, value)
    more, own = variables(echo, backend), flags(backend)
    trackers = [word for name in _trackers(backend) for word in ("--tracker", name)]
    whole = command("train", "searchqa", *own, "--run-id", "whole", **more)
    assert whole.code == 0, whole.err

    start = ("train", "searchqa", *own, "--run-id", "a", *trackers, *recorded(backend))
    killed(5, *start, **more)
    resumed = command("resume", "a", *recorded(backend), **more)
    assert resumed.code == 0, resumed.err
    assert outcome(FOLDER) == outcome(FOLDER.with_name("whole"))
    assert echo.failed > 3 or backend in PROGRAMS

    for arguments in _first_commands(own):
        _look(arguments, more)
    # The programs are the user's, and the stand-in for the Azure CLI is not used here.
    assert leaks(tmp_path, but=[Path("agent")]) == []


def _places(tmp_path: Path) -> dict[str, str]:
    """Variables that keep all that is written within the test's folder."""
    found = {}
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        found[name] = str(folder)
    return found


def _trackers(backend: str) -> list[str]:
    """Those that are installed; the heavy ones with one backend only."""
    heavy = ("mlflow", "wandb") if backend == "openai_compatible" else ()
    return [n for n in ("tensorboard", "otel", *heavy) if not load_tracker(n).missing()]


def _first_commands(own: tuple[str, ...]) -> list[tuple[object, ...]]:
    """Commands that read a run or call its models."""
    skill = FOLDER / "best_skill.md"
    return [
        ("eval", "--skill", skill, *own[len(SMALLEST) :]),
        ("eval", "--skill", skill, "--arms", "none,best", "--repeats", "2", "--run-id", "arms"),
        ("gate-report", FOLDER),
        ("gate-report", FOLDER, "--json"),
        ("gate-report", FOLDER, "--out", FOLDER / "report.html"),
        ("diff-skills", FOLDER / "skills/step_0000.md", skill),
        ("runs", "list"),
        ("plan", "searchqa", *own),
        ("data", "check", "searchqa"),
        ("config", "show", "searchqa", *own),
        ("config", "prompts", "analyst_error"),
        ("doctor", "searchqa", *own, "--probe"),
        ("backends", "list", "--probe", *own),
        ("ctl", FOLDER, "status"),
    ]


def _look(arguments: tuple[object, ...], more: Mapping[str, str]) -> None:
    ended = silent(skillopt(*arguments, **more))
    assert "Traceback" not in ended.err, ended.err
    assert ended.code in (0, 4, 6), (arguments, ended.err)


ELSEWHERE = {
    "train": "in the tests above",
    "resume": "in the tests above",
    "webui": "it shows what run folders hold; its own token is in tests/web",
    "data prepare": "it sends no key, and needs the network",
}
"""Commands that the tests above do not look at after a run, and why."""
GRID = "benchmark: searchqa\ngrid: {optimizer.learning_rate: [2, 4]}\n"


def _other_commands(own: tuple[str, ...]) -> list[tuple[object, ...]]:
    """Commands that call a model in another way, or none at all."""
    skill = FOLDER / "best_skill.md"
    model = own[len(SMALLEST) :]
    Path("grid.yaml").write_text(GRID, encoding="utf-8")
    Path("theirs.yaml").write_text("train:\n  num_epochs: 1\n", encoding="utf-8")
    tasks = (f"who is number {number}?,{number}" for number in range(12))
    Path("own.csv").write_text("\n".join(["question,answer", *tasks]), encoding="utf-8")
    Path("mine.md").write_text("# Numbers\n\nAnswer with the number.\n", encoding="utf-8")
    Path("new.csv").write_text("question\nwho is number 12?\n", encoding="utf-8")
    return [
        ("train", "searchqa", *own, "--run-id", "played", "--replay", "tape.jsonl"),
        ("aa", skill, *model, "--run-id", "aa"),
        ("answer", "new.csv", "--skill", "mine.md", *model, "--out", "answers.csv"),
        ("prune", skill, *model, "--out", "pruned.md", "--run-id", "prune"),
        ("sweep", "grid.yaml", *own),
        *(("runs", "export", FOLDER, "--what", what) for what in ("tasks", "kinds", "skill")),
        ("benchmarks", "list"),
        ("data", "sample", "searchqa", "--out", "sample"),
        ("config", "import", "theirs.yaml", "--out", "ours.yaml"),
        ("init", "own.csv", "--out", "project"),
        ("new", "skill", "one"),
        ("new", "benchmark", "two"),
    ]


@pytest.mark.slow
def test_no_other_command_leaves_a_secret_anywhere(
    echo: EchoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _places(tmp_path).items():
        monkeypatch.setenv(name, value)
    more, own = variables(echo, "openai_compatible"), flags("openai_compatible")
    kept = ("--run-id", "a", "--record", "tape.jsonl")
    assert command("train", "searchqa", *own, *kept, **more).code == 0
    for arguments in _other_commands(own):
        _look(arguments, more)
    assert leaks(tmp_path) == []


def test_every_command_is_looked_at() -> None:
    looked = [" ".join(map(str, words)) for words in (*_first_commands(()), *_other_commands(()))]
    commands = _commands()
    assert ELSEWHERE.keys() <= set(commands)
    for name in commands:
        assert name in ELSEWHERE or any(f"{line} ".startswith(f"{name} ") for line in looked), name


def _commands() -> list[str]:
    """All commands in full, such as `runs list`."""
    found = []
    for name in COMMANDS:
        command = load_command(name)
        takes_a_run = any(p.param_type_name == "argument" for p in command.params)
        children = {} if takes_a_run else getattr(command, "commands", {})
        found += [f"{name} {child}" for child in children] or [name]
    return found


@pytest.mark.slow
def test_a_token_that_an_identity_gives_is_hidden_as_well(
    echo: EchoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = SECRETS["AZURE_OPENAI_API_KEY"]
    az = tmp_path / "bin" / "az"
    az.parent.mkdir()
    granted = json.dumps({"accessToken": token, "expires_on": int(time.time()) + 3600})
    az.write_text(f"#!/bin/sh\necho '{granted}'\n", encoding="utf-8")
    az.chmod(0o755)
    monkeypatch.setenv("PATH", f"{az.parent}:/usr/bin:/bin")
    own = [
        f if f != "model.target.auth_mode=api_key" else "run.verbose=true"
        for f in flags("openai_chat")
    ]
    more = {k: v for k, v in variables(echo, "openai_chat").items() if k != "AZURE_OPENAI_API_KEY"}
    ended = command("train", "searchqa", *own, "--run-id", "a", **more)
    assert ended.code == 0, ended.err
    reasons = [e["reason"] for e in events(FOLDER, "degraded") if e["where"] == "secrets"]
    assert any("the token of azure_cli" in reason for reason in reasons)
    assert leaks(tmp_path, but=[az]) == []
