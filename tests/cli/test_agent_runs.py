"""Whole trainings with the real programs as targets; killed, and taken up again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import TINY, events, outcome, skillopt, train

from skillopt_cli.backends.simulated.world import held
from skillopt_cli.plugins import load_backend
from skillopt_cli.testing import ModelServer, run_model_server

BACKENDS = ("codex_exec", "claude_code_exec")
SMALL = (
    *TINY,
    *("--epochs", "2", "--batch-size", "4", "--learning-rate", "8", "--workers", "2"),
    *("--optimizer-backend", "openai_compatible", "--optimizer-model", "m"),
    *("--target-model", "m", "--set", "train.train_size=8"),
    *("--set", "evaluation.sel_env_num=6", "--set", "evaluation.test_env_num=3"),
    *("--set", "optimizer.slow_update_samples=2", "--set", "model.prices=[]"),
)
KEY = "real-key"


def lacks(name: str) -> str:
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    return load_backend(name).missing({"PATH": os.environ["PATH"], **keys})


def installed(name: str) -> object:
    lacking = lacks(name)
    return pytest.param(name, marks=pytest.mark.skipif(bool(lacking), reason=lacking))


pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ModelServer]:
    log = tmp_path / "requests.jsonl"
    with run_model_server(log, bodies=False, key=KEY, right_rate=1.0, harmful_rate=0.0) as running:
        yield running


def variables(server: ModelServer) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": server.url,
    }


def killed_at(attempts: int, folder: Path, *arguments: str, **more: str) -> int:
    """Train in a process of its own and kill it at once, deep in its work; its return code."""
    argv = [sys.executable, "-m", "skillopt_cli", "train", "searchqa", *arguments]
    process = subprocess.Popen(
        [*argv, "--run-id", folder.name],
        env={**os.environ, **more},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None:
        if len(events(folder, "rollout_finished")) >= attempts:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.02)
    return process.wait()


@pytest.mark.parametrize("backend", [installed(name) for name in BACKENDS])
def test_a_skill_is_learned_and_a_killed_run_comes_to_the_same(
    server: ModelServer, backend: str
) -> None:
    target = ("--target-backend", backend)
    whole = train(*SMALL, *target, run_id="whole", **variables(server))

    verdicts = [event["decision"]["verdict"] for event in events(whole, "gate_decided")]
    assert "new_best" in verdicts
    assert held((whole / "best_skill.md").read_text(encoding="utf-8"))
    ended = events(whole, "rollout_finished")
    assert {event["ending"] for event in ended} == {"answered"}
    assert {event["skill_loaded"] for event in ended} == {True}
    assert len(list(whole.rglob("*.trace.jsonl"))) > 10
    paid = len(server.requests())
    made = [e for e in events(whole, "call_made") if e["role"] == "target"]
    assert sum(event["turn"] == 0 for event in made) >= 20
    assert paid == len(events(whole, "call_made"))

    folder = Path("outputs", "searchqa", "cut")
    assert killed_at(14, folder, *SMALL, *target, **variables(server)) == -signal.SIGKILL
    done = len(events(folder, "rollout_finished"))
    assert done < len(ended)
    resumed = skillopt("resume", folder, **variables(server))
    assert resumed.code == 0, resumed.err

    assert outcome(folder) == outcome(whole)
    # Whatever was in flight at the moment of death is paid again, and each first check.
    again = len(server.requests()) - 2 * paid
    assert again <= 2 * 2 + 2, again


def test_the_caps_hold_for_attempts_of_a_program(server: ModelServer) -> None:
    backend = "codex_exec"
    if lacking := lacks(backend):
        pytest.skip(lacking)
    target = ("--target-backend", backend, "--run-id", "capped")
    ended = skillopt(
        *("train", "searchqa", *SMALL, *target, "--max-calls", "9"), **variables(server)
    )
    assert ended.code == 5, ended.err
    assert len(server.requests()) == 9


@pytest.mark.parametrize("backend", [installed(name) for name in BACKENDS])
def test_a_program_as_the_optimizer_teaches_is_counted_and_is_replayed_without_it(
    server: ModelServer, backend: str, tmp_path: Path
) -> None:
    players = (
        *("--optimizer-backend", backend, "--optimizer-model", "m"),
        *("--target-backend", "openai_compatible", "--target-model", "m"),
    )
    small = (*SMALL, "--epochs", "1", *players)
    tape = tmp_path / "tape.jsonl"
    folder = train(*small, "--record", str(tape), run_id="asked", **variables(server))

    assert held((folder / "best_skill.md").read_text(encoding="utf-8"))
    made = [e for e in events(folder, "call_made") if e["role"] == "optimizer"]
    assert {"preflight", "reflect"} <= {event["stage"] for event in made}
    assert len(server.requests()) == len(events(folder, "call_made"))
    paid = len(server.requests())
    nowhere = {"PATH": str(tmp_path), "OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": ""}
    again = train(*small, "--replay", str(tape), run_id="again", **nowhere)
    assert outcome(again) == outcome(folder)
    assert len(server.requests()) == paid
