"""What is begun before its turn alters nothing: not a text, a decision, a record or a fact."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from virtual_loop import VirtualLoop, run_virtually

from skillopt_cli.backends.simulated.backend import Simulated
from skillopt_cli.backends.simulated.world import chance
from skillopt_cli.compose.build import open_session
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.engine.session import train_session
from skillopt_cli.runlog.history import VOLATILE
from skillopt_cli.testing import write_splits

CALLS = ("call_made", "call_failed", "call_retried", "rollout_finished", "pace_changed")
"""Facts whose order is that in which answers come in."""


@pytest.fixture(autouse=True, scope="module")
def world() -> Iterator[None]:
    """The simulated model, each of whose answers takes a time of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Simulated, "chat", slowly(Simulated.chat))
        yield


def slowly(chat: Callable[[Simulated, ChatRequest], Any]) -> Any:
    """Each request takes a time of its own, so that answers come in any order."""

    async def answer(self: Simulated, request: ChatRequest) -> ChatReply:
        await asyncio.sleep(0.1 + chance(0, "time", request.identity))
        return await chat(self, request)

    return answer


@dataclass(frozen=True)
class Outcome:
    """What a run came to, in so many seconds of virtual time."""

    seconds: float
    ending: str
    texts: dict[str, bytes]
    records: list[dict[str, Any]]
    facts: list[dict[str, Any]]
    attempts: Counter[str]
    journal: list[set[str]]
    told: list[dict[str, Any]]

    @property
    def calls(self) -> int:
        """Calls that were answered."""
        return sum(event["kind"] == "call_made" for event in self.told)

    def began(self, stage: str, kind: str, *, last: bool = False) -> bool:
        """Whether a call of a stage was answered before the first, or last, fact of a kind."""
        facts = [n for n, event in enumerate(self.told) if event["kind"] == kind]
        calls = (
            n
            for n, event in enumerate(self.told)
            if event["kind"] == "call_made" and event["stage"] == stage
        )
        return next(calls) < facts[-1 if last else 0]


def train(home: Path, assignments: tuple[str, ...], *, overlapped: bool) -> Outcome:
    overrides = Overrides(
        "searchqa",
        flags={"env.split_dir": str(home / "tasks")},
        assignments=("model.backend=simulated", "model.retry.max_attempts=1", *assignments),
    )
    folder, ending, loop = home / str(overlapped) / "run", "finished", VirtualLoop()
    folder.mkdir(parents=True)
    request = RunRequest(settle(overrides, {}).config, {}, [])
    with open_session(folder, request) as (session, _):
        if not overlapped:
            session = replace(session, run=replace(session.run, overlap=None))
        try:
            run_virtually(train_session(session), loop)
        except SkillOptError as error:
            ending = repr(error)
    return outcome(folder, ending, loop.time())


def outcome(folder: Path, ending: str, seconds: float) -> Outcome:
    lines = (folder / "events.jsonl").read_text().splitlines()
    told = [json.loads(line)["event"] for line in lines]
    path = folder / "history.json"
    history = json.loads(path.read_text()) if path.exists() else []
    hidden = set(VOLATILE) - {"tokens"}
    journal = sqlite3.connect(folder / "journal.sqlite")
    keys = [
        {key for (key,) in journal.execute(f"SELECT key FROM {t}")} for t in ("rollouts", "calls")
    ]
    journal.close()
    return Outcome(
        seconds,
        ending,
        {p.name: p.read_bytes() for p in sorted((folder / "skills").glob("*.md"))},
        [{k: v for k, v in record.items() if k not in hidden} for record in history],
        [event for event in told if event["kind"] not in CALLS],
        Counter(json.dumps(event) for event in told if event["kind"] in CALLS),
        keys,
        told,
    )


def assignment(name: str, values: list[Any]) -> st.SearchStrategy[str]:
    return st.sampled_from([f"{name}={json.dumps(value)}" for value in values])


SETTINGS = st.tuples(
    assignment("train.seed", list(range(50))),
    assignment("model.simulated.seed", list(range(20))),
    assignment("run.workers", [1, 2, 3, 5, 24]),
    assignment("gradient.analyst_workers", [1, 2, 8]),
    assignment("gradient.minibatch_size", [1, 2, 3]),
    assignment("gradient.failure_only", [True, False]),
    assignment("train.num_epochs", [1, 2]),
    assignment("train.batch_size", [3, 5, 8]),
    assignment("optimizer.verify", ["off", "edits", "joint"]),
    assignment("optimizer.merge", ["code", "model"]),
    assignment("optimizer.reflect_rounds", [1, 2]),
    assignment("optimizer.rejected_memory", ["step", "edit"]),
    assignment("optimizer.rerun_solved", [0.25, 1.0]),
    assignment("optimizer.use_slow_update", [True, False]),
    assignment("optimizer.use_meta_skill", [True, False]),
    assignment("evaluation.gate_policy", ["strict", "not_worse", "paired", "pooled"]),
    assignment("evaluation.eval_no_skill", [True, False]),
    assignment("evaluation.eval_test", [True, False]),
    assignment("evaluation.confirm_fraction", [0.0, 0.4]),
    assignment("evaluation.patience", [0, 1]),
    assignment("run.max_calls", [None, None, 40, 90]),
    assignment("model.simulated.right_rate", [0.3, 0.8]),
    assignment("model.simulated.flaky_rate", [0.0, 0.3]),
    assignment("model.simulated.malformed_rate", [0.0, 0.5]),
    assignment("model.simulated.permanent_failure_rate", [0.0, 0.05]),
)


@settings(
    max_examples=12,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(drawn=SETTINGS)
def test_an_overlapped_run_is_the_sequential_one(drawn: tuple[str, ...]) -> None:
    # An early rejection meets attempts in flight, whose number is chance in any order.
    assignments = ("evaluation.early_reject=false", *drawn)
    with TemporaryDirectory() as name:
        home = Path(name)
        write_splits(home / "tasks", train=10, selection=7, test=5)
        one = train(home, assignments, overlapped=False)
        other = train(home, assignments, overlapped=True)
    for part in ("ending", "texts", "records", "facts"):
        assert getattr(one, part) == getattr(other, part)
    if one.ending == "finished":
        assert one.attempts == other.attempts
        assert one.journal == other.journal
    elif "BudgetExhausted" in one.ending:
        assert one.calls == other.calls


@pytest.mark.parametrize("overlapped", [False, True])
def test_what_begins_before_its_turn(tmp_path: Path, overlapped: bool) -> None:
    write_splits(tmp_path / "tasks", train=10, selection=7, test=5)
    settings = ("run.workers=3", "train.batch_size=10", "gradient.minibatch_size=2")
    epoch = ("optimizer.use_slow_update=true", "optimizer.use_meta_skill=true")
    done = train(tmp_path, (*settings, *epoch, "train.num_epochs=2"), overlapped=overlapped)
    assert done.ending == "finished"
    assert done.began("rollout", "baseline_measured") is overlapped
    assert done.began("reflect", "batch_scored") is overlapped
    assert done.began("meta_skill", "slow_update_decided", last=True) is overlapped
    assert done.began("test", "checkpoint_saved", last=True) is overlapped
    assert not done.began("measure", "preflight_passed", last=True)


@pytest.mark.parametrize("cap", [(), ("run.max_calls=10000",)])
def test_nothing_begins_across_a_checkpoint_where_a_cap_is_set(
    tmp_path: Path, cap: tuple[str, ...]
) -> None:
    write_splits(tmp_path / "tasks", train=10, selection=7, test=5)
    settings = ("run.workers=3", "train.batch_size=10", "gradient.minibatch_size=2")
    done = train(tmp_path, (*settings, "train.num_epochs=1", *cap), overlapped=True)
    assert done.began("rollout", "baseline_measured") is (not cap)
    assert done.began("test", "checkpoint_saved", last=True) is (not cap)
    assert done.began("reflect", "batch_scored")


def test_overlap_saves_time(tmp_path: Path) -> None:
    write_splits(tmp_path / "tasks", train=40, selection=10, test=30)
    settings = ("run.workers=4", "train.batch_size=20", "train.num_epochs=2")
    analysts = ("gradient.minibatch_size=2", "gradient.analyst_workers=2")
    took = {
        overlapped: train(tmp_path, (*settings, *analysts), overlapped=overlapped).seconds
        for overlapped in (False, True)
    }
    assert took[True] < 0.9 * took[False]
