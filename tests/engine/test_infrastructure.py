"""Failures of services: retried away without a trace in any decision, or stated plainly."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from skillopt_cli.cli.app import app
from skillopt_cli.core.events import CallRetried, Degraded, GateDecided, RolloutFinished
from skillopt_cli.core.state import TrainState
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.loop import train
from skillopt_cli.testing import EventLog, MemoryStore, Toy, ToyBenchmark, toy_session

BENCHMARK = ToyBenchmark({"train": 20, "selection": 12, "test": 1}, seed=3)
FAULTS = (
    "model.simulated.rate_limit_rate=0.05",
    "model.simulated.server_error_rate=0.02",
    "model.simulated.hangs=1",
    "model.timeout=0.2",
    "model.retry.base_seconds=0.001",
    "model.retry.max_seconds=0.005",
)


async def trained(*settings: str) -> tuple[TrainState, EventLog, MemoryStore]:
    """Straight into the loop: a first check of the models would take the hang upon itself."""
    log, store = EventLog(), MemoryStore()
    toy = Toy(("train.batch_size=10", *settings), benchmark=BENCHMARK)
    session = toy_session(toy, store, [Subscriber("log", log)])
    return await train(session.run, session.seed), log, store


async def test_transient_failures_and_a_hang_change_no_decision() -> None:
    calm, quiet, calm_store = await trained()
    rough, log, rough_store = await trained(*FAULTS)
    reasons = Counter(fact.reason for fact in log.of(CallRetried))
    assert reasons["the simulated server is rate limited"] >= 3
    assert reasons["the simulated server failed"] >= 1
    assert sum("did not answer within" in reason for reason in reasons.elements()) >= 1
    assert quiet.of(CallRetried) == []
    assert rough == calm
    assert log.of(GateDecided) == quiet.of(GateDecided)
    assert calm.best_step > 0
    assert log.of(Degraded) == []
    assert {f.ending for f in log.of(RolloutFinished)} == {"answered"}
    texts = [path for path in calm_store.files if path.endswith(".md")]
    assert all(rough_store.files[path] == calm_store.files[path] for path in texts)


QUICK = (
    "--preset", "tiny", "--display", "none", "--run-id", "r",
    "--set", "model.retry.max_attempts=2", "--set", "model.retry.base_seconds=0.001",
)  # fmt: skip
FOLDER = Path("outputs/searchqa/r")


def cli(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["train", "searchqa", *QUICK, *arguments])
    return result.exit_code, result.stderr


def facts() -> list[dict[str, Any]]:
    text = (FOLDER / "events.jsonl").read_text(encoding="utf-8")
    return [json.loads(line)["event"] for line in text.splitlines()]


def test_many_permanent_failures_are_indecisive() -> None:
    code, said = cli("--set", "model.simulated.permanent_failure_rate=0.3")
    assert code == 6
    assert said.startswith("error: only ")
    assert "baseline attempts could be scored" in said
    ended = [fact for fact in facts() if fact["kind"] == "rollout_finished"]
    endings = Counter(fact["ending"] for fact in ended)
    assert endings["broken"] >= 1
    assert endings["answered"] >= 1
    assert all(fact["hard"] is None for fact in ended if fact["ending"] == "broken")
    assert not any(fact["kind"] == "step_started" for fact in facts())
    summary = json.loads((FOLDER / "summary.json").read_text(encoding="utf-8"))
    assert summary["exit_code"] == 6


def test_a_refused_key_is_one_sentence_and_not_a_single_rollout() -> None:
    code, said = cli("--set", "model.simulated.auth_failure=true")
    assert code == 4
    error, *hint = said.strip().splitlines()
    assert error.startswith("error: ")
    assert not error.endswith(".")
    assert len(hint) == 1
    assert hint[0].startswith("hint: ")
    assert "Traceback" not in said
    assert [f["kind"] for f in facts()] == ["run_started", "call_failed", "run_failed"]
