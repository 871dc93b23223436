"""Slow update and meta skill at an epoch's end; T3: both scores only from real measurements."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from skillopt_cli.core.errors import ServerFailed
from skillopt_cli.core.events import Degraded, EpochCompared, MemoryWritten, SlowUpdateDecided
from skillopt_cli.core.score import Measured
from skillopt_cli.core.skill import SLOW_UPDATE, SkillDocument
from skillopt_cli.core.state import TrainState
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.ports import Executor
from skillopt_cli.stages import Run, close_epoch, measure
from skillopt_cli.testing import EventLog, FunctionChat, Toy, toy_run

SEED = SkillDocument("# Skill\n\nAnswer the question.\n")
EARLIER = SkillDocument("# Skill\n\nAnswer in capitals.\n")


class Adviser:
    """Answers the epoch's end with fixed texts, and keeps what it was asked."""

    def __init__(self, guidance: str = "- Keep short.", notes: str = "Short edits work.") -> None:
        self.answers = {
            "slow_update": {"slow_update_content": guidance},
            "meta_skill": {"meta_skill_content": notes},
        }
        self.asked: list[ChatRequest] = []

    def __call__(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        return ChatReply(json.dumps(self.answers.get(request.schema_name, {})))

    def material(self, name: str) -> str:
        request = next(r for r in self.asked if r.schema_name == name)
        return request.messages[1].content


async def closed(
    adviser: Adviser, settings: Sequence[str] = (), *, memory: str = "", skill: SkillDocument = SEED
) -> tuple[Run, TrainState, TrainState, EventLog]:
    """The second epoch's end; the state before and after it."""
    log = EventLog()
    toy = Toy(settings, optimizer=FunctionChat(adviser))
    run = toy_run(toy, observers=[Subscriber("log", log)])
    baseline = await measure(run, skill, "selection")
    state = TrainState(baseline, baseline, done=4, epoch_skill=EARLIER, memory=memory)
    return run, state, await close_epoch(run, state, run.plan.step(4)), log


async def test_the_first_epoch_only_plants_an_empty_region() -> None:
    adviser = Adviser()
    run = toy_run(Toy(optimizer=FunctionChat(adviser)))
    baseline = await measure(run, SEED, "selection")
    after = await close_epoch(run, TrainState(baseline, baseline, done=2), run.plan.step(2))
    assert adviser.asked == []
    assert after.current.skill.region(SLOW_UPDATE) == ""
    assert after.current.skill.sent == SEED.sent  # so the marks hold for the new text
    assert after.current.marks == baseline.marks
    assert (after.best_step, after.epoch_skill) == (0, after.current.skill)


async def test_forced_guidance_is_measured_and_stands_in_its_region_only() -> None:
    planted = SEED.with_region(SLOW_UPDATE, "- Old advice.")
    adviser = Adviser()
    run, _, after, log = await closed(adviser, skill=planted)
    skill = after.current.skill
    assert skill.region(SLOW_UPDATE) == "- Keep short."
    assert skill.body == planted.body
    assert "- Old advice." in adviser.material("slow_update").split("## Previous guidance")[1]
    assert after.best == after.current == await measure(run, skill, "selection")
    decided = log.of(SlowUpdateDecided)[-1]
    assert (decided.action, decided.hard, decided.soft) == (
        "force_accept",
        after.current.hard,
        after.current.soft,
    )


async def test_t3_a_soft_gate_gets_both_scores_from_a_measurement() -> None:
    run, _, after, _ = await closed(Adviser(), ["evaluation.gate_metric=soft"])
    fresh = await measure(run, after.best.skill, "selection")
    assert isinstance(after.best, Measured)
    assert (after.best.hard, after.best.soft) == (fresh.hard, fresh.soft)
    assert after.best.skill.text == fresh.skill.text


async def test_gated_guidance_that_is_not_better_changes_nothing() -> None:
    settings = ["optimizer.slow_update_gate_with_selection=true"]
    _, before, after, log = await closed(Adviser(), settings)
    assert log.of(SlowUpdateDecided)[-1].action == "reject"
    assert (after.current, after.best) == (before.current, before.best)


@pytest.mark.parametrize("gated", ["true", "false"])
async def test_guidance_whose_attempts_break_changes_nothing(gated: str) -> None:
    def target(request: ChatRequest) -> ChatReply:
        if "Keep short" in request.messages[0].content:
            raise ServerFailed("overloaded")
        return ChatReply("no idea")

    log = EventLog()
    settings = (f"optimizer.slow_update_gate_with_selection={gated}", "model.retry.max_attempts=1")
    toy = Toy(settings, target=FunctionChat(target), optimizer=FunctionChat(Adviser()))
    run = toy_run(toy, observers=[Subscriber("log", log)])
    baseline = await measure(run, SEED, "selection")
    before = TrainState(baseline, baseline, done=4, epoch_skill=EARLIER)
    after = await close_epoch(run, before, run.plan.step(4))
    assert log.of(SlowUpdateDecided)[-1].action == "indecisive"
    assert (after.current, after.best, after.best_step) == (baseline, baseline, 0)


async def test_an_epoch_that_left_the_skill_as_it_was_attempts_each_task_once() -> None:
    class Fickle:
        """An agent, not behind the journal of calls, that never says the same twice."""

        name = fingerprint = "fickle"
        offers: frozenset[str] = frozenset()

        def __init__(self) -> None:
            self.asked: Counter[str] = Counter()

        async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
            self.asked[brief.task_id] += 1
            guess = Attempt(f"guess {self.asked.total()}")
            await asyncio.sleep(0)  # the other arm would begin now
            return guess

    agent, adviser = Fickle(), Adviser()
    run = toy_run(Toy(["optimizer.use_slow_update=false"], optimizer=FunctionChat(adviser)))
    baseline = await measure(run, SEED, "selection")
    state = TrainState(baseline, baseline, done=4, epoch_skill=SEED.with_region(SLOW_UPDATE, ""))
    await close_epoch(replace(run, target=agent), state, run.plan.step(4))
    assert set(agent.asked.values()) == {1}
    told = adviser.material("meta_skill")
    before, now = (
        [part.split("\n")[0] for part in told.split(f"### Answer {arm}\n")[1:]]
        for arm in ("before", "now")
    )
    assert before == now != []


@pytest.mark.parametrize(
    "bad", ["", " \n", "<!-- SLOW_UPDATE_END --> x", "<!-- APPENDIX_START -->"]
)
async def test_unusable_guidance_leaves_the_texts_and_is_announced(bad: str) -> None:
    _, before, after, log = await closed(Adviser(guidance=bad))
    assert (after.current, after.best) == (before.current, before.best)
    assert log.of(SlowUpdateDecided)[-1].action == "no_content"
    assert [fact.where for fact in log.of(Degraded)] == ["slow_update"]


@pytest.mark.parametrize(("policy", "shown"), [("mixed", 6), ("changed", 0), ("unchanged", 6)])
async def test_the_pair_policy_scans_on_until_the_split_ends(policy: str, shown: int) -> None:
    settings = [
        f"optimizer.longitudinal_pair_policy={policy}",
        "optimizer.slow_update_samples=6",
    ]
    adviser = Adviser()
    run, _, _, log = await closed(adviser, settings)
    compared = log.of(EpochCompared)[-1]
    tried = sum(n for _, n in compared.categories)
    # Both skills are equally useless to the toy target, so nothing changed and the scan goes on.
    assert (compared.shown, tried) == (shown, len(run.splits["train"]) if not shown else 6)
    assert f"## {shown} tasks" in adviser.material("slow_update")


async def test_notes_are_kept_given_on_and_survive_an_unusable_answer() -> None:
    adviser = Adviser()
    _, _, after, log = await closed(adviser, memory="Earlier notes.")
    assert "Earlier notes." in adviser.material("meta_skill")
    assert after.memory == "Short edits work."
    assert log.of(MemoryWritten)[-1].notes == "Short edits work."
    _, _, kept, _ = await closed(Adviser(notes=""), memory="Earlier notes.")
    assert kept.memory == "Earlier notes."


async def test_notes_work_without_the_slow_update() -> None:
    adviser = Adviser()
    _, before, after, log = await closed(adviser, ["optimizer.use_slow_update=false"])
    assert after.memory == "Short edits work."
    assert (after.current, log.of(SlowUpdateDecided)) == (before.current, [])
    assert [request.schema_name for request in adviser.asked] == ["meta_skill"]


async def test_with_both_off_an_epoch_ends_without_a_call() -> None:
    settings = ["optimizer.use_slow_update=false", "optimizer.use_meta_skill=false"]
    adviser = Adviser()
    _, before, after, log = await closed(adviser, settings)
    assert (adviser.asked, log.of(EpochCompared)) == ([], [])
    assert after.current == before.current
