"""Slow update and meta skill at an epoch's end; T3: both scores only from real measurements."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
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


FORCED = ("optimizer.slow_update_gate_with_selection=false",)
STRICT = ("optimizer.slow_update_accept_ties=false",)


async def test_the_first_epoch_asks_nothing_and_leaves_the_text_as_it_is() -> None:
    adviser, log = Adviser(), EventLog()
    run = toy_run(Toy(optimizer=FunctionChat(adviser)), observers=[Subscriber("log", log)])
    baseline = await measure(run, SEED, "selection")
    after = await close_epoch(run, TrainState(baseline, baseline, done=2), run.plan.step(2))
    assert adviser.asked == []
    assert (after.current, after.best, after.best_step) == (baseline, baseline, 0)
    assert after.epoch_skill == SEED
    assert [fact.action for fact in log.of(SlowUpdateDecided)] == ["inject_placeholder"]


async def test_forced_guidance_is_measured_and_is_in_its_region_only() -> None:
    planted = SEED.with_region(SLOW_UPDATE, "- Old advice.")
    adviser = Adviser()
    run, before, after, log = await closed(adviser, FORCED, skill=planted)
    skill = after.current.skill
    assert skill.region(SLOW_UPDATE) == "- Keep short."
    assert skill.body == planted.body
    assert "- Old advice." in adviser.material("slow_update").split("## Previous guidance")[1]
    assert after.current == await measure(run, skill, "selection")
    assert after.best == before.best  # it measured the same, and the earlier one stays
    decided = log.of(SlowUpdateDecided)[-1]
    assert (decided.action, decided.hard, decided.soft) == (
        "force_accept",
        after.current.hard,
        after.current.soft,
    )


def answering(right: Mapping[str, float]) -> FunctionChat:
    """A target that solves a share of the tasks, by a text in its skill; else half of them."""
    benchmark = Toy().benchmark
    answers = {t.data["question"]: t.data["answers"][0] for t in benchmark.tasks("selection")}

    def answer(request: ChatRequest) -> ChatReply:
        said = "\n".join(message.content for message in request.messages)
        share = next((share for text, share in right.items() if text in said), 0.5)
        known = list(answers)[: round(share * len(answers))]
        found = next((answers[question] for question in known if question in said), "no idea")
        return ChatReply(f"<answer>{found}</answer>")

    return FunctionChat(answer)


ENDS = {
    # gated: what becomes of guidance with a score of 0.25, 0.5 and 0.75 where the skill has 0.5
    (): ("reject", "accept", "accept_new_best"),
    STRICT: ("reject", "reject", "accept_new_best"),
    FORCED: ("force_accept", "force_accept", "force_accept"),
    ("evaluation.use_gate=false",): ("force_accept", "force_accept", "force_accept"),
    ("evaluation.early_reject=false",): ("reject", "accept", "accept_new_best"),
}


@pytest.mark.parametrize("settings", list(ENDS), ids=" ".join)
@pytest.mark.parametrize(("index", "share"), [(0, 0.25), (1, 0.5), (2, 0.75)])
async def test_guidance_is_current_as_the_rule_wants_and_best_only_if_better(
    settings: tuple[str, ...], index: int, share: float
) -> None:
    log = EventLog()
    target = answering({"- Keep short.": share})
    toy = Toy(settings, target=target, optimizer=FunctionChat(Adviser()))
    run = toy_run(toy, observers=[Subscriber("log", log)])
    baseline = await measure(run, SEED, "selection")
    assert baseline.hard == 0.5
    before = TrainState(baseline, baseline, done=4, epoch_skill=EARLIER)
    after = await close_epoch(run, before, run.plan.step(4))
    decided = log.of(SlowUpdateDecided)[-1]
    assert decided.action == ENDS[settings][index]
    taken = "accept" in decided.action
    assert (after.current.hard, after.current_step, after.current_epoch) == (
        (share, 4, 2) if taken else (0.5, 0, 0)
    )
    better = share > 0.5
    assert (after.best.hard, after.best_step, after.best_epoch) == (
        (share, 4, 2) if better else (0.5, 0, 0)
    )
    assert decided.decision is not None
    assert (decided.decision.leads, decided.decision.tied) == (
        better,
        decided.action == "accept",
    )


async def test_t3_a_soft_gate_gets_both_scores_from_a_measurement() -> None:
    run, before, after, _ = await closed(Adviser(), ["evaluation.gate_metric=soft", *FORCED])
    assert after.current.skill != before.current.skill
    fresh = await measure(run, after.current.skill, "selection")
    assert isinstance(after.current, Measured)
    assert (after.current.hard, after.current.soft) == (fresh.hard, fresh.soft)


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
    state = TrainState(baseline, baseline, done=4, epoch_skill=SEED)
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
