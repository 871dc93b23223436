"""Reflect: which trajectories an analyst sees together, and what it is shown of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

import pytest
from scores import Target, by_skill, table_run

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.errors import RateLimited
from skillopt_cli.core.events import Degraded, PatchesProposed
from skillopt_cli.core.minibatches import MinibatchSorter
from skillopt_cli.core.score import BROKEN, Mark, Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.core.task import Attempt, ChatRequest, Task
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.stages import Run, reflect, rollout
from skillopt_cli.stages.reflect import minibatches
from skillopt_cli.testing import EventLog, FunctionChat, MemoryStore, Toy, toy_run

SKILL = SkillDocument("# Skill\n\n- a rule\n")
NOTHING = '{"edits": []}'


def trajectory(name: str, hard: float | None, answer: str = "said") -> Trajectory:
    task = Task(name, "year", {"question": f"What of {name}?", "context": "C", "answers": ["1912"]})
    if hard is None:
        return Trajectory(task, Attempt("secret", ending="broken", error="rate limit"), None)
    return Trajectory(task, Attempt(answer), Score(hard, hard, "feedback " + name, ("1912",)))


MIXED = [
    trajectory("a", 1.0),
    trajectory("b", 0.0),
    trajectory("c", 0.2),  # T17: a weak result is a failure
    trajectory("d", None),  # T1: a broken one is neither
    trajectory("e", 0.999),
    trajectory("f", 1.0),
    trajectory("g", 0.0),
]


def names(run: Run, given: list[Trajectory]) -> list[tuple[str, list[str]]]:
    return [(b.name, [t.task.id for t in b.trajectories]) for b in minibatches(run, given)]


def test_failures_and_successes_are_cut_apart_in_the_steps_order() -> None:
    run = toy_run(Toy(("gradient.minibatch_size=3",)))
    assert names(run, MIXED) == [
        ("minibatch_fail_000", ["b", "c", "e"]),
        ("minibatch_fail_001", ["g"]),
        ("minibatch_succ_000", ["a", "f"]),
    ]
    assert names(run, [trajectory("d", None)]) == []


def test_successes_may_be_left_out() -> None:
    run = toy_run(Toy(("gradient.minibatch_size=9", "gradient.failure_only=true")))
    assert names(run, MIXED) == [("minibatch_fail_000", ["b", "c", "e", "g"])]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_minibatch_is_full_with_the_trajectory_that_fills_it(size: int) -> None:
    run = toy_run(Toy((f"gradient.minibatch_size={size}",)))
    sorter = MinibatchSorter(size, ["failure", "success"])
    filled = []
    for count, given in enumerate(MIXED, 1):
        if made := sorter.take(given):
            assert made.trajectories[-1] is given
            # Later trajectories do not alter it.
            assert made in minibatches(run, MIXED[:count])
            filled.append(made)
    assert {b.name for b in (*filled, *sorter.rest)} == {b.name for b in minibatches(run, MIXED)}
    assert all(len(b.trajectories) == size for b in filled)
    assert all(0 < len(b.trajectories) < size for b in sorter.rest)


class Analyst:
    def __init__(self, answer: str = NOTHING) -> None:
        self.seen: list[ChatRequest] = []
        self.answer = answer

    def __call__(self, request: ChatRequest) -> str:
        self.seen.append(request)
        return self.answer

    def text(self, kind: str = "analyst_error") -> str:
        (found,) = [r for r in self.seen if r.schema_name == kind]
        return found.messages[1].content


def analysed(analyst: Analyst, *settings: str) -> tuple[Run, MemoryStore, EventLog]:
    store, log = MemoryStore(), EventLog()
    toy = Toy(("gradient.minibatch_size=9", *settings), optimizer=FunctionChat(analyst))
    run = toy_run(toy, store, [Subscriber("log", log)])
    return run.at(run.plan.step(1)), store, log


async def test_an_analyst_reads_skill_task_answer_score_feedback_and_reference() -> None:
    analyst = Analyst()
    run, _, _ = analysed(analyst)
    await reflect(run, SKILL, MIXED, ())
    text = analyst.text()
    for part in (
        "## Current skill\n# Skill\n\n- a rule",
        "## Trajectory 1: task `b` (year)",
        "### Question\nWhat of b?",
        "### Answer\nsaid",
        "### Score\nhard 0.2, soft 0.200",
        "### Feedback\nfeedback c",
        "### Expected\n1912",
    ):
        assert part in text
    assert "task `a`" not in text
    assert "task `a`" in analyst.text("analyst_success")


async def test_broken_attempts_are_never_shown() -> None:  # T1
    analyst = Analyst()
    run, _, log = analysed(analyst)
    await reflect(run, SKILL, MIXED, ())
    shown = "\n".join(m.content for request in analyst.seen for m in request.messages)
    assert "secret" not in shown
    assert "What of d?" not in shown
    analyst.seen.clear()
    reflection = await reflect(run, SKILL, [trajectory("d", None)], ())
    assert (reflection.asked, reflection.patches, analyst.seen) == (0, (), [])
    assert log.of(PatchesProposed)[-1] == PatchesProposed(1, 0, 0, 0, 0)


async def test_an_empty_answer_is_shown_as_such() -> None:
    analyst = Analyst()
    run, _, _ = analysed(analyst)
    await reflect(run, SKILL, [trajectory("b", 0.0, answer="")], ())
    assert "### Answer\n(nothing)" in analyst.text()


async def test_lessons_of_the_epoch_are_told() -> None:
    analyst = Analyst()
    run, _, _ = analysed(analyst)
    edit = Edit("append", "- tried", support=2)
    told = Lesson(1, 6, 4, (("too long", 2),), "reject", (edit,), 0.25, 2, 2)
    await reflect(run, SKILL, MIXED, [told])
    text = analyst.text()
    assert "### Step 1: 4 of 6 tasks failed" in text
    assert "- seen: too long (2)" in text
    assert "not better than the score of 0.250" in text
    assert '"content": "- tried"' in text


async def test_patches_keep_the_order_of_the_minibatches_and_every_edit() -> None:
    edits = [{"op": "append", "content": f"- {i}", "support": i} for i in range(9)]
    analyst = Analyst(json.dumps({"edits": edits, "failure_summary": [{"failure_type": "long"}]}))
    run, store, log = analysed(analyst, "gradient.minibatch_size=2", "optimizer.learning_rate=3")
    reflection = await reflect(run, SKILL, MIXED, ())
    assert reflection.asked == 3
    assert [patch.source for patch in reflection.patches] == ["failure", "failure", "success"]
    assert [patch.patterns for patch in reflection.patches] == [("long",), ("long",), ()]
    assert run.step is not None
    # More than was asked for: what falls to the budget is dropped, with a state, by select.
    assert {len(patch.edits) for patch in reflection.patches} == {9}
    assert log.of(PatchesProposed) == [PatchesProposed(1, 3, 2, 1, 27)]
    kept = [path for path in store.files if "/patches/" in path]
    assert sorted(kept) == [
        "steps/step_0001/patches/minibatch_fail_000.json",
        "steps/step_0001/patches/minibatch_fail_001.json",
        "steps/step_0001/patches/minibatch_succ_000.json",
    ]


async def test_an_analyst_without_an_answer_brings_none_and_the_others_count() -> None:
    calls: Iterator[Exception | str] = iter([RateLimited("slow"), NOTHING, NOTHING])

    def function(request: ChatRequest) -> str:
        said = next(calls)
        if isinstance(said, Exception):
            raise said
        return said

    log = EventLog()
    toy = Toy(
        ("gradient.minibatch_size=2", "model.retry.max_attempts=1", "gradient.analyst_workers=1"),
        optimizer=FunctionChat(function),
    )
    run = toy_run(toy, observers=[Subscriber("log", log)])
    reflection = await reflect(run, SKILL, MIXED, ())
    assert (reflection.asked, len(reflection.patches)) == (3, 2)
    assert log.of(Degraded) == [Degraded("reflect", "no answer: slow")]


@pytest.mark.parametrize("seed", range(4))
async def test_grouping_does_not_depend_on_who_finished_first(seed: int) -> None:
    table = {f"t{i}": [Mark(1.0, 1.0), Mark(0.0, 0.5), BROKEN][i % 3] for i in range(12)}
    target = Target(by_skill({SKILL.text: table}), Random(seed))
    settings = ("train.batch_size=12", "gradient.minibatch_size=2", "run.workers=5")
    run, _, _ = table_run(target, settings, train=12)
    step = run.plan.step(1)
    trajectories = await rollout(run, SKILL, run.batch(step), draw=step.seed)
    expected = sorted(table, key=lambda t: [task.id for task in run.batch(step)].index(t))
    failed = [t for t in expected if table[t].hard == 0.0]
    won = [t for t in expected if table[t].hard == 1.0]
    got = [t for _, batch in names(run, trajectories) for t in batch]
    assert got == [*failed, *won]
