"""The learning rate: by the schedule, or as the optimizer sees fit, within the edits there are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.core.errors import ServerFailed
from skillopt_cli.core.events import Degraded, LearningRateChosen
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.core.task import ChatRequest
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.optimizers.rules import STAGES
from skillopt_cli.stages import learning_rate, select, update
from skillopt_cli.testing import EventLog, FunctionChat, MemoryStore, Toy, toy_run

SKILL = SkillDocument("# Skill\n")
AUTONOMOUS = "optimizer.lr_control_mode=autonomous"


def merged(*support: int) -> Patch:
    return Patch(tuple(Edit("append", f"- e{i}", support=s) for i, s in enumerate(support)))


def wish(n: object, **more: object) -> str:
    return json.dumps({"learning_rate": n, "reasoning": "so", "confidence": 0.25, **more})


class Asked:
    """Step 1 of a run whose optimizer gives one answer to everything."""

    def __init__(self, answer: str, *settings: str, **toy: object) -> None:
        self.chat = FunctionChat(lambda request: answer)
        self.store, self.log = MemoryStore(), EventLog()
        made = Toy(settings, optimizer=self.chat, **toy)  # type: ignore[arg-type]
        run = toy_run(made, self.store, [Subscriber("log", self.log)])
        self.run = run.at(run.plan.step(1))

    async def rate(self, patch: Patch, *lessons: Lesson) -> int | None:
        return await learning_rate(self.run, SKILL, patch, lessons)


async def test_the_schedule_decides_without_a_call() -> None:
    asked = Asked("unused", "optimizer.learning_rate=3", "optimizer.lr_scheduler=constant")
    assert await asked.rate(merged(1, 2, 3, 4)) == 3
    assert await Asked("unused", "optimizer.lr_control_mode=none").rate(merged(1)) is None
    assert not asked.chat.requests
    assert not asked.log.of(LearningRateChosen)


async def test_the_optimizer_decides_in_view_of_skill_edits_and_lessons() -> None:
    asked = Asked(wish(2, risk_notes="one\ntwo"), AUTONOMOUS, "optimizer.lr_scheduler=constant")
    lesson = Lesson(1, 4, 2, (("too long", 2),), "accept")
    assert await asked.rate(merged(5, 6, 7), lesson) == 2
    (request,) = asked.chat.requests
    assert (request.stage, request.schema_name) == ("learning_rate", "learning_rate")
    material = request.messages[1].content
    for told in ("# Skill", "too long", "[2] append (support 7)", "at most 4", "There are 3"):
        assert told in material
    chosen = LearningRateChosen(1, 2, 2, 3, False, "so", 0.25, ("one", "two"))
    assert asked.log.of(LearningRateChosen) == [chosen]
    assert json.loads(asked.store.files["steps/step_0001/lr_decision.json"]) == {
        "learning_rate": 2,
        "raw_learning_rate": 2,
        "available_update_items": 3,
        "clamped": False,
        "fallback": False,
        "reasoning": "so",
        "confidence": 0.25,
        "risk_notes": ["one", "two"],
    }


@settings(max_examples=30)
@given(st.integers(0, 12), st.integers(1, 5))
async def test_never_more_than_there_are(asked_for: int, available: int) -> None:
    asked = Asked(wish(asked_for), AUTONOMOUS)
    applied = await asked.rate(merged(*range(available)))
    assert applied == min(asked_for, available)
    (chosen,) = asked.log.of(LearningRateChosen)
    assert (chosen.asked, chosen.clamped) == (asked_for, asked_for > available)


@pytest.mark.parametrize(
    "answer", [wish(-1), wish("many"), wish(2, confidence=3), "{}", "two", wish(2.5)]
)
async def test_an_unusable_answer_falls_back_to_the_schedule_and_says_so(answer: str) -> None:
    settings = ("optimizer.learning_rate=3", "optimizer.lr_scheduler=constant")
    asked = Asked(answer, AUTONOMOUS, *settings)
    assert await asked.rate(merged(1, 2, 3, 4)) == 3
    assert await asked.rate(merged(1, 2)) == 2
    assert {fact.where for fact in asked.log.of(Degraded)} == {"learning_rate"}
    assert [(e.applied, e.asked) for e in asked.log.of(LearningRateChosen)] == [
        (3, None),
        (2, None),
    ]
    decision = json.loads(asked.store.files["steps/step_0001/lr_decision.json"])
    assert decision["fallback"] is True


async def test_a_dead_optimizer_falls_back_too() -> None:
    def dead(request: ChatRequest) -> str:
        raise ServerFailed("down")

    asked = Asked("", AUTONOMOUS)
    asked.chat._function = dead
    assert await asked.rate(merged(1)) == 1


@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions"])
async def test_a_rate_of_nothing_is_no_edit_and_no_further_call(mode: str) -> None:
    asked = Asked(wish(0), AUTONOMOUS, f"optimizer.skill_update_mode={mode}")
    patch = merged(1, 2)
    rate = await asked.rate(patch)
    chosen = await select(asked.run, SKILL, patch, rate)
    assert (rate, chosen.edits, chosen.dropped) == (0, (), patch.edits)
    candidate = await update(asked.run, SKILL, chosen)
    assert candidate.skill == SKILL
    assert [o.state for o in candidate.outcomes] == ["over_budget"] * 2
    assert [request.stage for request in asked.chat.requests] == ["learning_rate"]


async def test_nothing_to_choose_from_is_not_asked_about() -> None:
    asked = Asked(wish(3), AUTONOMOUS)
    await asked.rate(Patch())
    whole = Asked(wish(3), AUTONOMOUS, "optimizer.skill_update_mode=full_rewrite_minibatch")
    assert await whole.rate(merged(1)) is None
    assert not asked.chat.requests + whole.chat.requests


async def test_analysts_are_not_capped_by_a_schedule_that_does_not_count() -> None:
    assert Asked("", AUTONOMOUS).run.most_edits is None
    assert Asked("", "optimizer.lr_control_mode=none").run.most_edits is None
    assert Asked("", "optimizer.lr_scheduler=constant").run.most_edits == 4


@pytest.mark.parametrize(
    ("support", "verdict", "rate"),
    [
        ((8, 4, 3), None, 2),
        ((8, 4, 3), "reject", 1),
        ((1,), "reject", 1),
        ((2, 2, 2, 2), "accept", 4),
        ((2, 2, 2, 2), "reject", 2),
    ],
)
async def test_the_rules_optimizer_counts_support(
    support: tuple[int, ...], verdict: str | None, rate: int
) -> None:
    asked = Asked("unused", AUTONOMOUS, variants=STAGES)
    lesson = Lesson(1, 4, 2, verdict=verdict)  # type: ignore[arg-type]
    assert await asked.rate(merged(*support), lesson) == rate
    assert asked.log.of(LearningRateChosen)[0].reasoning
    assert not asked.chat.requests
