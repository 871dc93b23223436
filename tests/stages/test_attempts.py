"""Attempting tasks: how many at once, through the journal, scored or broken."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from dataclasses import replace
from random import Random

import pytest
from scores import Table, Target, answer, by_skill, table_run

from skillopt_cli.core.errors import AuthFailed, QuotaExhausted
from skillopt_cli.core.events import (
    BatchScored,
    Degraded,
    RolloutFinished,
    StageFinished,
    StageStarted,
)
from skillopt_cli.core.score import Mark, Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import CUT_SHORT, Attempt, Brief, Message, Task, Usage
from skillopt_cli.ports import Executor
from skillopt_cli.stages import measure, rollout
from skillopt_cli.stages.attempts import Purpose, attempt_each, rollout_key
from skillopt_cli.stages.concurrency import first_cause
from skillopt_cli.stages.run import Run

SKILL = SkillDocument("skill\n")
WIN, LOSS = Mark(1.0, 1.0), Mark(0.2, 0.4)


def wins(skill: SkillDocument, task: str) -> Attempt:
    return answer(WIN)


class Barrier:
    """An agent whose attempts end only when exactly `expected` of them are in flight."""

    name = fingerprint = "barrier"
    offers: frozenset[str] = frozenset()

    def __init__(self, expected: int) -> None:
        self.expected, self.inside, self.most = expected, 0, 0
        self.full = asyncio.Event()

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        self.inside += 1
        self.most = max(self.most, self.inside)
        if self.inside == self.expected:
            self.full.set()
        await self.full.wait()
        await asyncio.sleep(0)  # one too many would begin now
        self.inside -= 1
        return answer(WIN)


@pytest.mark.parametrize("workers", [1, 3, 8])
async def test_exactly_as_many_attempts_are_in_flight_as_there_are_workers(workers: int) -> None:
    # Were fewer begun, the first would wait for ever; more would show in `most`.
    target = Barrier(workers)
    run, _, _ = table_run(Target(wins), (f"run.workers={workers}",), selection=20)
    async with asyncio.timeout(60):
        measured = await measure(replace(run, target=target), SKILL, "selection")
    assert measured.scored == 20
    assert target.most == workers


async def test_a_place_that_becomes_free_is_taken_at_once() -> None:
    """One slow attempt holds one place, and no more."""
    release = asyncio.Event()
    ended: list[str] = []

    class OneSlow(Barrier):
        async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
            if brief.task_id == "s0":
                await release.wait()
            else:
                ended.append(brief.task_id)
                if len(ended) == 9:
                    release.set()
            return answer(WIN)

    run, _, _ = table_run(Target(wins), ("run.workers=2",), selection=10)
    async with asyncio.timeout(60):
        await measure(replace(run, target=OneSlow(1)), SKILL, "selection")
    assert ended == [f"s{i}" for i in range(1, 10)]


async def test_no_more_workers_than_tasks_are_begun() -> None:
    target = Barrier(2)
    run, _, _ = table_run(Target(wins), ("run.workers=50",), selection=2)
    await measure(replace(run, target=target), SKILL, "selection")
    assert target.most == 2


async def test_trajectories_come_in_the_order_of_the_tasks() -> None:
    table = {f"t{i}": WIN if i % 2 else LOSS for i in range(6)}
    target = Target(by_skill({SKILL.text: table}), Random(1))
    run, store, log = table_run(target, train=6)
    tasks = run.splits["train"]
    trajectories = await rollout(run, SKILL, tasks, draw=7)
    assert [t.task for t in trajectories] == list(tasks)
    assert [t.score and t.score.hard for t in trajectories] == [0.2, 1.0] * 3
    (batch,) = log.of(BatchScored)
    assert (batch.failures, batch.scored, batch.n) == (3, 6, 6)
    assert [batch.hard, batch.soft] == pytest.approx([0.6, 0.7])
    rows = [json.loads(row) for row in store.files["rollout/results.jsonl"].splitlines()]
    assert [row["id"] for row in rows] == [task.id for task in tasks]
    stages = [e for e in log.events if isinstance(e, StageStarted | StageFinished)]
    assert [(e.stage, e.kind) for e in stages] == [
        ("rollout", "stage_started"),
        ("rollout", "stage_finished"),
    ]


async def test_broken_attempts_are_not_scored_not_remembered_and_tried_again() -> None:  # T1
    outcomes = [answer(Mark(None, None)), answer(WIN)]
    target = Target(lambda skill, task: outcomes.pop(0))
    run, store, log = table_run(target, selection=1)
    first = await measure(run, SKILL, "selection")
    assert (first.scored, first.coverage, first.hard) == (0, 0.0, None)
    second = await measure(run, SKILL, "selection")
    assert (second.scored, second.hard) == (1, 1.0)
    third = await measure(run, SKILL, "selection")
    assert third == second
    facts = log.of(RolloutFinished)
    assert [(f.ending, f.hard, f.recalled) for f in facts] == [
        ("broken", None, False),
        ("answered", 1.0, False),
        ("answered", 1.0, True),
    ]
    assert facts[0].error == "down"
    document = json.loads(store.files["selection/s0.json"])
    assert (document["ending"], document["hard"]) == ("answered", 1.0)


async def test_giving_up_is_wrong_and_a_failing_scorer_is_broken() -> None:
    class Odd(Table):
        async def score(self, task: Task, attempt: Attempt) -> Score:
            raise KeyError("missing column")

    outcomes = {"s0": Attempt("", ending="gave_up"), "s1": answer(WIN)}
    run, _, log = table_run(Target(lambda skill, task: outcomes[task]), selection=2)
    measured = await measure(replace(run, benchmark=Odd(selection=2)), SKILL, "selection")
    assert measured.marks["s0"] == Mark(0.0, 0.0)
    assert measured.marks["s1"] == Mark(None, None)
    errors = {f.task: f.error for f in log.of(RolloutFinished)}
    assert errors == {"s0": "", "s1": "the scorer of `table` failed: KeyError('missing column')"}


async def test_what_would_have_been_right_is_kept_of_an_attempt_without_an_answer() -> None:
    class Known(Table):
        def expected(self, task: Task) -> tuple[str, ...]:
            return (f"gold of {task.id}",)

    run, _, _ = table_run(Target(lambda skill, task: Attempt("", ending="gave_up")), train=1)
    known = replace(run, benchmark=Known(train=1))
    (made,) = await rollout(known, SKILL, run.splits["train"], draw=1)
    assert made.score == Score(0.0, 0.0, "no answer was given", (f"gold of {made.task.id}",))


async def test_what_the_journal_gives_back_equals_what_was_made() -> None:
    made = Attempt(
        "0.25 0.5",
        (Message("system", "s"), Message("user", "größer\u2028"), Message("assistant", "a")),
        Usage(1, 12, None),
    )
    target = Target(lambda skill, task: made)
    run, store, _ = table_run(target, train=3)
    tasks = run.splits["train"]
    first = await rollout(run, SKILL, tasks, draw=1)
    files = dict(store.files)
    second = await rollout(run, SKILL, tasks, draw=1)
    assert first == second == [Trajectory(t, made, Score(0.25, 0.5)) for t in tasks]
    assert store.files == files
    assert len(target.asked) == 3
    await rollout(run, SKILL, tasks, draw=2)
    assert len(target.asked) == 6


@pytest.mark.parametrize(
    "what", ["text", "task", "target", "benchmark", "version", "draw", "nothing"]
)
def test_a_rollout_is_known_by_all_that_decides_it(what: str) -> None:  # T2
    run, _, _ = table_run(Target(wins))
    task = run.splits["train"][0]

    def key(run: Run, text: str = "a\n", n: int = 0, draw: int = 0) -> str:
        return rollout_key(run, SkillDocument(text).sent, replace(task, data={"n": n}), draw)

    other = Target(wins)
    other.fingerprint = "another"
    bench = Table()
    setattr(bench, "name" if what == "benchmark" else "version", "x")
    changed = {
        "text": lambda: key(run, text="b\n"),
        "task": lambda: key(run, n=1),
        "target": lambda: key(replace(run, target=other)),
        "benchmark": lambda: key(replace(run, benchmark=bench)),
        "version": lambda: key(replace(run, benchmark=bench)),
        "draw": lambda: key(run, draw=1),
        # An empty protected region is not sent, so it makes no other rollout.
        "nothing": lambda: key(run, text="a\n\n<!-- APPENDIX_START -->\n<!-- APPENDIX_END -->\n"),
    }
    assert (changed[what]() == key(run)) == (what == "nothing")


async def test_a_fatal_error_stops_the_others_and_is_the_one_reported() -> None:
    class Dead(Barrier):
        cancelled = 0

        async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
            if brief.task_id == "s1":
                raise AuthFailed("who are you")
            try:
                await asyncio.Event().wait()
            finally:
                Dead.cancelled += 1
            raise AssertionError

    run, _, log = table_run(Target(wins), ("run.workers=3",), selection=9)
    with pytest.raises(AuthFailed):
        await measure(replace(run, target=Dead(1)), SKILL, "selection")
    # The third was not even begun.
    assert Dead.cancelled in (1, 2)
    assert log.of(StageFinished) == []


def test_of_concurrent_errors_a_bug_is_reported_first() -> None:
    quota, auth, bug = QuotaExhausted("q"), AuthFailed("a"), ZeroDivisionError()
    assert first_cause(ExceptionGroup("", [quota, auth])) is quota
    nested = ExceptionGroup("", [quota, ExceptionGroup("", [auth, bug])])
    assert first_cause(nested) is bug


async def test_no_further_task_is_begun_once_enough_is_known() -> None:
    target = Target(wins)
    run, store, _ = table_run(target, ("run.workers=2",), selection=10)
    seen: list[str] = []

    def take(trajectory: Trajectory) -> bool:
        seen.append(trajectory.task.id)
        return len(seen) < 3

    tasks = run.splits["selection"]
    await attempt_each(run, SKILL, tasks, Purpose("measure", "selection"), take)
    assert 3 <= len(seen) <= 4  # the one in flight still ends
    assert sorted(seen) == sorted(target.asked)
    rows = store.files["selection/results.jsonl"].splitlines()
    assert [json.loads(row)["id"] for row in rows] == sorted(seen)


async def test_memory_does_not_grow_with_the_number_of_tasks() -> None:
    """Beyond a row and a mark for each, nothing of an attempt is held."""
    long = Attempt("1.0 1.0", (Message("assistant", "x" * 20_000),))

    class Forgetful(Barrier):
        async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
            return replace(long, messages=(Message("assistant", brief.task_id * 5_000),))

    async def peak(n: int) -> int:
        run, store, _ = table_run(Target(wins), selection=n)
        store.keep = lambda path, text: None  # type: ignore[method-assign]
        store.remember = lambda key, trajectory: None  # type: ignore[method-assign]
        quiet = replace(run, target=Forgetful(1), emit=lambda event: None)
        gc.collect()
        tracemalloc.start()
        try:
            await measure(quiet, SKILL, "selection")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    await peak(10)
    few, many = await peak(50), await peak(500)
    assert (many - few) / 450 < 2_000  # an attempt itself takes 20,000


async def test_answers_cut_before_any_text_are_wrong_with_that_reason_and_counted_once() -> None:
    table = {f"s{i}": Attempt("", ending="gave_up", error=CUT_SHORT) for i in range(3)}
    table |= {"s3": Attempt("", ending="gave_up"), "s4": answer(WIN)}
    run, store, log = table_run(Target(lambda skill, task: table[task]), selection=5)
    measured = await measure(run, SKILL, "selection")
    assert (measured.scored, measured.hard) == (5, pytest.approx(0.2))
    assert json.loads(store.files["selection/s0.json"])["feedback"] == CUT_SHORT
    rows = [json.loads(row) for row in store.files["selection/results.jsonl"].splitlines()]
    assert [row["fail_reason"] for row in rows[2:4]] == [CUT_SHORT, "no answer was given"]
    (degraded,) = log.of(Degraded)
    assert (degraded.where, degraded.reason) == ("measure", f"3 of 5 attempts: {CUT_SHORT}")
