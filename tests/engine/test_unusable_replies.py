"""A run that ended for want of a usable optimizer answer asks again when it is resumed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from skillopt_cli.core.errors import OptimizerUnusable, RequestRefused
from skillopt_cli.core.events import CallMade, GateDecided, RolloutFinished
from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, ChatReply, ChatRequest, Task
from skillopt_cli.engine.session import train_session
from skillopt_cli.testing import FunctionChat, MemoryStore, Toy, ToyBenchmark, toy_session

Answer = Callable[[ChatRequest], ChatReply | str]

EDIT = json.dumps({"edits": [{"op": "append", "content": "- advice", "support": 1}]})
UNUSABLE: dict[str, ChatReply | str] = {
    "prose": "I would rather not.",
    "another schema": '{"edits": "none"}',
    "nothing": "",
    "cut": ChatReply(EDIT, finish="length"),
}


class Benchmark(ToyBenchmark):
    """All tasks stay unsolved but some."""

    solved: frozenset[str] = frozenset()

    async def score(self, task: Task, attempt: Attempt) -> Score:
        worth = float(task.id in self.solved)
        return Score(worth, worth, "as it is", ())


class Life:
    """One process of a run: its calls to the optimizer, and what it stated."""

    def __init__(
        self,
        store: MemoryStore,
        answer: Answer | ChatReply | str,
        *settings: str,
        benchmark: ToyBenchmark | None = None,
    ) -> None:
        def reply(request: ChatRequest) -> ChatReply | str:
            if request.stage == "preflight":
                return "ok"
            self.asked.append(request.key("optimizer"))
            return answer(request) if callable(answer) else answer

        self.asked: list[str] = []
        seen = len(store.log)
        toy = Toy(
            ("train.batch_size=2", "train.num_epochs=1", "model.retry.max_attempts=1", *settings),
            FunctionChat(lambda request: "a guess"),
            FunctionChat(reply, "optimizer"),
            benchmark or Benchmark({"train": 4, "selection": 2, "test": 1}),
        )
        self.error: Exception | None = None
        try:
            asyncio.run(train_session(toy_session(toy, store)))
        except OptimizerUnusable as error:
            self.error = error
        self.events = [fact.event for fact in store.log[seen:]]


def calls(store: MemoryStore) -> int:
    """Calls to the optimizer that the log counts."""
    facts = [fact.event for fact in store.log]
    return sum(
        isinstance(f, CallMade) and f.role == "optimizer" and f.stage != "preflight" for f in facts
    )


@pytest.mark.parametrize("settings", [(), ("train.batch_size=4",), ("optimizer.reflect_rounds=2",)])
@pytest.mark.parametrize("kind", UNUSABLE)
def test_a_repaired_optimizer_is_asked_again(kind: str, settings: tuple[str, ...]) -> None:
    store = MemoryStore()
    first = Life(store, UNUSABLE[kind], *settings)
    assert first.error is not None
    paid = calls(store)
    assert paid == len(first.asked)

    second = Life(store, EDIT, *settings)
    assert second.error is None
    assert second.asked[0] in first.asked
    assert any(isinstance(event, GateDecided) for event in second.events)
    # What was paid before stays counted, and no attempt is made again.
    assert calls(store) == paid + len(second.asked)
    again = [e for e in second.events if isinstance(e, CallMade) and e.stage == "rollout"]
    assert again == []
    assert any(isinstance(event, RolloutFinished) for event in second.events)


def test_it_may_fail_any_number_of_times() -> None:
    store = MemoryStore()
    lives = [Life(store, "no") for _ in range(3)]
    assert all(life.error for life in lives)
    assert lives[1].asked == lives[2].asked != []
    assert Life(store, EDIT).error is None


def test_a_process_that_was_killed_asks_nothing_again() -> None:
    """Only a failure of the run makes replies worthless; an interruption does not."""
    store = MemoryStore()
    answers = iter(["no", "no", "no"])

    def stop(request: ChatRequest) -> str:
        if (answer := next(answers, None)) is None:
            raise KeyboardInterrupt
        return answer

    with pytest.raises(KeyboardInterrupt):
        Life(store, stop)
    kept = set(store._calls)
    second = Life(store, EDIT)
    assert second.error is None
    assert not kept & set(second.asked)


def test_a_step_with_a_usable_answer_keeps_all_its_replies() -> None:
    store = MemoryStore()
    said = iter(["no", "no"])
    settings = ("gradient.minibatch_size=1", "train.batch_size=4", "gradient.analyst_workers=1")
    first = Life(store, lambda request: next(said, EDIT), *settings)
    assert first.error is None
    assert set(first.asked) <= set(store._calls)


@pytest.mark.parametrize("how", ["unusable", "refused"])
def test_a_last_step_that_asks_nothing_does_not_make_the_failure_final(how: str) -> None:
    def refuse(request: ChatRequest) -> str:
        raise RequestRefused("not this one")

    benchmark = Benchmark({"train": 4, "selection": 2, "test": 1})
    settings = ("gradient.failure_only=true",)
    plan = toy_session(Toy(("train.batch_size=2", "train.num_epochs=1"), benchmark=benchmark)).run
    *_, last = plan.plan.after(0)
    benchmark.solved = frozenset(task.id for task in plan.batch(last))

    store = MemoryStore()
    first = Life(store, refuse if how == "refused" else "no", *settings, benchmark=benchmark)
    assert first.error is not None
    second = Life(store, EDIT, *settings, benchmark=benchmark)
    assert second.error is None
    assert second.asked == []
