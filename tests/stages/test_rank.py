"""Select: at most the learning rate, the rest accounted for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_cli.core.edit_counts import outcomes_words
from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.core.events import Degraded, EditsChosen
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.stages import select, update
from skillopt_cli.stages.rank import by_support
from skillopt_cli.testing import EventLog, FunctionChat, MemoryStore, Toy, toy_run

SKILL = SkillDocument("# Skill\n")


def merged(*support: int) -> Patch:
    return Patch(tuple(Edit("append", f"- e{i}", support=s) for i, s in enumerate(support)))


async def choose(
    patch: Patch, budget: int | None, answer: str
) -> tuple[list[str], list[str], FunctionChat, EventLog]:
    chat, log = FunctionChat(lambda request: answer), EventLog()
    run = toy_run(Toy(optimizer=chat), observers=[Subscriber("log", log)])
    chosen = await select(run, SKILL, patch, budget)
    others = tuple(o.edit for o in chosen.set_aside if o.state == "not_selected")
    left_out = chosen.dropped + others
    assert log.of(EditsChosen) == [EditsChosen(0, chosen.edits, left_out)]
    # Only what the budget is the reason for is dropped by it.
    assert not (chosen.dropped and others)
    assert bool(others) is (bool(left_out) and len(chosen.edits) < (budget or 0))
    assert sorted(chosen.edits + left_out, key=str) == sorted(patch.edits, key=str)
    kept, dropped = ([e.content[2:] for e in edits] for edits in (chosen.edits, left_out))
    return kept, dropped, chat, log


def ranking(*indices: int) -> str:
    return json.dumps({"selected_indices": indices})


@pytest.mark.parametrize("budget", [None, 3, 4])
async def test_a_patch_within_the_budget_needs_no_call(budget: int | None) -> None:
    kept, dropped, chat, _ = await choose(merged(1, 2, 3), budget, "unused")
    assert (kept, dropped, chat.requests) == (["e0", "e1", "e2"], [], [])


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (ranking(2, 0), ["e2", "e0"]),
        (ranking(3), ["e3"]),  # fewer than allowed are fewer
        (ranking(3, 2, 1, 0), ["e3", "e2"]),  # more are cut
        (ranking(1, 1, 1, 3), ["e1", "e3"]),  # repeats count once
        (ranking(9, -1, 3, 4, 2), ["e3", "e2"]),  # numbers of no edit are left out
    ],
)
async def test_the_ranking_is_followed_within_the_budget(answer: str, kept: list[str]) -> None:
    got, dropped, chat, log = await choose(merged(1, 5, 2, 4), 2, answer)
    assert got == kept
    assert dropped == [name for name in ("e0", "e1", "e2", "e3") if name not in kept]
    assert len(chat.requests) == 1
    assert [fact.reason for fact in log.of(Degraded)] == (
        ["3 of the numbers in the ranking name no edit of the list"] if "9" in answer else []
    )
    asked = chat.requests[0].messages
    assert "Choose at most 2 edits" in asked[0].content
    assert "[3] append (support 4)" in asked[1].content


@pytest.mark.parametrize("support", [(1, 5), (3, 3, 3), (0, 9, 2, 4)])
async def test_a_ranking_that_names_nothing_selects_nothing(support: tuple[int, ...]) -> None:
    kept, dropped, _, log = await choose(merged(*support), 1, ranking())
    assert (kept, len(dropped)) == ([], len(support))
    assert not log.of(Degraded)


@pytest.mark.parametrize("answer", [ranking(7, -2), "nonsense", '{"selected_indices": [true]}'])
async def test_without_a_usable_ranking_support_decides_and_it_is_said(answer: str) -> None:
    kept, dropped, _, log = await choose(merged(1, 5, 2, 5), 2, answer)
    assert (kept, dropped) == (["e1", "e3"], ["e0", "e2"])
    assert [fact.where for fact in log.of(Degraded)] == ["select"]


def test_equal_support_keeps_the_order() -> None:
    assert by_support(merged(2, 3, 2, 3).edits) == [1, 3, 0, 2]


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6),
    st.integers(1, 6),
    st.lists(st.integers(-2, 8), max_size=9),
)
async def test_never_more_than_the_budget(
    support: list[int], budget: int, indices: list[int]
) -> None:
    kept, _, _, _ = await choose(merged(*support), budget, ranking(*indices))
    nothing = not indices and len(support) > budget
    assert (0 if nothing else 1) <= len(kept) <= (0 if nothing else budget)


async def test_what_fell_to_the_budget_is_reported_as_such() -> None:
    store = MemoryStore()
    run = toy_run(Toy(optimizer=FunctionChat(lambda request: ranking(1))), store)
    chosen = await select(run, SKILL, merged(1, 2), 1)
    candidate = await update(run, SKILL, chosen)
    assert [(o.edit.content, o.state) for o in candidate.outcomes] == [
        ("- e1", "applied"),
        ("- e0", "over_budget"),
    ]
    assert candidate.skill.text == "# Skill\n- e1\n" == store.files["candidate_skill.md"]
    report = json.loads(store.files["edit_report.json"])
    assert [(entry["index"], entry["state"]) for entry in report] == [
        (1, "applied"),
        (2, "over_budget"),
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ranking(1), "the ranking chose 1 edit of at most 2"),
        (ranking(), "the ranking chose no edit"),
    ],
)
async def test_what_the_ranking_leaves_out_below_the_budget_is_not_above_it(
    answer: str, reason: str
) -> None:
    store = MemoryStore()
    run = toy_run(Toy(optimizer=FunctionChat(lambda request: answer)), store)
    chosen = await select(run, SKILL, merged(1, 2, 3), 2)
    candidate = await update(run, SKILL, chosen)
    others = [o for o in candidate.outcomes if not o.changed]
    assert {(o.state, o.reason) for o in others} == {("not_selected", reason)}
    assert len(others) == 3 - len(candidate.applied)
    assert "learning rate" not in outcomes_words(others)
    ranked = json.loads(store.files["ranked_edits.json"])
    assert [e["content"] for e in ranked["dropped"]] == [o.edit.content for o in others]
