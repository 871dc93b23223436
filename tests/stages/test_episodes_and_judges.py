"""Benchmarks with episodes and with judges: broken is not wrong, and nothing is asked twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from skillopt_cli.benchmarks.kit.judges import Verdict, ask, read_verdict
from skillopt_cli.core.episode import Heard, ToolCall, ToolResult
from skillopt_cli.core.errors import AuthFailed, BackendUnusable, Indecisive, NetworkFailed
from skillopt_cli.core.events import CallMade, JudgedTwice, PreflightPassed, RolloutFinished
from skillopt_cli.core.score import Private, Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Message, Task
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import train_session
from skillopt_cli.ports import Executor, Interactive, Judged
from skillopt_cli.stages.attempts import Purpose, attempt
from skillopt_cli.stages.prompt_text import trajectory_text
from skillopt_cli.store.memory import MemoryStore
from skillopt_cli.testing import EventLog, ScriptedChat, Toy, ToyBenchmark, toy_run, toy_session

SIZES = {"train": 4, "selection": 2, "test": 2}
SKILL = SkillDocument("Read.\n")
PURPOSE = Purpose("rollout", "rollout")


class Doors:
    """Says "again" once; leaves behind what it heard. Fails where it is told to."""

    def __init__(self, fails: str) -> None:
        self.fails, self.heard = fails, []  # type: tuple[str, list[str]]

    async def use(self, call: ToolCall) -> ToolResult:
        raise AssertionError

    async def hear(self, reply: str) -> Heard | None:
        if self.fails == "hear":
            raise OSError("the engine is gone")
        self.heard.append(reply)
        return Heard("again") if len(self.heard) == 1 else None

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        if self.fails == "outcome":
            raise ValueError("no outcome")
        return {"heard": self.heard, "answer": answer}


class Rooms(ToyBenchmark):
    """The toy tasks, each asked twice; scored by what was left behind."""

    def __init__(self, fails: str = "") -> None:
        super().__init__(SIZES)
        self.fails, self.open = fails, 0

    def brief(self, task: Task) -> Any:
        from dataclasses import replace

        return replace(super().brief(task), max_turns=3)

    @asynccontextmanager
    async def episode(self, task: Task, executor: Executor) -> AsyncIterator[Doors]:
        if self.fails == "open":
            raise RuntimeError("no room")
        self.open += 1
        yield Doors(self.fails)
        self.open -= 1

    async def prove(self, task: Task, executor: Executor) -> Attempt:
        return Attempt(task.data["answers"][0])

    async def score(self, task: Task, attempt: Attempt) -> Score:
        heard = attempt.outcome["heard"]
        return Score(1.0, 1.0) if heard == ["one", "two"] else Score(0.0, 0.0, f"heard {heard}")


async def roll(toy: Toy, store: MemoryStore | None = None) -> tuple[Trajectory, EventLog]:
    log = EventLog()
    run = toy_run(toy, store, [Subscriber("log", log)])
    return await attempt(run, SKILL, run.splits["train"][0], PURPOSE), log


async def test_an_episode_is_played_scored_and_closed() -> None:
    rooms = Rooms()
    assert isinstance(rooms, Interactive)
    made, _ = await roll(Toy(benchmark=rooms, target=ScriptedChat(["one", "two"])))
    assert made.attempt.outcome == {"heard": ["one", "two"], "answer": "two"}
    assert made.score == Score(1.0, 1.0)
    assert rooms.open == 0


async def test_a_journaled_episode_equals_the_original() -> None:
    store = MemoryStore()
    toy = Toy(benchmark=Rooms(), target=ScriptedChat(["one", "two"]))
    first, _ = await roll(toy, store)
    again, log = await roll(toy, store)
    assert again == first
    assert log.of(RolloutFinished)[-1].recalled


async def test_an_episode_taken_up_in_its_middle_repeats_no_call() -> None:
    store = MemoryStore()
    settings = ("model.retry.max_attempts=1",)
    broken, _ = await roll(
        Toy(settings, ScriptedChat(["one", NetworkFailed("down")]), benchmark=Rooms()), store
    )
    assert broken.score is None
    chat = ScriptedChat(["two"])
    made, _ = await roll(Toy(settings, chat, benchmark=Rooms()), store)
    assert [request.turn for request in chat.requests] == [1]
    assert made.score == Score(1.0, 1.0)


class Lit(Doors):
    """Shows something from the start, or fails to."""

    async def opening(self) -> str:
        if self.fails == "opening":
            raise OSError("it is dark")
        return "It is bright."


async def test_an_episodes_opening_is_seen_and_its_failure_is_ours() -> None:
    class Lamps(Rooms):
        @asynccontextmanager
        async def episode(self, task: Task, executor: Executor) -> AsyncIterator[Doors]:
            yield Lit(self.fails)

    made, _ = await roll(Toy(benchmark=Lamps(), target=ScriptedChat(["one", "two"])))
    assert made.attempt.messages[1].content.endswith("\n\nIt is bright.")
    made, _ = await roll(Toy(benchmark=Lamps("opening"), target=ScriptedChat([])))
    assert made.attempt.ending == "broken"
    assert "it is dark" in made.attempt.error


@pytest.mark.parametrize("where", ["open", "hear", "outcome"])
async def test_surroundings_that_fail_break_the_attempt(where: str) -> None:
    rooms = Rooms(where)
    made, _ = await roll(Toy(benchmark=rooms, target=ScriptedChat(["one", "two"])))
    assert made.score is None
    assert made.attempt.ending == "broken"
    assert "its surroundings failed" in made.attempt.error


class Court(ToyBenchmark):
    """The toy tasks, where a judge says what is right."""

    def __init__(self) -> None:
        super().__init__(SIZES)

    async def score(self, task: Task, attempt: Attempt) -> Score:
        raise AssertionError("a judged benchmark is not asked")

    def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
        if attempt.answer == "nonsense":
            return Score(0.0, 0.0, "that says nothing")
        question, (reference, *_) = task.data["question"], task.data["answers"]
        verdicts: tuple[Verdict, ...] = ("correct", "incorrect")
        return ask("You compare answers.", question, reference, attempt.answer, verdicts)

    def hear_judge(self, task: Task, attempt: Attempt, reply: str) -> Score | None:
        verdict = read_verdict(reply, ("correct", "incorrect"))
        if verdict is None:
            return None
        hard = float(verdict == "correct")
        return Score(hard, hard, "" if hard else "not right", private=Private(reply))


def court(judge: ScriptedChat, *more: str, answer: str = "It is so.") -> Toy:
    settings = ("evaluation.judge_twice=0", "model.retry.max_attempts=1", *more)
    return Toy(settings, ScriptedChat([answer]), judge=judge, benchmark=Court())


async def test_the_judge_is_asked_and_its_words_stay_private() -> None:
    assert isinstance(Court(), Judged)
    judge = ScriptedChat(["INCORRECT"])
    toy = court(judge)
    made, log = await roll(toy)
    assert made.score == Score(0.0, 0.0, "not right", private=Private("INCORRECT"))
    assert "INCORRECT" not in trajectory_text(toy.benchmark, made, 1)
    (call,) = [e for e in log.of(CallMade) if e.role == "judge"]
    assert call.stage == "judge"
    assert judge.requests[0].messages[1].content.endswith("## Answer to judge\n> It is so.")
    assert judge.requests[0].shared == 0


async def test_a_clear_case_needs_no_judge() -> None:
    judge = ScriptedChat([])
    made, _ = await roll(court(judge, answer="nonsense"))
    assert made.score == Score(0.0, 0.0, "that says nothing")
    assert judge.requests == []


async def test_an_unreadable_verdict_is_asked_for_once_more_and_then_broken() -> None:
    judge = ScriptedChat(["Well, yes and no.", "CORRECT"])
    made, _ = await roll(court(judge))
    assert made.score is not None
    assert made.score.hard == 1.0
    assert [m.role for m in judge.requests[1].messages][2:] == ["assistant", "user"]
    made, _ = await roll(court(ScriptedChat(["Well.", "Hm."])))
    assert made.score is None
    assert 'the judge gave no verdict: its reply could not be read: "Hm."' in made.attempt.error


async def test_a_judge_that_is_down_breaks_the_attempt_and_one_without_a_key_the_run() -> None:
    made, _ = await roll(court(ScriptedChat([NetworkFailed("down")])))
    assert made.score is None
    with pytest.raises(AuthFailed):
        await roll(court(ScriptedChat([AuthFailed("no")])))


@pytest.mark.parametrize(("second", "agree"), [("CORRECT", True), ("INCORRECT", False)])
async def test_a_second_verdict_tells_how_steady_the_judge_is(second: str, agree: bool) -> None:
    judge = ScriptedChat(["CORRECT", second])
    made, log = await roll(court(judge, "evaluation.judge_twice=1"))
    assert made.score is not None
    assert made.score.hard == 1.0
    assert [fact.agree for fact in log.of(JudgedTwice)] == [agree]
    assert [request.draw for request in judge.requests] == [0, 1]


async def test_a_run_with_a_judge_trains_on_the_simulated_models() -> None:
    log = EventLog()
    session = toy_session(Toy(benchmark=Court()), None, [Subscriber("log", log)])
    assert await train_session(session) == 0
    assert {e.role for e in log.of(CallMade)} == {"target", "optimizer", "judge"}
    assert all(e.ending != "broken" for e in log.of(RolloutFinished))


async def test_a_resume_asks_again_for_a_verdict_that_could_not_be_read() -> None:
    store = MemoryStore()
    broken, _ = await roll(court(ScriptedChat(["Well.", "Hm."])), store)
    assert broken.score is None
    judge = ScriptedChat(["CORRECT"])
    made, _ = await roll(court(judge), store)
    assert made.score is not None
    assert made.score.hard == 1.0
    assert [request.turn for request in judge.requests] == [2]


def checked(judge: ScriptedChat, *, benchmark: ToyBenchmark | None = None) -> tuple[Any, EventLog]:
    """A session with a judge for all there is to judge, and what it will state."""
    log = EventLog()
    settings = ("model.retry.max_attempts=1", "evaluation.judge_twice=0")
    toy = Toy(settings, judge=judge, benchmark=benchmark or Court())
    return toy_session(toy, None, [Subscriber("log", log)]), log


async def test_a_judge_whose_verdict_cannot_be_read_stops_the_run_before_any_attempt() -> None:
    judge = ScriptedChat(["ok", "Yes, that is fine."])
    session, log = checked(judge)
    with pytest.raises(BackendUnusable, match="judge model gives no verdict: its reply could") as e:
        await train_session(session)
    assert e.value.exit_code == 4
    assert "model.judge.name" in e.value.hint
    assert {request.stage for request in judge.requests} == {"preflight"}
    assert log.of(RolloutFinished) == []


async def test_a_judge_that_is_understood_the_second_time_passes_the_check() -> None:
    script = ["ok", "INCORRECT", AuthFailed("enough")]
    session, log = checked(ScriptedChat(script))
    with pytest.raises(AuthFailed):
        await train_session(session)
    assert {fact.role for fact in log.of(PreflightPassed)} == {"target", "optimizer", "judge"}


async def test_a_judge_is_greeted_where_no_case_can_be_made_up() -> None:
    class Particular(Court):
        def ask_judge(self, task: Task, attempt: Attempt) -> tuple[Message, ...] | Score:
            attempt.outcome["door"]
            raise AssertionError

    session, log = checked(ScriptedChat(["ok"]), benchmark=Particular())
    with pytest.raises(Indecisive):
        await train_session(session)
    assert len(log.of(PreflightPassed)) == 3
