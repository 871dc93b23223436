"""The leak guard: planted leaks and shortcuts are caught, honest edits pass."""

from __future__ import annotations

import pytest

from skillopt_cli.core.edits import SUGGEST, Edit, Patch
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.leak_guard import (
    PASSAGE_WIDTH,
    PASSAGE_WORDS,
    Material,
    checked,
    make_guard,
    passages,
    words,
)
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.worked_examples import mark

ASKED = "Which queue does this ticket belong to? Name billing, login, returns or shipping."
TICKETS = (
    "My parcel was due on Monday and the tracking page has not moved since Friday.",
    "I was charged twice for my subscription in March and want the second payment back.",
    "The link to reset my password never reaches my mailbox, whatever I try.",
    "The courier says that the parcel was delivered, but nobody here has received anything.",
)
MATERIALS = [Material(f"t{n}", (text, ASKED)) for n, text in enumerate(TICKETS)]
LABELS = Labels(
    ("billing", "shipping", "no", "A"),
    (("Edda Lorenz", "t0"), ("photosynthesis", "t1"), ("19494", "t2"), ("Oslo", "t3")),
)
GUARD = make_guard(MATERIALS, LABELS)
SKILL = "# Tickets\n\nAnswer with a queue.\n"


def state(content: str, skill: str = SKILL, guard=GUARD) -> str:
    patch = checked(Patch((Edit("append", content),)), guard, SkillDocument(skill))
    return patch.set_aside[0].state if patch.set_aside else "passed"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"- Remember: {TICKETS[0]}", id="whole"),
        pytest.param("- parcel was due on MONDAY, and the tracking page (!) has not", id="part"),
        pytest.param("- The clerk is Edda  lorenz.", id="name"),
        pytest.param("- It is always photosynthesis here", id="long_word"),
        pytest.param("- The order is 19494.", id="number"),
    ],
)
def test_planted_leaks_are_caught_and_the_reason_names_the_task_alone(content: str) -> None:
    patch = checked(Patch((Edit("append", content),)), GUARD, SkillDocument(SKILL))
    [refused] = patch.set_aside
    assert patch.edits == ()
    assert refused.state == "leak"
    assert refused.reason.endswith(("task `t0`", "task `t1`", "task `t2`"))
    assert not any(len(word) > 7 and word in refused.reason for word in words(content))


@pytest.mark.parametrize(
    "content",
    [
        '- Label billing when the text has "charged" or "payment".',
        "- Answer with one of billing, login, returns or shipping, and nothing else.",
        "- A parcel that is late belongs to shipping, even where the text names a payment.",
        "- When the customer was charged twice, the queue is billing.",
        "- For a place such as Oslo give the name of the city alone.",
        f"- The question is always: {ASKED}",
        "- When nothing fits, answer billing.",
        "- Always give a short answer.",
        "- Answer with the label only, such as billing.",
        "- Choose no more than one label.",
        "Text: you sent me two bills\nAnswer: billing",
    ],
)
def test_an_honest_edit_passes(content: str) -> None:
    assert state(content) == "passed"


@pytest.mark.parametrize(
    "content",
    [
        "- Always answer billing.",
        "Whatever the question, answer 'shipping'!",
        '- Read the text. The answer is always "billing".',
        "- Answer Billing for every ticket.",
        "- Just write A.",
        "- Always say no.",
    ],
)
def test_a_fixed_answer_is_a_shortcut(content: str) -> None:
    assert state(content) == "shortcut"


def test_what_the_skill_holds_already_may_be_repeated() -> None:
    held = f"{SKILL}{TICKETS[0]}\nAlways answer billing.\n"
    assert state(f"{TICKETS[0]} And so on.", held) == "passed"
    assert state("Always answer billing.", held) == "passed"
    assert state(TICKETS[1], held) == "leak"


def test_worked_examples_pass_where_they_may_be_quoted_and_are_marked() -> None:
    example = f"Context: {TICKETS[0]}\nAnswer: shipping"
    quoting = make_guard(MATERIALS, LABELS, ["t0"])
    assert state(mark("t0") + example, guard=quoting) == "passed"
    assert state(example, guard=quoting) == "leak"
    assert state(mark("t9") + example, guard=quoting) == "leak"
    assert state(f"{mark('t0')}{example}\n\n{TICKETS[1]}", guard=quoting) == "leak"
    assert state(mark("t0") + example) == "leak"


def test_text_of_most_tasks_is_common_and_text_of_two_is_not() -> None:
    shared = "Context that two questions of one document have in common, word for word"
    twice = [Material(m.task_id, (*m.texts, shared)) for m in MATERIALS[:2]]
    assert state(shared, guard=make_guard([*twice, *MATERIALS[2:]], LABELS)) == "leak"
    assert state(shared, guard=make_guard(twice, LABELS)) == "leak"
    assert state(ASKED) == "passed"


def test_titles_of_suggestions_and_notes_are_checked_too() -> None:
    edits = (Edit(SUGGEST, "Do so.", TICKETS[0]), Edit(SUGGEST, TICKETS[1], "Title"))
    patch = checked(Patch(edits, notes=("Be brief.", TICKETS[2])), GUARD, SkillDocument(SKILL))
    assert [outcome.state for outcome in patch.set_aside] == ["leak", "leak"]
    assert patch.notes == ("Be brief.",)


def test_a_secret_of_a_task_that_was_not_read_is_no_leak() -> None:
    assert state("- The clerk is Edda Lorenz.", guard=make_guard(MATERIALS[1:], LABELS)) == "passed"


@pytest.mark.parametrize("count", range(1, 30))
def test_a_passage_is_the_shortest_run_that_is_long_enough(count: int) -> None:
    found = [f"w{n}" for n in range(count)]
    for at, passage in enumerate(passages(found)):
        run = passage.split()
        assert run == found[at : at + len(run)]
        assert len(run) >= PASSAGE_WORDS
        assert len(passage) + 1 >= PASSAGE_WIDTH
        assert len(run) == PASSAGE_WORDS or len(" ".join(run[:-1])) + 1 < PASSAGE_WIDTH
    assert bool(list(passages(found))) == (len(" ".join(found)) + 1 >= PASSAGE_WIDTH)


def test_a_script_without_spaces_has_passages_too() -> None:
    text = "注文した荷物がまだ届かないので追跡番号を教えてください"
    guard = make_guard([Material("t0", (text,))], Labels())
    assert state(f"- {text}", guard=guard) == "leak"
    assert state("- 荷物のことなら配送と答える", guard=guard) == "passed"
