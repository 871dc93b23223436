"""Rules that the skill has and the target does not heed: re-stated in the appendix, or reworded."""

from __future__ import annotations

import re

import pytest
from quiz import SEED, Readings, reflected, statement, toy, trajectory

from skillopt_cli.core.appendix import notes_of, with_notes
from skillopt_cli.core.edits import Edit
from skillopt_cli.core.events import AppendixWritten
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.core.task import ChatRequest
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.loop import train
from skillopt_cli.optimizers.rules.example_order import is_example
from skillopt_cli.optimizers.rules.rulebook import BY_PATTERN
from skillopt_cli.stages import measure_test
from skillopt_cli.testing import EventLog, FunctionChat, toy_run

ON = "optimizer.use_skill_aware_reflection=true"
SENTENCES = [
    trajectory(i, "It was built in the town of Brenna a long time ago.", "Brenna") for i in range(4)
]
SHORT = BY_PATTERN["sentence"].says(0, 1)
RULED = SkillDocument(SEED.text + f"- {SHORT}\n")


async def proposal(skill: SkillDocument, *settings: str, lessons: tuple[Lesson, ...] = (), n=4):
    """The edits that are no examples, and the notes."""
    [patch] = (await reflected(SENTENCES[:n], skill, lessons, *settings)).patches
    return [edit for edit in patch.edits if not is_example(edit)], patch.notes


async def test_a_rule_the_skill_has_is_noted_and_not_reworded():
    edits, notes = await proposal(RULED, ON)
    assert (edits, notes) == ([], (SHORT,))


async def test_off_it_is_reworded():
    edits, notes = await proposal(RULED)
    assert ([e.op for e in edits], notes) == (["replace"], ())


async def test_a_missing_rule_is_an_edit():
    edits, notes = await proposal(SEED, ON)
    assert (len(edits), notes) == (1, ())


async def test_a_single_failure_is_no_lapse():
    edits, notes = await proposal(RULED, ON, n=1)
    assert ([e.op for e in edits], notes) == (["replace"], ())


async def test_a_rule_that_is_noted_already_is_reworded():
    edits, notes = await proposal(with_notes(RULED, [SHORT]), ON)
    assert ([e.op for e in edits], notes) == (["replace"], ())


async def test_a_note_that_was_turned_down_is_not_given_again():
    lesson = Lesson(1, 4, 4, verdict="reject", incumbent=0.5, rejected_notes=(SHORT.upper(),))
    later = Lesson(2, 4, 4, verdict="accept")
    edits, notes = await proposal(RULED, ON, lessons=(lesson, later))
    assert ([e.op for e in edits], notes) == (["replace"], ())


async def test_a_rule_that_allows_too_little_is_wrong_and_not_ignored():
    told = "The Old Mill was built by Ada Lum of Brenna in May."
    long = [trajectory(i, told, "Old Mill in Brenna") for i in range(4)]
    [patch] = (await reflected(long, RULED, (), ON)).patches
    assert patch.notes == ()
    assert any(isinstance(edit, Edit) and edit.op == "replace" for edit in patch.edits)


class Heedless(Readings):
    seed_skill = RULED.text.replace("one word", "three words")


def heedless() -> FunctionChat:
    """Answers in sentences until the rule is re-stated in the appendix."""
    tasks = {
        task.data["question"]: task
        for split in ("train", "selection", "test")
        for task in Readings().tasks(split)
    }

    def answer(request: ChatRequest) -> str:
        told = re.search(r"APPENDIX_START.*Give only the answer", request.messages[0].content, re.S)
        question = next((q for q in tasks if q in request.messages[-1].content), None)
        if question is None:
            return "ok"
        return tasks[question].data["answers"][0] if told else statement(tasks[question])

    return FunctionChat(answer)


@pytest.mark.parametrize(("settings", "after"), [((), 0.0), ((ON,), 1.0)])
async def test_a_heedless_target_is_brought_round_by_a_note_only(settings, after):
    log, benchmark = EventLog(), Heedless()
    run = toy_run(
        toy(benchmark, heedless(), *settings, "optimizer.use_slow_update=false"),
        observers=[Subscriber("log", log)],
    )
    state = await train(run, SkillDocument(benchmark.seed_skill))
    measured = await measure_test(run, state.best.skill, "best")
    assert measured.hard == after
    assert bool(notes_of(state.best.skill)) == bool(log.of(AppendixWritten)) == bool(settings)
