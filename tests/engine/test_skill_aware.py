"""Skill-aware reflection in whole runs: when it helps, when it does not, and what off means."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from statistics import mean
from typing import Any

import pytest
from dying import Died, Mortal, outcome
from test_requests import asked

from skillopt_cli.backends.simulated.world import rule
from skillopt_cli.core.appendix import notes_of
from skillopt_cli.core.events import (
    AppendixWritten,
    CandidateMade,
    CheckpointSaved,
    GateDecided,
    TestMeasured,
)
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.engine.session import train_session
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.history import history
from skillopt_cli.testing import EventLog, MemoryStore, Toy, ToyBenchmark, toy_session

ON = "optimizer.use_skill_aware_reflection=true"
SEEDS = range(6)
SETTINGS = (
    "train.batch_size=16",
    "gradient.minibatch_size=4",
    "gradient.merge_batch_size=8",
    "optimizer.use_slow_update=false",
    "optimizer.use_meta_skill=false",
)


class Taught(ToyBenchmark):
    """Tasks with a seed skill that states most rules: what fails then is rarely a missing one."""

    seed_skill = "# Reading\n\nAnswer the question from the text.\n\n" + "".join(
        f"- {rule(family)}\n" for family in range(14)
    )


@dataclass
class Trained:
    log: EventLog
    store: MemoryStore

    @property
    def test(self) -> float:
        return next(e.hard for e in self.log.of(TestMeasured) if e.label == "best") or 0.0

    @property
    def records(self) -> list[dict[str, Any]]:
        return history(fold(self.store.facts()))


async def trained(seed: int, *settings: str) -> Trained:
    log, store = EventLog(), MemoryStore()
    benchmark = Taught({"train": 32, "selection": 24, "test": 48}, seed)
    seeded = (f"train.seed={seed}", f"model.simulated.seed={seed}")
    toy = Toy((*SETTINGS, *seeded, *settings), benchmark=benchmark)
    assert await train_session(toy_session(toy, store)) == 0
    for fact in store.facts():
        log(fact)
    return Trained(log, store)


async def test_it_helps_a_target_that_knows_the_rules_and_does_not_heed_them() -> None:
    lapsing = "model.simulated.lapse_rate=0.5"
    without = [(await trained(seed, lapsing)).test for seed in SEEDS]
    with_it = [(await trained(seed, lapsing, ON)).test for seed in SEEDS]
    assert mean(with_it) >= mean(without) + 0.1
    assert all(a > b for a, b in zip(with_it, without, strict=True))


@pytest.mark.slow
async def test_it_does_not_help_where_nothing_lapses() -> None:
    runs = [(await trained(seed), await trained(seed, ON)) for seed in SEEDS]
    assert mean(b.test for _, b in runs) == mean(a.test for a, _ in runs)
    assert not any(noting.log.of(AppendixWritten) for _, noting in runs)


async def test_every_measured_text_holds_its_notes() -> None:
    run = await trained(0, "model.simulated.lapse_rate=0.5", ON)
    written = {fact.step: fact for fact in run.log.of(AppendixWritten)}
    made = {fact.step: fact for fact in run.log.of(CandidateMade)}
    assert len(written) >= 2
    for step in written:
        folder = next(
            p for p in run.store.files if p.endswith(f"step_{step:04d}/appendix_notes.json")
        )
        kept = json.loads(run.store.files[folder])
        text = SkillDocument(
            run.store.files[folder.replace("appendix_notes.json", "candidate_skill.md")]
        )
        assert notes_of(text) == tuple(kept["appendix_after"])
        assert made[step].digest == text.digest
    accepted = [f.step for f in run.log.of(GateDecided) if f.decision.accepted]
    saved = {f.done: f.current.digest for f in run.log.of(CheckpointSaved) if f.current}
    assert accepted
    for step in accepted:
        assert saved[step] == made[step].digest


async def test_the_history_counts_notes_only_where_there_are_some() -> None:
    run = await trained(0, "model.simulated.lapse_rate=0.5", ON)
    written = {fact.step: fact for fact in run.log.of(AppendixWritten)}
    assert written.keys() & {record["step"] for record in run.records}
    for record in run.records:
        fact = written.get(record["step"])
        told = {key: value for key, value in record.items() if "_notes" in key}
        assert told == (
            {}
            if fact is None
            else {
                "n_execution_lapse_notes": fact.proposed,
                "n_appendix_notes_added": len(fact.added),
                "n_appendix_notes_total": fact.total,
                "n_appendix_notes_consolidated": fact.consolidated,
            }
        )


async def test_a_consolidated_appendix_is_measured_like_any_text() -> None:
    settings = ("model.simulated.lapse_rate=0.5", ON)
    run = await trained(0, *settings, "optimizer.skill_aware_consolidate_threshold=3")
    shortened = [fact for fact in run.log.of(AppendixWritten) if fact.consolidated]
    assert shortened
    assert all(fact.total < fact.consolidated for fact in shortened)
    assert run.test > 0.5


async def test_off_the_other_keys_alter_no_request() -> None:
    source = "optimizer.skill_aware_appendix_source=failure_only"
    threshold = "optimizer.skill_aware_consolidate_threshold=1"
    plain = await asked()
    assert await asked(source, threshold) == plain
    noting = await asked(ON)
    analysts = [line for line in plain if " analyst_" in line]
    assert analysts
    assert not set(analysts) & set(noting)


class Notes:
    """An optimizer that has nothing but a note to give; a target that heeds it or is harmed."""

    name = fingerprint = "notes"
    offers = frozenset({"json_schema"})

    def __init__(self, helps: bool) -> None:
        self.helps = helps
        self.analysts: list[str] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        system, user = request.messages[0].content, request.messages[-1].content
        if request.schema_name:
            self.analysts.append(user)
            return ChatReply(json.dumps({"edits": [], "appendix_notes": ["Be short."]}))
        noted = "- Be short." in system
        return ChatReply("<answer>yes</answer>" if noted == self.helps else "")


@pytest.mark.parametrize("helps", [True, False])
async def test_a_step_of_notes_alone_is_measured_and_gated(helps: bool) -> None:
    class Yes(ToyBenchmark):
        def __init__(self) -> None:
            super().__init__({"train": 6, "selection": 4, "test": 2})
            for tasks in self._tasks.values():
                for n, task in enumerate(tasks):
                    # Half the tasks want nothing that the target gives, so that some always fail.
                    task.data["answers"][:] = ["yes"] if n % 2 else ["no"]

    model, log = Notes(helps), EventLog()
    store = MemoryStore()
    settings = (ON, "train.batch_size=3", "optimizer.use_slow_update=false")
    toy = Toy(settings, target=model, optimizer=model, benchmark=Yes())
    assert await train_session(toy_session(toy, store)) == 0
    for fact in store.facts():
        log(fact)
    first = log.of(GateDecided)[0].decision
    assert first.verdict == ("new_best" if helps else "reject")
    assert ("- Be short." in store.files["best_skill.md"]) == helps
    state = store.load_state()
    assert state is not None
    assert (notes_of(state.current.skill) == ("Be short.",)) == helps
    if not helps:
        assert any('"appendix_notes": [' in user for user in model.analysts)


RESUMED = (
    *SETTINGS,
    ON,
    "train.num_epochs=1",
    "train.batch_size=6",
    "gradient.minibatch_size=3",
    "model.simulated.lapse_rate=0.5",
    "optimizer.skill_aware_consolidate_threshold=2",
)


def lived(store: Any) -> bool:
    """Whether a process brought the run to its end."""
    benchmark = Taught({"train": 12, "selection": 6, "test": 1}, seed=1)
    try:
        return (
            asyncio.run(train_session(toy_session(Toy(RESUMED, benchmark=benchmark), store))) == 0
        )
    except Died:
        return False


@pytest.mark.parametrize("kind", ["save_state", "remember_call", "append"])
def test_a_run_that_dies_anywhere_ends_with_the_same_notes(kind: str) -> None:
    whole = MemoryStore()
    counting = Mortal(whole, "", 1)
    assert lived(counting)
    written = [f.event for f in whole.facts() if isinstance(f.event, AppendixWritten)]
    assert any(fact.consolidated for fact in written)
    for nth in range(1, counting.writes[kind] + 1, 5 if kind != "save_state" else 1):
        store = MemoryStore()
        assert not lived(Mortal(store, kind, nth))
        assert lived(store)
        assert outcome(store) == outcome(whole)
