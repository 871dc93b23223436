"""Marks over several draws, and pairs of skills."""

from __future__ import annotations

from skillopt_cli.core.repeats import Repeated, compared, mean_mark
from skillopt_cli.core.score import BROKEN, HARD, Mark
from skillopt_cli.core.skill import SkillDocument

RIGHT, WRONG = Mark(1.0, 1.0), Mark(0.0, 0.25)


def arm(**draws: tuple[Mark, ...]) -> Repeated:
    return Repeated(SkillDocument("s\n"), draws)


def test_draws_are_averaged_inside_their_task_without_the_broken_ones() -> None:
    found = arm(a=(RIGHT, WRONG), b=(RIGHT, BROKEN), c=(BROKEN, BROKEN))
    assert found.averaged.marks == {"a": Mark(0.5, 0.625), "b": RIGHT, "c": BROKEN}
    assert found.averaged.hard == 0.75
    assert (found.attempts, found.scored, found.coverage) == (6, 3, 0.5)
    assert found.values(HARD) == {"a": [1.0, 0.0], "b": [1.0], "c": []}


def test_a_task_is_flaky_where_two_scored_draws_differ() -> None:
    found = arm(a=(RIGHT, WRONG), b=(RIGHT, BROKEN), c=(WRONG, WRONG), d=(RIGHT, Mark(1.0, 0.5)))
    assert found.flaky == ("a", "d")


def test_an_average_of_one_draw_is_that_draw() -> None:
    assert mean_mark([Mark(0.1, 0.2)]) == Mark(0.1, 0.2)
    assert mean_mark([]) == BROKEN


def test_every_pair_is_compared_on_the_tasks_both_have() -> None:
    first = arm(a=(WRONG,), b=(WRONG,), c=(BROKEN,), d=(RIGHT,))
    second = arm(a=(RIGHT,), b=(RIGHT,), c=(RIGHT,), d=(RIGHT,))
    third = arm(a=(WRONG,), b=(RIGHT,), c=(RIGHT,), d=(WRONG,))
    found = {(p.first, p.second): p for p in compared({"x": first, "y": second, "z": third}, HARD)}
    assert list(found) == [("x", "y"), ("x", "z"), ("y", "z")]
    won = found["x", "y"]
    assert (won.gain, won.won, won.lost, won.tied) == (2 / 3, 2, 0, 1)
    assert won.p_value == 0.5
    assert won.interval is not None
    assert won.interval[0] < 2 / 3 < won.interval[1]
    lost = found["y", "z"]
    assert (lost.gain, lost.won, lost.lost, lost.tied) == (-0.5, 0, 2, 2)


def test_the_same_marks_are_a_tie_and_nothing_in_common_is_unknown() -> None:
    some = arm(a=(RIGHT,), b=(WRONG,))
    (same,) = compared({"x": some, "y": some}, HARD)
    assert (same.gain, same.won, same.lost, same.tied, same.p_value) == (0.0, 0, 0, 2, 1.0)
    (none,) = compared({"x": some, "y": arm(a=(BROKEN,), b=(BROKEN,))}, HARD)
    assert (none.gain, none.tied, none.p_value, none.interval) == (None, 0, 1.0, None)


def test_graded_scores_count_by_how_far_they_differ() -> None:
    first = arm(**{f"t{i}": (Mark(0.2, 0.2),) for i in range(6)})
    second = arm(**{f"t{i}": (Mark(0.1 if i == 0 else 0.9, 0.5),) for i in range(6)})
    (pair,) = compared({"x": first, "y": second}, HARD)
    assert (pair.won, pair.lost) == (5, 1)
    assert pair.p_value == 2 * 2 / 2**6, "only the smallest difference may have its sign turned"
    assert pair.p_corrected == pair.p_value


def test_repeating_every_draw_changes_nothing() -> None:
    first, second = {"a": (WRONG,), "b": (RIGHT,)}, {"a": (RIGHT,), "b": (RIGHT,)}
    doubled = [{t: marks * 2 for t, marks in draws.items()} for draws in (first, second)]
    once = compared({"x": arm(**first), "y": arm(**second)}, HARD)
    assert compared({"x": arm(**doubled[0]), "y": arm(**doubled[1])}, HARD) == once
