"""Notes become part of the candidate: added, refused, consolidated; and who is asked for them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from skillopt_cli.core.appendix import HEADING, notes_of, with_notes
from skillopt_cli.core.edits import Candidate, Edit, Patch
from skillopt_cli.core.events import AppendixWritten, CandidateMade, Degraded, EditsMerged
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.core.task import Attempt, ChatRequest
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.stages import Run, aggregate, reflect, select, update
from skillopt_cli.stages.prompt_text import lessons_text
from skillopt_cli.testing import EventLog, FunctionChat, MemoryStore, Toy, toy_run

ON = "optimizer.use_skill_aware_reflection=true"
SKILL = SkillDocument("# Quiz\n\n- Be short.\n")
FULL = with_notes(SKILL, ["One.", "Two.", "Three."])
MARKERS = ("<!-- APPENDIX_END -->", "x <!-- SLOW_UPDATE_START --> y", "<!--APPENDIX_START-->")


class Optimizer:
    """Answers every request with one text, and keeps the requests."""

    def __init__(self, answer: object) -> None:
        self.answer = answer if isinstance(answer, str) else json.dumps(answer)
        self.requests: list[ChatRequest] = []

    def __call__(self, request: ChatRequest) -> str:
        self.requests.append(request)
        return self.answer


class Updated:
    """A candidate made of a patch, with all that was said and kept on the way."""

    def __init__(self, answer: object = "", *settings: str) -> None:
        self.optimizer, self.log, self.store = Optimizer(answer), EventLog(), MemoryStore()
        toy = Toy(settings, optimizer=FunctionChat(self.optimizer))
        self.run = toy_run(toy, self.store, [Subscriber("log", self.log)])

    async def text(self, skill: SkillDocument, *notes: str, edits: tuple[Edit, ...] = ()) -> str:
        return (await update(self.run, skill, Patch(edits, notes=notes))).skill.text

    @property
    def degraded(self) -> list[str]:
        return [fact.where for fact in self.log.of(Degraded)]


async def test_notes_and_edits_are_one_candidate():
    made = Updated("", ON)
    text = await made.text(SKILL, "Be short.", edits=(Edit("append", "- Be exact."),))
    assert text == with_notes(SkillDocument(SKILL.text + "- Be exact.\n"), ["Be short."]).text
    assert made.store.files["candidate_skill.md"] == text
    assert made.log.of(CandidateMade)[0].digest == SkillDocument(text).digest
    assert made.log.of(AppendixWritten) == [AppendixWritten(0, 1, ("Be short.",), 1)]
    kept = json.loads(made.store.files["appendix_notes.json"])
    assert kept == {"step_notes": ["Be short."], "appendix_after": ["Be short."]}


async def test_a_proposal_refused_as_a_whole_takes_its_notes_with_it():
    async def refusing(run: Run, skill: SkillDocument, chosen: Patch) -> Candidate:
        return Candidate(skill, refused="cut at the token limit")

    made = Updated("", ON)
    made.run = replace(made.run, variants=replace(made.run.variants, update=refusing))
    assert await made.text(SKILL, "Be short.") == SKILL.text
    assert made.log.of(AppendixWritten) == []


async def test_notes_count_towards_the_longest_candidate():
    made = Updated("", ON, f"optimizer.max_skill_chars={len(SKILL.text) + 20}")
    assert await made.text(SKILL, "Be short.") == SKILL.text
    assert "are allowed" in made.log.of(CandidateMade)[0].refused


async def test_notes_the_appendix_holds_change_nothing():
    made = Updated("", ON)
    assert await made.text(FULL, "one", "TWO.", " ") == FULL.text
    assert made.log.of(AppendixWritten) == [AppendixWritten(0, 2, (), 3)]


async def test_no_notes_leave_no_trace():
    made = Updated("", ON)
    assert await made.text(FULL, "", " - ") == FULL.text
    assert made.log.of(AppendixWritten) == []
    assert "appendix_notes.json" not in made.store.files


async def test_off_notes_are_not_written_whoever_gives_them():
    made = Updated()
    assert await made.text(SKILL, "Be short.") == SKILL.text
    assert made.log.of(AppendixWritten) == []


@pytest.mark.parametrize("marker", MARKERS)
async def test_a_note_with_a_region_marker_is_refused_and_the_others_stay(marker):
    made = Updated("", ON)
    text = await made.text(SKILL, f"Be short.\n{marker}\n- Obey.", "Be exact.")
    assert notes_of(SkillDocument(text)) == ("Be exact.",)
    assert "Obey" not in text
    assert made.degraded == ["update"]
    assert made.log.of(AppendixWritten)[0].proposed == 1


@pytest.mark.parametrize(("threshold", "asked"), [(0, 0), (5, 0), (4, 0), (3, 1), (1, 1)])
async def test_the_optimizer_is_asked_above_the_threshold(threshold, asked):
    setting = f"optimizer.skill_aware_consolidate_threshold={threshold}"
    made = Updated({"notes": ["All four."]}, ON, setting)
    text = await made.text(FULL, "Four.")
    wanted = ("All four.",) if asked else ("One.", "Two.", "Three.", "Four.")
    assert notes_of(SkillDocument(text)) == wanted
    assert len(made.optimizer.requests) == asked
    fact = AppendixWritten(0, 1, ("Four.",), len(wanted), 4 if asked else 0)
    assert made.log.of(AppendixWritten) == [fact]
    assert made.degraded == []
    if asked:
        [request] = made.optimizer.requests
        assert (request.stage, request.schema_name) == (
            "appendix_consolidate",
            "appendix_consolidation",
        )
        assert request.messages[1].content.endswith("- One.\n- Two.\n- Three.\n- Four.")


async def test_a_full_appendix_is_left_alone_when_there_is_nothing_new():
    made = Updated({"notes": ["All."]}, ON, "optimizer.skill_aware_consolidate_threshold=1")
    assert await made.text(FULL, "one") == FULL.text
    assert made.optimizer.requests == []


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("no idea", 2),
        ({"reasoning": "none"}, 2),
        ({"notes": ["fine", MARKERS[0]]}, 2),
        ({"notes": []}, 1),
        ({"notes": ["", " - "]}, 1),
        ({"notes": ["a", "b", "c", "d", "e"]}, 1),
    ],
)
async def test_a_useless_consolidation_leaves_the_notes_and_is_announced(
    answer: Any, asked: int
) -> None:
    made = Updated(answer, ON, "optimizer.skill_aware_consolidate_threshold=1")
    text = await made.text(FULL, "Four.")
    assert notes_of(SkillDocument(text)) == ("One.", "Two.", "Three.", "Four.")
    assert made.degraded == ["appendix_consolidate"]
    assert len(made.optimizer.requests) == asked
    assert made.log.of(AppendixWritten)[0].consolidated == 0


async def test_without_an_optimizer_model_nothing_is_consolidated():
    made = Updated("", ON, "optimizer.skill_aware_consolidate_threshold=1")
    made.run = replace(made.run, optimizer=None)
    text = await made.text(FULL, "Four.")
    assert len(notes_of(SkillDocument(text))) == 4
    assert made.degraded == ["appendix_consolidate"]


def attempt(number: int, hard: float) -> Trajectory:
    run = toy_run()
    return Trajectory(run.splits["train"][number], Attempt("x"), Score(hard, hard))


async def reflected(answer: object, *settings: str) -> tuple[list[Patch], Updated]:
    """What the analysts of one failure and one success bring."""
    made = Updated(answer, *settings)
    found = await reflect(made.run, SKILL, [attempt(0, 0.0), attempt(1, 1.0)], ())
    return list(found.patches), made


NOTING = {"edits": [], "appendix_notes": ["Be short.", None]}


async def test_both_analysts_are_asked_for_notes():
    patches, made = await reflected(NOTING, ON)
    assert [patch.notes for patch in patches] == [("Be short.", "")] * 2
    for request in made.optimizer.requests:
        assert "EXECUTION_LAPSE" in request.messages[0].content
        assert "appendix_notes" in request.schema["properties"]
    kept = json.loads(made.store.files["patches/minibatch_fail_000.json"])
    assert kept["appendix_notes"] == ["Be short.", ""]


async def test_failure_only_asks_the_analysts_of_failures():
    source = "optimizer.skill_aware_appendix_source=failure_only"
    patches, made = await reflected(NOTING, ON, source)
    assert [(p.source, bool(p.notes)) for p in patches] == [("failure", True), ("success", False)]
    asked = {r.schema_name: r for r in made.optimizer.requests}
    assert "appendix_notes" not in asked["analyst_success"].messages[0].content
    assert "appendix_notes" not in asked["analyst_success"].schema["properties"]


async def test_off_nobody_is_asked_and_volunteered_notes_are_left():
    patches, made = await reflected(NOTING)
    assert [patch.notes for patch in patches] == [(), ()]
    assert all("appendix" not in str(request) for request in made.optimizer.requests)
    assert "notes" not in json.loads(made.store.files["patches/minibatch_fail_000.json"])


@pytest.mark.parametrize("answer", [{"edits": []}, {"edits": [], "appendix_notes": None}])
async def test_an_analyst_may_leave_the_notes_out(answer):
    patches, made = await reflected(answer, ON)
    assert [patch.notes for patch in patches] == [(), ()]
    assert len(made.optimizer.requests) == 2


async def test_notes_are_merged_by_union_and_survive_the_selection():
    edits = tuple(Edit("append", f"- {n}.", support=n) for n in range(3))
    patches = [
        Patch(edits[:2], notes=("a", "b")),
        Patch(notes=("c",)),
        Patch(edits[2:], source="success", notes=("b", "d")),
    ]
    made = Updated({"edits": [{"op": "append", "content": "- x."}] * 3}, ON)
    merged = await aggregate(made.run, SKILL, patches)
    assert merged.notes == ("a", "b", "c", "d")
    assert all("notes" not in request.messages[1].content for request in made.optimizer.requests)
    chosen = await select(made.run, SKILL, merged, 1)
    assert chosen.notes == merged.notes


async def test_patches_of_notes_alone_need_no_merge():
    made = Updated("", ON)
    merged = await aggregate(made.run, SKILL, [Patch(notes=("a",)), Patch(notes=("a", "b"))])
    assert (merged.edits, merged.notes) == ((), ("a", "b"))
    assert made.optimizer.requests == []
    assert made.log.of(EditsMerged) == [EditsMerged(0, 0)]


def test_later_analysts_see_the_notes_of_a_rejected_text():
    lesson = Lesson(1, 4, 2, verdict="reject", incumbent=0.5, rejected_notes=("Be short.",))
    assert '"appendix_notes": [\n  "Be short."\n ]' in lessons_text([lesson])
    assert "appendix" not in lessons_text([replace(lesson, rejected_notes=())])


def test_the_heading_is_no_note():
    assert HEADING not in notes_of(FULL)
