"""The rewrite modes: what is asked, what becomes of the answer, and all traps of edits again."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from skillopt_cli.core.edits import REWRITE, SUGGEST, Candidate, Edit, Patch
from skillopt_cli.core.events import CandidateMade, Degraded
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.core.task import Attempt, ChatReply
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.optimizers.rules import STAGES
from skillopt_cli.stages import aggregate, reflect, select, update
from skillopt_cli.stages.prompt_text import edits_block, lessons_text, skill_text
from skillopt_cli.testing import EventLog, FunctionChat, MemoryStore, Toy, toy_run

SUGGESTIONS = "optimizer.skill_update_mode=rewrite_from_suggestions"
FULL = "optimizer.skill_update_mode=full_rewrite_minibatch"

REGIONS = "<!-- SLOW_UPDATE_START -->\n- calm\n<!-- SLOW_UPDATE_END -->\n"
SKILL = SkillDocument(f"---\nname: qa\n---\n\n# Title\n\n- one\n\n{REGIONS}")
TWO = (
    Edit(SUGGEST, "Say less.", "Brevity", 3, "failure", "seen"),
    Edit(SUGGEST, "Copy the text.", "Copying", 1, "failure", "seen"),
)


class Asked:
    """A run in a mode with an optimizer that gives one answer to everything."""

    def __init__(self, answer: str | ChatReply, *settings: str, toy: Toy | None = None) -> None:
        self.chat = FunctionChat(lambda request: answer)
        self.store, self.log = MemoryStore(), EventLog()
        toy = toy or Toy(settings, optimizer=self.chat)
        self.run = toy_run(toy, self.store, [Subscriber("log", self.log)])

    async def update(self, *edits: Edit, dropped: Sequence[Edit] = ()) -> Candidate:
        return await update(self.run, SKILL, Patch(edits, "why", dropped=tuple(dropped)))


def new_skill(text: str, *changes: str) -> str:
    return json.dumps({"reasoning": "so", "change_summary": list(changes), "new_skill": text})


async def test_suggestions_become_one_new_text_and_share_its_fate() -> None:
    asked = Asked(new_skill("# Title\n\n- one, briefly\n", "shorter"), SUGGESTIONS)
    fallen = Edit(SUGGEST, "Guess.", "Guessing")
    candidate = await asked.update(*TWO, dropped=[fallen])
    assert candidate.skill.text == (f"---\nname: qa\n---\n\n# Title\n\n- one, briefly\n\n{REGIONS}")
    assert [o.state for o in candidate.outcomes] == ["applied", "applied", "over_budget"]
    (request,) = asked.chat.requests
    assert (request.stage, request.schema_name) == ("update", "rewrite")
    material = request.messages[1].content
    assert SKILL.text.rstrip() in material
    assert edits_block(TWO) in material
    assert "Guess." not in material
    result = json.loads(asked.store.files["rewrite_result.json"])
    assert result == {
        "reasoning": "so",
        "change_summary": ["shorter"],
        "new_skill": "# Title\n\n- one, briefly\n",
    }
    assert asked.store.files["candidate_skill.md"] == candidate.skill.text
    (made,) = asked.log.of(CandidateMade)
    assert (made.changes, made.refused, made.digest) == (("shorter",), "", candidate.skill.digest)


async def test_without_a_usable_suggestion_nothing_is_asked() -> None:
    asked = Asked("unused", SUGGESTIONS)
    empty, marked = Edit(SUGGEST, "", "Empty"), Edit(SUGGEST, "<!-- APPENDIX_END -->", "Markers")
    candidate = await asked.update(empty, marked)
    assert candidate.skill == SKILL
    assert [o.state for o in candidate.outcomes] == ["no_op", "protected"]
    assert (await asked.update()).outcomes == ()
    assert not asked.chat.requests


FAILED = [
    ("", "nothing would be left"),
    ("  \n", "nothing would be left"),
    (SKILL.text, "equals the current skill"),
    ("# Title\n- one", "equals the current skill"),  # T14: only blank lines differ
    ("---\nname: other\n---\n" + REGIONS, "nothing would be left"),  # T15
    ("# Title\n\n```text\ncut", "unclosed code fence"),  # T25
]


@pytest.mark.parametrize(("text", "reason"), FAILED)
@pytest.mark.parametrize("mode", [SUGGESTIONS, FULL])
async def test_a_failed_rewrite_is_no_candidate(mode: str, text: str, reason: str) -> None:
    asked = Asked(new_skill(text), mode)
    edits = TWO if mode == SUGGESTIONS else (Edit(REWRITE, text, "", 2),)
    candidate = await asked.update(*edits)
    assert candidate.skill == SKILL
    assert {o.state for o in candidate.outcomes} == {"invalid"}
    assert all(reason in o.reason for o in candidate.outcomes)
    assert reason in candidate.refused
    (made,) = asked.log.of(CandidateMade)
    assert (made.refused, made.skip) == (candidate.refused, "skip_no_rewrite")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ChatReply(new_skill("# Title\n\n- two\n"), finish="length"), "cut at the token limit"),
        (new_skill("# Title\n\n- two\n")[:-20], "no JSON object"),
        ("I would rather not.", "no JSON object"),
    ],
)
async def test_a_rewrite_cut_short_is_refused_with_its_reason(
    answer: str | ChatReply, reason: str
) -> None:  # T25
    asked = Asked(answer, SUGGESTIONS)
    candidate = await asked.update(*TWO)
    assert candidate.skill == SKILL
    assert [o.state for o in candidate.outcomes] == ["invalid", "invalid"]
    assert reason in candidate.refused
    assert [fact.where for fact in asked.log.of(Degraded)] == ["update"]
    assert len(asked.chat.requests) == 2
    assert "rewrite_result.json" not in asked.store.files


async def test_a_merged_rewrite_is_taken_to_the_letter() -> None:  # T12
    text = "# Title\n\n- one\n  - nested\n\t- deeper\n"
    asked = Asked("unused", FULL)
    candidate = await asked.update(Edit(REWRITE, text, "", 4, "merged", "nested\nmore"))
    assert candidate.skill.text == f"---\nname: qa\n---\n\n{text}\n{REGIONS}"
    assert candidate.rewrite is not None
    assert candidate.rewrite.changes == ("nested", "more")
    assert not asked.chat.requests


async def test_of_texts_that_could_not_be_merged_the_best_supported_is_taken() -> None:
    texts = [Edit(REWRITE, f"# {n}\n", "", n) for n in (1, 3, 2)]
    candidate = await Asked("unused", FULL).update(*texts)
    assert "# 3\n" in candidate.skill.text
    assert [(o.edit.support, o.state) for o in candidate.outcomes] == [
        (3, "applied"),
        (1, "not_selected"),
        (2, "not_selected"),
    ]
    assert (await Asked("unused", FULL).update()).skill == SKILL


@pytest.mark.parametrize(
    ("settings", "edits", "skip"),
    [
        ((), (Edit("append", "- " + "x" * 200),), "skip_refused"),
        ((SUGGESTIONS,), TWO, "skip_no_rewrite"),
        ((FULL,), (Edit(REWRITE, "# Title\n" + "x" * 200, "", 1),), "skip_no_rewrite"),
    ],
)
async def test_a_candidate_that_is_too_long_is_refused_before_it_costs_anything(
    settings: tuple[str, ...], edits: tuple[Edit, ...], skip: str
) -> None:
    limit = len(SKILL.text) + 50
    answer = new_skill("# Title\n" + "x" * 200)
    asked = Asked(answer, *settings, f"optimizer.max_skill_chars={limit}")
    noop = Edit("replace", "- one", "- one") if not settings else Edit(SUGGEST, "")
    candidate = await asked.update(*edits, *(() if FULL in settings else (noop,)))
    assert candidate.skill == SKILL
    assert f"characters, {limit} are allowed" in candidate.refused
    states = [o.state for o in candidate.outcomes]
    assert states[: len(edits)] == ["invalid"] * len(edits)
    assert states[len(edits) :] == ([] if FULL in settings else ["no_op"])
    assert asked.log.of(CandidateMade)[0].skip == skip
    roomy = Asked(answer, *settings, f"optimizer.max_skill_chars={limit + 200}")
    assert (await roomy.update(*edits)).skill != SKILL


@pytest.mark.parametrize("limit", [1, len(SKILL.text) - 1])
@pytest.mark.parametrize(
    ("edit", "taken"),
    [
        (Edit("replace", "- 1", "- one"), True),
        (Edit("replace", "- eno", "- one"), True),
        (Edit("replace", "- ones", "- one"), False),
        (Edit("append", "- more"), False),
    ],
)
async def test_a_skill_that_is_too_long_already_may_change_but_not_grow(
    limit: int, edit: Edit, taken: bool
) -> None:
    asked = Asked("", f"optimizer.max_skill_chars={limit}")
    candidate = await asked.update(edit)
    assert (candidate.skill != SKILL, not candidate.refused) == (taken, taken)


async def test_analysts_of_suggestions_are_told_the_budget_and_lose_no_suggestion() -> None:
    answer = json.dumps({
        "failure_summary": [{"failure_type": "long", "count": 2, "description": "too long"}],
        "suggestions": [
            {"title": "Brevity", "instruction": f"Say {n}.", "support": n} for n in (1, 2, 3)
        ],
    })
    asked = Asked(answer, SUGGESTIONS, "gradient.minibatch_size=6", "optimizer.learning_rate=2")
    run = asked.run.at(asked.run.plan.step(1))
    (patch,) = (await reflect(run, SKILL, failures(asked), ())).patches
    assert [(e.op, e.target, e.content) for e in patch.edits] == [
        (SUGGEST, "Brevity", "Say 1."),
        (SUGGEST, "Brevity", "Say 2."),
        (SUGGEST, "Brevity", "Say 3."),  # select drops it, with a state
    ]
    assert patch.patterns == ("long: too long",)
    assert asked.chat.requests[0].schema_name == "analyst_error_rewrite"
    assert "Give at most 2 suggestions" in asked.chat.requests[0].messages[0].content


async def test_analysts_and_merges_of_whole_texts() -> None:
    answer = new_skill("# Title\n\n- new\n", " one\nline ", "two")
    asked = Asked(answer, FULL, "gradient.minibatch_size=2", "optimizer.learning_rate=1")
    run = asked.run.at(asked.run.plan.step(1))
    assert asked.run.plan.step(1).edit_budget is None
    patches = (await reflect(run, SKILL, failures(asked), ())).patches
    edits = [patch.edits for patch in patches]
    assert [[(e.op, e.support, e.evidence) for e in one] for one in edits] == [
        [(REWRITE, 2, "one line\ntwo")]
    ] * 3
    merged = await aggregate(run, SKILL, patches)
    assert [(e.op, e.support) for e in merged.edits] == [(REWRITE, 6)]
    names = {request.schema_name for request in asked.chat.requests}
    assert names == {"analyst_error_full", "merge_failure_full"}
    analysts, merges = asked.chat.requests[:3], asked.chat.requests[3:]
    shared = {request.messages[1].content[: request.shared] for request in analysts}
    assert shared == {skill_text(SKILL)}
    assert {request.shared for request in merges} == {None}
    assert '"new_skill"' in asked.chat.requests[-1].messages[1].content
    asked.chat.requests.clear()
    assert await select(run, SKILL, merged, None) == merged
    assert not asked.chat.requests


async def test_an_analyst_may_leave_the_skill_as_it_is() -> None:
    asked = Asked(json.dumps({"change_summary": None, "new_skill": ""}), FULL)
    run = asked.run.at(asked.run.plan.step(1))
    reflection = await reflect(run, SKILL, failures(asked), ())
    assert len(reflection.patches) == reflection.asked
    assert not any(patch.edits for patch in reflection.patches)


async def test_lessons_tell_what_a_refused_text_changed_and_not_the_text() -> None:
    refused = (Edit(REWRITE, "# A long text\n", "", 4, "merged", "shorter\nplainer"),)
    told = lessons_text([Lesson(1, 4, 2, verdict="reject", rejected=refused, incumbent=0.5)])
    assert "shorter" in told
    assert "plainer" in told
    assert "A long text" not in told


@pytest.mark.parametrize("mode", [SUGGESTIONS, FULL])
async def test_the_rules_optimizer_applies_its_edits_whatever_the_mode(mode: str) -> None:
    asked = Asked("", toy=Toy((mode,), variants=STAGES))
    candidate = await asked.update(Edit("append", "- two\n", support=2))
    assert "- two\n" in candidate.skill.body
    assert [o.state for o in candidate.outcomes] == ["applied"]


def failures(asked: Asked) -> list[Trajectory]:
    tasks = asked.run.splits["train"][:6]
    return [Trajectory(task, Attempt("wrong"), Score(0.0, 0.0, "no", ("x",))) for task in tasks]
