"""Secrets are taken out of attempts and scores before anything is decided by them or kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from skillopt_cli.core.episode import Heard, ToolCall, ToolResult
from skillopt_cli.core.score import Private, Score
from skillopt_cli.core.secrets import HIDDEN, Secrets
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, Message, Task, Tool
from skillopt_cli.ports import Executor
from skillopt_cli.stages.attempts import Purpose, attempt
from skillopt_cli.store.memory import MemoryStore
from skillopt_cli.testing import ChatReply, ScriptedChat, Toy, ToyBenchmark, toy_run

KEY = "canary-0123456789"
SKILL = SkillDocument("Read.\n")
PURPOSE = Purpose("rollout", "rollout")


class Leaky:
    """An agent that tells a key wherever it can."""

    name = fingerprint = "leaky"
    offers: frozenset[str] = frozenset()

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        said = Message("assistant", KEY, tool_calls=(ToolCall(KEY, "f", f'{{"a": "{KEY}"}}'),))
        return Attempt(KEY, (said,), outcome={KEY: [KEY]}, trace=f"{KEY}\n")


class Reading(ToyBenchmark):
    """Scores by what it is given to read."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__({"train": 1, "selection": 1, "test": 1})
        self.fails = fails

    async def score(self, task: Task, attempt: Attempt) -> Score:
        assert KEY not in repr(attempt)
        if self.fails:
            raise RuntimeError(f"cannot log in with {KEY}")
        return Score(0.5, 0.5, f"{KEY} is wrong", (KEY,), Private(KEY))


@pytest.mark.parametrize("fails", [False, True], ids=["scored", "broken"])
async def test_an_attempt_is_hidden_before_it_is_scored_and_journaled(*, fails: bool) -> None:
    store = MemoryStore()
    hide = Secrets({KEY: "MINE"}).hide
    run = replace(toy_run(Toy(benchmark=Reading(fails=fails)), store), target=Leaky(), hide=hide)
    made = await attempt(run, SKILL, run.splits["train"][0], PURPOSE)
    assert KEY not in repr(made) + repr(vars(store))
    assert (made.attempt.answer, made.attempt.outcome) == (HIDDEN, {HIDDEN: [HIDDEN]})
    if fails:
        assert "cannot log in with ***" in made.attempt.error
    else:
        assert made.score == Score(0.5, 0.5, "*** is wrong", (HIDDEN,), Private(HIDDEN))
        assert await attempt(run, SKILL, run.splits["train"][0], PURPOSE) == made


class Doors:
    """Tells the key at every turn."""

    async def opening(self) -> str:
        return f"At first {KEY}."

    async def use(self, call: ToolCall) -> ToolResult:
        return ToolResult(f"Used {KEY}.")

    async def hear(self, reply: str) -> Heard | None:
        return Heard(f"Heard {KEY}.") if reply == "one" else None

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        return {"left": KEY}


class Rooms(ToyBenchmark):
    def __init__(self) -> None:
        super().__init__({"train": 1, "selection": 1, "test": 1})

    def brief(self, task: Task) -> Brief:
        return replace(super().brief(task), max_turns=4, tools=(Tool("f", "Does.", {}),))

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[Doors]:
        yield Doors()

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        raise AssertionError

    async def score(self, task: Task, attempt: Attempt) -> Score:
        assert attempt.outcome == {"left": HIDDEN}
        return Score(1.0, 1.0)


async def test_what_an_episode_tells_a_model_is_hidden() -> None:
    call = ChatReply("", tool_calls=(ToolCall("1", "f", "{}"),))
    chat = ScriptedChat([call, "one", "two"])
    chat.offers = frozenset({"tools"})
    run = replace(toy_run(Toy(benchmark=Rooms(), target=chat)), hide=Secrets({KEY: "MINE"}).hide)
    made = await attempt(run, SKILL, run.splits["train"][0], PURPOSE)
    assert made.score == Score(1.0, 1.0)
    asked = repr(chat.requests)
    assert KEY not in asked
    for told in ("At first ***.", "Used ***.", "Heard ***."):
        assert told in asked
