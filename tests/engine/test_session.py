"""How sessions end: exit codes, reasons, and observers that cannot harm a run."""

from __future__ import annotations

import asyncio
import json

import pytest

from skillopt_cli.core.errors import (
    AuthFailed,
    BackendUnusable,
    Indecisive,
    OptimizerUnusable,
    RateLimited,
    RequestRefused,
    ServerFailed,
)
from skillopt_cli.core.events import (
    BaselineMeasured,
    CallMade,
    CheckpointSaved,
    GateDecided,
    PreflightPassed,
    RolloutFinished,
    RunFailed,
    RunFinished,
    RunStarted,
    Stamped,
    StepSkipped,
    StepStarted,
    StoppedEarly,
    SubscriberDropped,
    TestMeasured,
    VerdictReached,
)
from skillopt_cli.core.score import Score
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, ChatRequest, Split, Task
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import Session, evaluate_session, train_session
from skillopt_cli.ports import ChatBackend
from skillopt_cli.testing import (
    EventLog,
    FunctionChat,
    MemoryStore,
    Toy,
    ToyBenchmark,
    toy_session,
)

SIZES: dict[Split, int] = {"train": 4, "selection": 4, "test": 2}
SHORT = ("train.batch_size=2", "model.retry.max_attempts=1")
APPEND = json.dumps({"edits": [{"op": "append", "content": "- advice", "support": 1}]})


class Marked(ToyBenchmark):
    """Every answer is worth `worth`."""

    worth = 0.0

    async def score(self, task: Task, attempt: Attempt) -> Score:
        return Score(self.worth, self.worth, "as it is", ())


class Perfect(Marked):
    worth = 1.0


class Ended:
    """A session, and the facts it left."""

    def __init__(
        self,
        *settings: str,
        target: ChatBackend | None = None,
        optimizer: ChatBackend | None = None,
        benchmark: ToyBenchmark | None = None,
    ) -> None:
        self.log, self.store = EventLog(), MemoryStore()
        toy = Toy(
            (*SHORT, *settings),
            target,
            optimizer,
            benchmark or ToyBenchmark(SIZES),
        )
        self.session = toy_session(toy, self.store, [Subscriber("log", self.log)])

    async def train(self) -> int:
        return await train_session(self.session)

    async def fails(self, error: type[Exception]) -> RunFailed:
        with pytest.raises(error) as caught:
            await self.train()
        (stated,) = self.log.of(RunFailed)
        assert self.log.events[-1] is stated
        assert stated.error == error.__name__
        assert stated.exit_code == caught.value.exit_code  # type: ignore[attr-defined]
        assert stated.resumable
        return stated


def proposer(request: ChatRequest) -> str:
    """An optimizer that always has the same advice, numbered by nothing."""
    if request.stage == "preflight":
        return "ok"
    return APPEND


def fresh_advice() -> FunctionChat:
    """An optimizer that proposes another line at every step."""
    made: list[str] = []

    def function(request: ChatRequest) -> str:
        if request.stage == "preflight":
            return "ok"
        if request.schema_name.startswith("analyst"):
            made.append("x")
            edit = {"op": "append", "content": f"- advice {len(made)}", "support": 1}
            return json.dumps({"edits": [edit]})
        return APPEND

    return FunctionChat(function)


def wrong() -> FunctionChat:
    return FunctionChat(lambda request: "<answer>wrong</answer>")


async def test_a_run_that_ends_says_so_and_tests_three_skills() -> None:
    ended = Ended()
    assert await ended.train() == 0
    assert isinstance(ended.log.events[0], RunStarted)
    assert ended.log.of(PreflightPassed) == [
        PreflightPassed("optimizer", "simulated"),
        PreflightPassed("target", "simulated"),
    ]
    assert [fact.label for fact in ended.log.of(TestMeasured)] == ["seed", "best", "final"]
    assert ended.log.of(RunFinished) == [ended.log.events[-1]]
    assert ended.store.log == ended.log.facts


async def test_equal_texts_are_tested_once_and_an_empty_skill_on_request() -> None:
    ended = Ended("evaluation.eval_no_skill=true", optimizer=FunctionChat(proposer), target=wrong())
    await ended.train()
    facts = ended.log.of(TestMeasured)
    assert [fact.label for fact in facts] == ["seed", "best", "final", "no_skill"]
    tried = [f for f in ended.log.of(RolloutFinished) if f.stage == "test"]
    assert [f.label for f in tried] == ["seed", "seed", "no_skill", "no_skill"]


async def test_the_test_can_be_left_out() -> None:
    ended = Ended("evaluation.eval_test=false")
    await ended.train()
    assert ended.log.of(TestMeasured) == []


async def test_a_baseline_without_coverage_is_indecisive_before_step_one() -> None:
    def dead(request: ChatRequest) -> str:
        if request.stage == "preflight":
            return "ok"
        raise ServerFailed("down")

    stated = await Ended(target=FunctionChat(dead)).fails(Indecisive)
    assert stated.exit_code == 6
    assert "only 0 of 4" in stated.message
    ended = Ended(target=FunctionChat(dead))
    with pytest.raises(Indecisive):
        await ended.train()
    assert ended.log.of(StepStarted) == []
    assert ended.store.load_state() is None


async def test_all_gates_indecisive_is_exit_code_six() -> None:
    def shy(request: ChatRequest) -> str:
        if "- advice" in request.messages[0].content:
            raise RateLimited("slow down")
        return "<answer>wrong</answer>"

    ended = Ended(target=FunctionChat(shy), optimizer=fresh_advice())
    assert await ended.train() == 6
    verdicts = {fact.decision.verdict for fact in ended.log.of(GateDecided)}
    assert verdicts == {"indecisive"}
    assert ended.log.of(RunFinished)[0].exit_code == 6
    assert ended.log.of(RunFinished)[0].best_step == 0


async def test_one_decided_gate_is_enough() -> None:
    shy_for = iter([True] * 4)

    def function(request: ChatRequest) -> str:
        if "- advice" in request.messages[0].content and next(shy_for, False):
            raise RateLimited("slow down")
        return "<answer>wrong</answer>"

    ended = Ended("run.workers=1", target=FunctionChat(function), optimizer=fresh_advice())
    assert await ended.train() == 0
    verdicts = [fact.decision.verdict for fact in ended.log.of(GateDecided)]
    assert verdicts[0] == "indecisive"
    assert set(verdicts[1:]) == {"reject"}


@pytest.mark.parametrize(("wanted", "code"), [("false", 0), ("true", 10)])
async def test_no_improvement_is_an_error_only_on_request(wanted: str, code: int) -> None:
    ended = Ended(
        f"run.require_improvement={wanted}", target=wrong(), optimizer=FunctionChat(proposer)
    )
    assert await ended.train() == code
    assert ended.log.of(RunFinished)[0].exit_code == code


class Word(ToyBenchmark):
    async def score(self, task: Task, attempt: Attempt) -> Score:
        right = float(attempt.answer == "right")
        return Score(right, right, "so", ())


@pytest.mark.parametrize(("guided", "code"), [("wrong", 10), ("", 10), ("right", 0)])
async def test_guidance_is_an_improvement_if_it_scores_better(guided: str, code: int) -> None:
    """No candidate is accepted, and guidance is in the best text only if it measures better."""

    def target(request: ChatRequest) -> str:
        first, last = request.messages[0].content, request.messages[-1].content
        usual = "right" if len(last) % 2 else "wrong"
        return (guided or usual) if "GUIDE" in first else usual

    def optimizer(request: ChatRequest) -> str:
        if request.stage == "slow_update":
            return json.dumps({"slow_update_content": "GUIDE"})
        return proposer(request)

    ended = Ended(
        "run.require_improvement=true",
        target=FunctionChat(target),
        optimizer=FunctionChat(optimizer),
        benchmark=Word(SIZES),
    )
    assert await ended.train() == code
    finished = ended.log.of(RunFinished)[0]
    assert finished.exit_code == code
    assert (finished.best_step, finished.best_epoch) == ((0, 0) if code else (4, 2))


async def test_an_improvement_satisfies_the_request() -> None:
    target = FunctionChat(lambda r: "right" if "- advice" in r.messages[0].content else "wrong")
    ended = Ended(
        "run.require_improvement=true",
        target=target,
        optimizer=FunctionChat(proposer),
        benchmark=Word(SIZES),
    )
    assert await ended.train() == 0
    assert ended.log.of(RunFinished)[0].best_step == 1
    assert "every" in ended.log.of(StoppedEarly)[0].reason


@pytest.mark.parametrize(
    "untried",
    [
        {"op": "replace", "target": "not there", "content": "- untried"},
        {"op": "transmogrify", "content": "- untried"},
        {"op": "append", "content": "<!-- APPENDIX_END --> untried"},
    ],
)
async def test_later_steps_are_not_told_that_an_untried_edit_was_rejected(
    untried: dict[str, str],
) -> None:
    """Only what stood in the candidate was measured, so only that was rejected."""
    edits = [{"op": "append", "content": "- tried"}, untried]
    optimizer = FunctionChat(
        lambda r: "ok" if r.stage == "preflight" else json.dumps({"edits": edits})
    )
    ended = Ended("train.num_epochs=1", target=wrong(), optimizer=optimizer)
    assert await ended.train() == 0
    assert ended.log.of(GateDecided)[0].decision.verdict == "reject"
    asked = optimizer.requests[-1].messages[1].content
    told = asked.split("These edits were rejected")[1].split("## Trajectory")[0]
    assert "- tried" in told
    assert "untried" not in told


@pytest.mark.parametrize("answer", ["I would rather not.", '{"edits": "none"}', ""])
async def test_an_epoch_without_a_usable_answer_ends_the_run(answer: str) -> None:
    silent = FunctionChat(lambda request: "ok" if request.stage == "preflight" else answer)
    ended = Ended(target=wrong(), optimizer=silent)
    stated = await ended.fails(OptimizerUnusable)
    assert stated.exit_code == 4
    assert "no usable answer to 2 requests" in stated.message
    # The step that closes the epoch is not recorded, so a resume comes back to it.
    assert [fact.done for fact in ended.log.of(CheckpointSaved)] == [0, 1]
    assert any(path.startswith("steps/step_0001/parse_errors/") for path in ended.store.files)


async def test_one_usable_answer_in_an_epoch_is_enough() -> None:
    said = iter(["nonsense", "nonsense"])
    chat = FunctionChat(
        lambda request: "ok" if request.stage == "preflight" else next(said, '{"edits": []}')
    )
    ended = Ended(target=wrong(), optimizer=chat)
    assert await ended.train() == 0
    assert len(ended.log.of(StepSkipped)) == 4


@pytest.mark.parametrize("role", ["target", "optimizer"])
async def test_a_refused_key_ends_the_run_before_any_rollout(role: str) -> None:
    def refuse(request: ChatRequest) -> str:
        raise AuthFailed("the key was refused", "check it")

    deaf = FunctionChat(refuse)
    ended = Ended(target=deaf) if role == "target" else Ended(optimizer=deaf)
    stated = await ended.fails(AuthFailed)
    assert (stated.exit_code, stated.message, stated.hint) == (4, "the key was refused", "check it")
    assert ended.log.of(RolloutFinished) == []
    assert "." not in stated.message[-1]


@pytest.mark.parametrize("error", [RateLimited("busy"), RequestRefused("too long")])
async def test_a_model_that_does_not_answer_one_line_is_unusable(error: Exception) -> None:
    def fail(request: ChatRequest) -> str:
        raise error

    stated = await Ended(target=FunctionChat(fail)).fails(BackendUnusable)
    assert stated.message.startswith("the target model ")
    assert str(error) in stated.message


async def test_a_key_that_expires_in_the_middle_ends_the_run_at_its_last_checkpoint() -> None:
    calls = iter(range(9))

    def expire(request: ChatRequest) -> str:
        if next(calls, None) is None:
            raise AuthFailed("expired")
        return "<answer>wrong</answer>"

    ended = Ended(target=FunctionChat(expire), optimizer=FunctionChat(proposer))
    await ended.fails(AuthFailed)
    state = ended.store.load_state()
    assert state is not None
    assert state.done == 0


async def test_patience_counts_steps_without_an_accept() -> None:
    ended = Ended(
        "evaluation.patience=3", "train.num_epochs=5", target=wrong(), optimizer=fresh_advice()
    )
    assert await ended.train() == 0
    assert len(ended.log.of(StepStarted)) == 3
    assert ended.log.of(StoppedEarly) == [
        StoppedEarly("3 steps without an accepted candidate (patience 3)")
    ]
    assert [fact.label for fact in ended.log.of(TestMeasured)] == ["seed", "best", "final"]


async def test_a_perfect_baseline_stops_before_step_one() -> None:
    ended = Ended(benchmark=Perfect(SIZES))
    assert await ended.train() == 0
    assert ended.log.of(StepStarted) == []
    assert ended.log.of(BaselineMeasured)[0].value == 1.0
    assert len(ended.log.of(StoppedEarly)) == 1
    assert isinstance(ended.log.events[-1], RunFinished)
    assert [fact.label for fact in ended.log.of(TestMeasured)] == ["seed", "best", "final"]
    optimizer = [f for f in ended.log.of(CallMade) if f.role == "optimizer"]
    assert [f.stage for f in optimizer] == ["preflight"]


async def test_without_a_gate_every_candidate_is_taken_with_its_own_score() -> None:
    ended = Ended("evaluation.use_gate=false", target=wrong(), optimizer=fresh_advice())
    await ended.train()
    decided = ended.log.of(GateDecided)
    assert {fact.decision.verdict for fact in decided} == {"force_accept"}
    assert [fact.hard for fact in decided] == [0.0] * len(decided)
    state = ended.store.load_state()
    assert state is not None
    assert state.current_step == decided[-1].step
    assert state.current.skill.text.count("- advice") == len(decided)


@pytest.mark.parametrize(("accumulation", "steps", "tasks"), [(1, 4, 2), (2, 2, 4), (3, 2, 4)])
async def test_accumulated_batches_make_one_step(accumulation: int, steps: int, tasks: int) -> None:
    ended = Ended(
        f"train.accumulation={accumulation}", target=wrong(), optimizer=FunctionChat(proposer)
    )
    await ended.train()
    assert len(ended.log.of(StepStarted)) == steps
    first = [f for f in ended.log.of(RolloutFinished) if f.stage == "rollout" and f.step == 1]
    assert len(first) == tasks


async def test_failure_only_never_asks_about_successes() -> None:
    def half(request: ChatRequest) -> str:
        return "<answer>wrong</answer>"

    class Half(ToyBenchmark):
        async def score(self, task: Task, attempt: Attempt) -> Score:
            won = int(task.digest, 16) % 2
            return Score(won, won, "so", ())

    for setting, kinds in (
        ("gradient.failure_only=true", {"analyst_error"}),
        ("gradient.failure_only=false", {"analyst_error", "analyst_success"}),
    ):
        chat = FunctionChat(lambda request: "ok" if request.schema is None else '{"edits": []}')
        ended = Ended(setting, target=FunctionChat(half), optimizer=chat, benchmark=Half(SIZES))
        await ended.train()
        asked = {r.schema_name for r in chat.requests if r.schema_name.startswith("analyst")}
        assert asked == kinds


async def test_an_observer_that_fails_is_dropped_and_the_run_goes_on() -> None:
    heard: list[Stamped] = []

    def fragile(fact: Stamped) -> None:
        heard.append(fact)
        if len(heard) == 5:
            raise OSError("the terminal went away")

    log, store = EventLog(), MemoryStore()
    observers = [Subscriber("screen", fragile), Subscriber("log", log)]
    toy = Toy(SHORT, benchmark=ToyBenchmark(SIZES))
    assert await train_session(toy_session(toy, store, observers)) == 0
    assert len(heard) == 5
    assert log.of(SubscriberDropped) == [
        SubscriberDropped("screen", "OSError: the terminal went away")
    ]
    assert store.log == sorted(log.facts, key=lambda fact: fact.number)


async def test_a_store_that_fails_ends_the_run() -> None:
    class Full(MemoryStore):
        def remember_call(self, key: str, reply: object) -> None:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await train_session(toy_session(Toy(SHORT), Full()))


async def test_a_bug_is_stated_and_passed_on() -> None:
    def bug(request: ChatRequest) -> str:
        return "ok" if request.stage == "preflight" else str(vars()["missing"])

    ended = Ended(target=FunctionChat(bug))
    with pytest.raises(KeyError):
        await ended.train()
    assert ended.log.of(RunFailed) == [RunFailed("KeyError", "internal error", "", 1, True)]


async def test_a_cancelled_run_is_interrupted_and_resumable() -> None:
    reached = asyncio.Event()

    class Slow(FunctionChat):
        async def chat(self, request: ChatRequest):  # type: ignore[no-untyped-def]
            if request.stage != "preflight":
                reached.set()
                await asyncio.Event().wait()
            return await super().chat(request)

    ended = Ended(target=Slow(lambda request: "ok"))
    task = asyncio.create_task(ended.train())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.log.of(RunFailed) == [
        RunFailed("Interrupted", "stopped by the user", "", 130, True)
    ]


async def test_two_runs_at_once_in_one_process_do_not_meet() -> None:
    plans = [
        ("train.batch_size=2", "train.seed=1"),
        ("train.batch_size=3", "train.seed=2", "evaluation.gate_metric=soft"),
    ]
    benchmarks = [ToyBenchmark({"train": 6, "selection": 5, "test": 3}, seed) for seed in (4, 7)]

    def sessions() -> list[tuple[EventLog, MemoryStore, Session]]:
        made: list[tuple[EventLog, MemoryStore, Session]] = []
        for settings, benchmark in zip(plans, benchmarks, strict=True):
            log, store = EventLog(), MemoryStore()
            toy = Toy(settings, benchmark=benchmark)
            made.append((log, store, toy_session(toy, store, [Subscriber("log", log)])))
        return made

    alone, together = sessions(), sessions()
    for _, _, session in alone:
        await train_session(session)
    async with asyncio.TaskGroup() as group:
        for _, _, session in together:
            group.create_task(train_session(session))
    for (_, kept, _), (log, store, _) in zip(alone, together, strict=True):
        assert store.states == kept.states
        assert store.files == kept.files
        assert [fact.number for fact in log.facts] == list(range(1, len(log.facts) + 1))
        assert sorted(map(str, log.events)) == sorted(str(fact.event) for fact in kept.log)
    assert together[0][1].states[-1] != together[1][1].states[-1]


async def test_an_evaluation_measures_one_skill_and_asks_no_optimizer() -> None:
    ended = Ended(optimizer=FunctionChat(lambda request: "ok"))
    measured = await evaluate_session(ended.session, "test")
    assert measured.skill == SkillDocument(ToyBenchmark.seed_skill)
    assert (measured.n, measured.coverage) == (2, 1.0)
    assert [fact.label for fact in ended.log.of(TestMeasured)] == ["eval"]
    assert {f.stage for f in ended.log.of(CallMade) if f.role == "optimizer"} == {"preflight"}
    assert isinstance(ended.log.events[-1], RunFinished)


async def test_an_evaluation_without_coverage_is_indecisive() -> None:
    def dead(request: ChatRequest) -> str:
        if request.stage == "preflight":
            return "ok"
        raise ServerFailed("down")

    ended = Ended(target=FunctionChat(dead))
    with pytest.raises(Indecisive, match="only 0 of 4 attempts"):
        await evaluate_session(ended.session, "selection")
    assert ended.log.of(RunFailed)[0].exit_code == 6


async def test_a_verdict_rests_on_the_test_split_or_on_tasks_that_no_step_used() -> None:
    sizes: dict[Split, int] = {"train": 4, "selection": 8, "test": 3}
    for settings, split, asked in (
        ((), "test", 3),
        (("evaluation.confirm_fraction=0.5", "evaluation.eval_test=false"), "confirmation", 4),
    ):
        log = EventLog()
        toy = Toy((*SHORT, *settings), benchmark=ToyBenchmark(sizes))
        session = toy_session(toy, observers=(Subscriber("log", log),))
        await train_session(session)
        (reached,) = log.of(VerdictReached)
        assert (reached.verdict.split, reached.verdict.asked) == (split, asked)
        kept = {task.id for task in session.run.confirmation}
        steps = {r.task for r in log.of(RolloutFinished) if r.stage != "test"}
        assert not kept & steps
        assert len(kept) == (4 if split == "confirmation" else 0)


async def test_without_any_such_tasks_there_is_no_verdict() -> None:
    log = EventLog()
    toy = Toy((*SHORT, "evaluation.eval_test=false"), benchmark=ToyBenchmark(SIZES))
    await train_session(toy_session(toy, observers=(Subscriber("log", log),)))
    assert log.of(VerdictReached) == []


async def test_an_unchanged_skill_is_no_improvement_and_is_not_tested() -> None:
    log = EventLog()
    toy = Toy((*SHORT, "evaluation.confirm_fraction=0.5"), benchmark=Marked(SIZES))
    await train_session(toy_session(toy, observers=(Subscriber("log", log),)))
    (reached,) = log.of(VerdictReached)
    assert (reached.verdict.word, reached.verdict.identical) == ("unproven", True)
    assert not any("confirmation" in r.label for r in log.of(RolloutFinished))
