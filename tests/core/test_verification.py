"""Decisions on edits that were tried on tasks: which tasks, what passes, what is noise."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.edits import Edit, EditOutcome, EditState, Patch, Trial
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Reflection
from skillopt_cli.core.task import Attempt, Task
from skillopt_cli.core.verification import (
    Draft,
    few_passed,
    left_out,
    needed,
    noise,
    open_tasks,
    ranked,
    united,
    unverified,
)
from skillopt_cli.core.worked_examples import mark

IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)


def edit(content: str, *tasks: str, source: str = "failure") -> Edit:
    return Edit("append", content, support=len(tasks), source=source, tasks=tasks)  # type: ignore[arg-type]


def trajectory(name: str, hard: float) -> Trajectory:
    return Trajectory(Task(name, "k", {}), Attempt("said"), Score(hard, hard))


@given(IDS, IDS, IDS)
def test_an_edit_is_tried_on_failing_tasks_it_is_for_and_on_none_twice_with_one_text(
    claimed: list[str], failing: list[str], before: list[str]
) -> None:
    proposed = edit("- rule", *claimed)
    known = [
        Trial(edit("- rule", "x"), tuple(before), base="text"),
        Trial(edit("- rule"), tuple(claimed), base="another text"),
        Trial(edit("- other"), tuple(claimed), base="text"),
    ]
    chosen = open_tasks(proposed, failing, known, "text")
    assert set(chosen) == (set(claimed) & set(failing)) - set(before)
    assert len(chosen) == len(set(chosen))
    # The order depends on the edit and the tasks alone.
    turned = edit("- rule", *reversed(claimed))
    assert chosen == open_tasks(turned, list(reversed(failing)), known, "text")


def test_a_worked_example_is_not_tried_on_the_task_it_quotes() -> None:
    example = edit(f"\n{mark('a b')}Question: Who?\nAnswer: Ada", "a b", "a", "c")
    assert set(open_tasks(example, ["a b", "a", "c"], (), "text")) == {"a", "c"}


@pytest.mark.parametrize(
    ("tried", "share", "least"),
    [(1, 0.5, 1), (2, 0.5, 1), (3, 0.5, 2), (4, 0.5, 2), (3, 1.0, 3), (3, 0.01, 1), (10, 0.7, 7)],
)
def test_how_many_tasks_an_edit_must_solve(tried: int, share: float, least: int) -> None:
    assert needed(tried, share) == least


def test_equal_edits_become_one_with_the_tasks_of_all() -> None:
    patches = [
        Patch((edit("- a", "t1", "t2"), edit("- b", "t3", source="success")), source="failure"),
        Patch((edit("- b", "t4"), edit("- a", "t2", "t5")), source="failure"),
    ]
    expected = {"- a": ("t1", "t2", "t5"), "- b": ("t3", "t4")}
    for order in permutations(patches):
        merged = united(order)
        assert [e.content for e in merged] == ["- a", "- b"]
        assert {e.content: tuple(sorted(e.tasks)) for e in merged} == expected
        assert [(e.support, e.source) for e in merged] == [(4, "failure"), (2, "failure")]


def test_failures_rank_before_successes_and_broad_edits_before_narrow_ones() -> None:
    edits = [
        edit("- s", "1", "2", "3", source="success"),
        edit("- one", "1"),
        edit("- two", "1", "2"),
        edit("- other", "4"),
    ]
    order = [e.content for e in ranked(edits)]
    assert order[0] == "- two"
    assert order[-1] == "- s"
    assert all([e.content for e in ranked(p)] == order for p in permutations(edits))


def test_noise_is_what_no_single_edit_explains() -> None:
    without = [{"a", "b"}, {"a"}, {"a", "c"}]
    assert noise(without, ("a", "b", "c", "d")) == ("a",)
    assert noise([{"a"}, set()], ("a",)) == ()  # half of the edits is not more than half


def test_few_passed_needs_several_edits() -> None:
    passed, failed = Trial(edit("- a"), ("t",), ("t",)), Trial(edit("- b"), ("t",))
    assert few_passed([failed] * 4)
    assert few_passed([passed] + [failed] * 4)
    assert not few_passed([passed] + [failed] * 3)
    assert not few_passed([failed] * 3)


@pytest.mark.parametrize(
    ("trial", "reason"),
    [
        (Trial(edit("- a"), ("x", "y", "z"), ("x",), 2), "it solved 1 of 3 tasks it was written"),
        (Trial(edit("- a")), "none of its tasks could be scored"),
    ],
)
def test_an_edit_that_does_not_pass_has_a_reason(trial: Trial, reason: str) -> None:
    outcome = unverified(trial)
    assert (outcome.state, outcome.trial) == ("unverified", trial)
    assert outcome.reason.startswith(reason)


@given(st.lists(st.text(max_size=4), min_size=1, max_size=40, unique=True), st.integers(0, 99))
def test_tasks_are_left_out_only_if_solved_and_by_the_share(tasks: list[str], seed: int) -> None:
    assert not any(left_out(task, [], seed, 0.0) for task in tasks)
    assert all(left_out(task, tasks, seed, 0.0) for task in tasks)
    assert not any(left_out(task, tasks, seed, 1.0) for task in tasks)
    some = {task for task in tasks if left_out(task, tasks, seed, 0.25)}
    more = {task for task in tasks if left_out(task, tasks, seed, 0.75)}
    assert more <= some


def test_other_epochs_attempt_other_solved_tasks_again() -> None:
    tasks = [f"t{i}" for i in range(400)]
    kept = [{t for t in tasks if not left_out(t, tasks, seed, 0.25)} for seed in (1001, 2001)]
    assert all(60 < len(found) < 140 for found in kept)
    assert kept[0] != kept[1]


def test_a_draft_reads_everything_first_and_then_what_still_fails() -> None:
    skill = SkillDocument("s\n")
    draft = Draft(skill, skill, (trajectory("a", 1.0), trajectory("b", 0.0), trajectory("c", 0.5)))
    assert [t.task.id for t in draft.unread] == ["a", "b", "c"]
    first = edit("- one", "b")
    draft = draft.reflected(Reflection((), 2), Patch((first, edit("- two", "c"))), 2)
    assert (draft.merged, draft.reflection.asked, draft.room) == (2, 2, 2)
    lost = Trial(edit("- two", "c"), ("c",))
    draft = draft.chosen(Patch((first,), set_aside=(unverified(lost),), trials=(lost,)))
    draft = draft.attempted([trajectory("b", 1.0)], SkillDocument("s\n- one\n"))
    assert [t.task.id for t in draft.unread] == ["c"]
    assert (draft.room, draft.complete, draft.refuted) == (1, False, (lost,))
    draft = draft.attempted([trajectory("c", 1.0)], draft.skill)
    assert draft.complete
    assert draft.base == skill


A = edit("- a", "t")
FAILED = Trial(A, ("t",))
SOLVED = Trial(A, ("t",), ("t",))


def aside(state: EditState, trial: Trial | None = None) -> Patch:
    outcome = EditOutcome(A, state, "", trial)
    return Patch(set_aside=(outcome,), trials=(trial,) if trial else ())


@pytest.mark.parametrize(
    ("first", "second", "last"),
    [
        (aside("not_selected"), aside("not_selected"), ["not_selected"]),
        (aside("not_selected"), Patch((A,), trials=(SOLVED,)), []),
        (aside("not_selected"), aside("unverified", FAILED), ["unverified"]),
        (aside("unverified", FAILED), aside("not_selected"), ["unverified"]),
        (aside("unverified", FAILED), aside("unverified"), ["unverified"]),
        (aside("unverified", FAILED), Patch((A,), trials=(SOLVED,)), []),
        (aside("unverified", FAILED), aside("unverified", FAILED), ["unverified"]),
        (aside("not_selected"), Patch(dropped=(A,)), ["dropped"]),
        (Patch(dropped=(A,)), aside("duplicate"), ["duplicate"]),
        (Patch(dropped=(A,)), Patch((A,), trials=(SOLVED,)), []),
        (Patch((A,), trials=(SOLVED,)), aside("duplicate"), []),
        (Patch((A,), trials=(SOLVED,)), Patch(dropped=(A,)), []),
        # Refused before the merge, as often as it was proposed.
        (aside("leak"), aside("leak"), ["leak", "leak"]),
    ],
)
def test_an_edit_of_several_rounds_has_one_outcome(
    first: Patch, second: Patch, last: list[str]
) -> None:
    skill = SkillDocument("s\n")
    draft = Draft(skill, skill, (trajectory("t", 0.0),)).chosen(first).chosen(second)
    patch = draft.patch
    assert [*(o.state for o in patch.set_aside), *("dropped" for _ in patch.dropped)] == last
    assert patch.edits == first.edits + second.edits
    assert patch.trials == first.trials + second.trials
    assert all(o.trial == FAILED for o in patch.set_aside if o.state == "unverified")
    # What failed a trial counts as refuted although it passed another: its claims stay modest.
    assert draft.refuted == (() if patch.trials in [(), (SOLVED,)] else patch.trials)


def test_equal_edits_of_one_round_keep_their_outcomes() -> None:
    skill = SkillDocument("s\n")
    twice = Patch(dropped=(A, A), set_aside=(EditOutcome(A, "invalid"),) * 2)
    patch = Draft(skill, skill, ()).chosen(twice).patch
    assert (patch.dropped, len(patch.set_aside)) == ((A, A), 2)
