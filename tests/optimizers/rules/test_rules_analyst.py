"""What the analyst proposes, and the evidence it gives."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quiz import SEED, TEXT, Readings, layout, reader, reflected, toy, trajectory

from skillopt_cli.core.edits import Edit, Patch, apply_edits
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.optimizers.rules import SPEC, STAGES
from skillopt_cli.optimizers.rules.analyst import MOST_EXAMPLES
from skillopt_cli.optimizers.rules.example_order import is_example
from skillopt_cli.optimizers.rules.layout import example_answer
from skillopt_cli.optimizers.rules.rulebook import RULES, recognise
from skillopt_cli.testing import toy_run

LONG = "It was built in the town of Brenna a long time ago."
SENTENCES = [trajectory(i, LONG, "Brenna") for i in range(4)]
YEARS = [trajectory(i, "1950", "1932") for i in range(4, 6)]


def rules_of(patch: Patch) -> list[Edit]:
    return [e for e in patch.edits if not is_example(e)]


def examples_of(patch: Patch) -> list[Edit]:
    return [e for e in patch.edits if is_example(e)]


def rejected(*edits: Edit) -> tuple[Lesson, ...]:
    return (Lesson(1, 6, 6, verdict="reject", rejected=edits, incumbent=0.5),)


async def chosen(patches: list[Patch], budget: int | None, skill: SkillDocument = SEED) -> Patch:
    run = toy_run(toy(Readings(), reader("x", True)))
    merged = await STAGES.aggregate(run, skill, patches)
    return await STAGES.select(run, skill, merged, budget)


async def test_a_rule_cites_what_was_counted():
    [patch] = (await reflected(SENTENCES + YEARS)).patches
    first, second = rules_of(patch)
    assert first.content == "- Give only the answer itself, at most one word, never a sentence."
    assert first.support == 4
    assert first.evidence == (
        "4 of 6 failures gave a sentence where a phrase of at most 1 word was expected"
    )
    assert (second.support, second.evidence) == (
        2,
        "2 of 6 failures took another year from the text",
    )


async def test_the_length_limit_rests_on_right_answers_too():
    right = trajectory(9, "Ada Lum", "Ada Lum")
    patch = (await reflected([*SENTENCES, right])).patches[0]
    assert "at most two words" in rules_of(patch)[0].content


@settings(max_examples=20)
@given(st.integers(2, 6), st.integers(0, 6))
async def test_every_edit_is_backed_by_a_count_of_its_own_minibatch(sentences, years):
    failures = [trajectory(i, LONG, "Brenna") for i in range(sentences)]
    failures += [trajectory(10 + i, "1950", "1932") for i in range(years)]
    reflection = await reflected(failures, SEED, (), "gradient.minibatch_size=12")
    [patch] = reflection.patches
    assert patch.edits
    for edit in patch.edits:
        count, of = map(int, re.match(r"(\d+) of (\d+) failures", edit.evidence).groups())
        assert (count, of) == (edit.support, sentences + years)
        assert count in (sentences, years)


async def test_an_example_is_a_failed_task_in_the_form_a_completion_has():
    [patch] = (await reflected(YEARS)).patches
    example = examples_of(patch)[0]
    number = int(re.search(r"Question: Question (\d)", example.content).group(1))
    assert number in (4, 5)
    assert example.content == (
        f"\n<!-- worked example: t{number} -->\n"
        f"Context: {TEXT}\nQuestion: Question {number}?\nAnswer: 1932"
    )
    assert example.support == 2


async def test_examples_come_from_failures_only():
    right = [trajectory(i, "Brenna", "Brenna") for i in range(6)]
    reflection = await reflected(right)
    assert [p.edits for p in reflection.patches] == [()]
    assert reflection.asked == 1
    assert "at most 1 word." in reflection.patches[0].reasoning


async def test_references_that_fit_no_task_are_no_evidence():
    """Long answers all the same: what is counted against a stranger's reference is chance."""
    strangers = ["Rome", "1815", "seven", "iron", "Ida Berg", "Oslo"]
    failures = [trajectory(i, LONG, s) for i, s in enumerate(strangers)]
    [patch] = (await reflected(failures)).patches
    assert patch.edits == ()
    assert patch.reasoning.startswith("No consistent evidence: only 0 of 6")


async def test_sentences_as_references_give_the_opposite_rule():
    failures = [trajectory(i, "Brenna", "The mill was built in Brenna.") for i in range(4)]
    [patch] = (await reflected(failures)).patches
    assert rules_of(patch)[0].content == (
        "- Answer in a full sentence that takes up the words of the question."
    )
    assert all(example_answer(e.content).endswith("Brenna.") for e in examples_of(patch))


async def test_a_contradicted_rule_is_replaced():
    skill = SkillDocument(
        SEED.text + "- Write the whole statement, not just the name or number asked for.\n"
    )
    [patch] = (await reflected(SENTENCES, skill)).patches
    edit = rules_of(patch)[0]
    assert (edit.op, edit.target) == ("replace", skill.text.splitlines()[-1])
    assert edit.evidence.endswith("and the skill asks for the opposite")
    assert apply_edits(skill, [edit]).outcomes[0].state == "applied"


async def test_a_rule_without_effect_is_reworded_and_in_the_end_deleted():
    skill = SEED
    seen = []
    lessons: tuple[Lesson, ...] = ()
    first = rules_of((await reflected(YEARS, skill)).patches[0])[0]
    skill = apply_edits(skill, [first]).skill
    for _ in range(2):
        seen.append(rules_of((await reflected(YEARS, skill, lessons)).patches[0])[0])
        # Two rejections in a row bring the turn back to rules.
        lessons += rejected(seen[-1]) + rejected()
    assert [edit.op for edit in seen] == ["replace", "delete"]
    assert seen[0].evidence.endswith("although the skill has a rule about it")
    assert apply_edits(skill, [seen[1]]).skill == SEED


async def test_a_rejected_edit_does_not_come_again_in_its_epoch():
    everything: list[tuple[str, str]] = []
    lessons: tuple[Lesson, ...] = ()
    for _ in range(5):
        [patch] = (await reflected(SENTENCES + YEARS, SEED, lessons)).patches
        everything += [(e.op, e.content.strip()) for e in patch.edits]
        lessons += rejected(*(replace(e, target="elsewhere") for e in patch.edits))
    assert len(everything) == len(set(everything))
    assert len(everything) > 6
    again = (await reflected(SENTENCES + YEARS)).patches[0]
    assert rules_of(again), "another epoch may try again"


async def test_after_a_rejection_rules_and_examples_are_tried_apart():
    async def proposed(*verdicts):
        lessons = tuple(Lesson(i, 6, 6, verdict=verdict) for i, verdict in enumerate(verdicts))
        [patch] = (await reflected(SENTENCES + YEARS, SEED, lessons)).patches
        return bool(rules_of(patch)), bool(examples_of(patch))

    assert await proposed() == (True, True)
    assert await proposed("reject") == (False, True)
    assert await proposed("reject", None, "reject") == (True, False)
    assert await proposed("reject", "new_best") == (True, True)


async def test_right_answers_loosen_a_length_rule():
    skill = SkillDocument(
        SEED.text + "- Give only the answer itself, at most one word, never a sentence.\n"
    )
    right = [trajectory(i, "Ada Lum", "Ada Lum") for i in range(3)]
    [patch] = (await reflected(right, skill)).patches
    [edit] = patch.edits
    assert (edit.op, edit.source, edit.support) == ("replace", "success", 3)
    assert "at most two words" in edit.content


async def test_equal_rules_of_two_minibatches_add_their_support():
    patches = (await reflected(SENTENCES + YEARS * 2)).patches
    assert len(patches) == 2
    merged = await chosen(list(patches), None)
    first = rules_of(merged)[-1]
    total = sum(e.support for p in patches for e in p.edits if e.content == first.content)
    assert first.support == total
    assert all(
        p.edits[0].evidence in first.evidence
        for p in patches
        if first.content in {e.content for e in p.edits} and p.edits[0].content == first.content
    )


async def test_a_rule_needs_two_cases():
    [patch] = (await reflected([*SENTENCES, YEARS[0]])).patches
    assert [e.support for e in rules_of(patch)] == [4, 1]
    merged = await chosen([patch], None)
    assert [e.support for e in rules_of(merged)] == [4]


async def test_of_contradicting_rules_the_better_supported_stays():
    short, full = (
        Edit("insert_after", f"- {rule.wordings[-1]}", "Answer from the text.", support)
        for rule, support in zip((r for r in RULES if r.topic == "length"), (3, 5), strict=True)
    )
    merged = await chosen([Patch((short,)), Patch((full,))], None)
    assert merged.edits == (full,)


async def test_rules_and_examples_take_turns_within_the_budget():
    [patch] = (await reflected(SENTENCES + YEARS)).patches
    picked = await chosen([patch], 3)
    assert len(rules_of(picked)) + len(examples_of(picked)) == 3
    assert len(rules_of(picked)) in (1, 2)
    assert not set(picked.edits) & set(picked.dropped)
    assert (await chosen([patch], None)).dropped == ()


async def test_examples_beyond_those_a_skill_may_hold_are_left_out_for_that_reason():
    example = "Context: {0} is here.\nQuestion: What is here?\nAnswer: {0}"
    edits = [Edit("append", example.format(n), support=n) for n in range(1, 12)]
    for budget, over in ((None, 0), (5, MOST_EXAMPLES - 5)):
        picked = await chosen([Patch(tuple(edits))], budget)
        aside = [o for o in picked.set_aside if o.state == "not_selected"]
        assert len(aside) == len(edits) - MOST_EXAMPLES
        assert {o.reason for o in aside} == {
            f"the skill had room for {MOST_EXAMPLES} worked examples: first come those of other"
            " kinds of answers, then those with more support"
        }
        assert (len(picked.dropped), len(picked.edits)) == (over, MOST_EXAMPLES - over)
    crowded = SkillDocument(SEED.text + "".join(f"\n{e.content}\n" for e in edits))
    new = Edit("append", example.format(12), support=12)
    assert (await chosen([Patch((new,))], None, crowded)).edits == ()


async def test_the_best_supported_rule_stands_first_and_examples_last():
    [patch] = (await reflected(SENTENCES + YEARS)).patches
    text = apply_edits(SEED, (await chosen([patch], 4)).edits).skill.text
    lines = text.splitlines()
    rules = [line for line in lines if line.startswith("- ")]
    assert text.startswith(SEED.text)
    assert [recognise(r[2:])[0].pattern for r in rules] == ["sentence", "other_year"]
    assert lines.index("- " + rules[-1][2:]) < lines.index(f"Context: {TEXT}")
    assert layout(text).examples and layout(text).anchor == rules[-1]


async def test_an_empty_skill_begins_with_rules():
    empty = SkillDocument("")
    [patch] = (await reflected(SENTENCES + YEARS, empty)).patches
    text = apply_edits(empty, (await chosen([patch], 4, empty)).edits).skill.text
    assert [line[:2] for line in text.splitlines()[:3]] == ["- ", "- ", ""]
    assert len(layout(text).examples) == 2


async def test_a_full_skill_gets_a_new_example_in_an_old_ones_place():
    blocks = [
        f"\nContext: No. {i}\nQuestion: q?\nAnswer: 18{i:02d}\n" for i in range(MOST_EXAMPLES)
    ]
    skill = SkillDocument(SEED.text + "".join(blocks))
    [patch] = (await reflected(YEARS, skill)).patches
    example = examples_of(patch)[0]
    assert (example.op, example.target) == ("replace", blocks[0].strip())
    after = apply_edits(skill, [example]).skill
    assert len(layout(after.text).examples) == MOST_EXAMPLES


async def test_no_more_examples_than_fit_are_added():
    blocks = [
        f"\nContext: No. {i}\nQuestion: q?\nAnswer: 18{i:02d}\n" for i in range(MOST_EXAMPLES - 1)
    ]
    skill = SkillDocument(SEED.text + "".join(blocks))
    [patch] = (await reflected(SENTENCES + YEARS, skill)).patches
    after = apply_edits(skill, (await chosen([patch], None, skill)).edits).skill
    assert len(layout(after.text).examples) == MOST_EXAMPLES


@settings(max_examples=20)
@given(st.text("ab \n#-:", max_size=60))
async def test_any_skill_can_be_worked_on(text):
    skill = SkillDocument(text)
    [patch] = (await reflected(SENTENCES + YEARS, skill)).patches
    picked = await chosen([patch], 4, skill)
    assert {o.state for o in apply_edits(skill, picked.edits).outcomes} <= {"applied"}


def test_every_wording_is_recognised_and_its_own():
    for rule in RULES:
        for wording in range(len(rule.wordings)):
            for length in (1, 3, 25):
                assert recognise(rule.says(wording, length)) == (rule, wording)


def test_a_rule_about_nothing_known_is_left_alone():
    assert recognise("Be kind.") is None


@pytest.mark.parametrize("role", ["optimizer"])
def test_the_spec(role):
    assert SPEC.roles == {role}
    assert SPEC.open is None
    assert SPEC.stages is STAGES
