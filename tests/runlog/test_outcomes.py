"""Outcomes in a byte each hold what the outcomes one by one do."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.events import RolloutFinished, StageFinished, StageStarted
from skillopt_cli.runlog.outcomes import Outcome, Outcomes, mean_outcome
from skillopt_cli.runlog.rounds import closed, noted, opened

TASKS = ("t1", "t2", "t10", "ü", "\udcff")
PAIRS = st.one_of(st.just((None, None)), st.tuples(st.floats(0, 1), st.floats(0, 1)))
MADE = st.lists(st.builds(lambda task, pair: Outcome(task, *pair), st.sampled_from(TASKS), PAIRS))


@given(MADE)
def test_all_are_there_by_task_and_in_the_order_they_ended(made: list[Outcome]) -> None:
    packed = Outcomes.of(made)
    assert list(packed) == sorted(made, key=lambda one: one.task)
    assert len(packed) == len(made)
    for task in TASKS:
        own = [one for one in made if one.task == task]
        assert packed.at(task) == own
        assert list(packed.by_task.get(task, ())) == own
        assert packed.averaged.at(task) == ([mean_outcome(own)] if own else [])
    assert packed.repeated == (len({one.task for one in made}) < len(made))
    assert pickle.loads(pickle.dumps(packed)) == packed


def test_more_different_scores_than_a_byte_has_values() -> None:
    made = [Outcome(f"t{i:03d}", i / 300, i / 300) for i in range(300)]
    packed = Outcomes.of(made)
    assert list(packed) == made
    assert not isinstance(packed.codes, bytes)
    assert isinstance(Outcomes.of(made[:256]).codes, bytes)


def test_stages_of_the_same_tasks_share_their_ids_and_scores() -> None:
    first, second = (
        Outcomes.of([Outcome(f"task {i}", i % 2, 0.5) for i in order])
        for order in (range(20), reversed(range(20)))
    )
    assert first.tasks is second.tasks
    assert len(first.pairs) == 2


def test_attempts_that_end_after_their_stage_count() -> None:
    rounds = opened((), StageStarted(1, "measure", 3, 1), closing=False, training=True)
    for number, task in enumerate("cab"):
        rounds = noted(rounds, RolloutFinished(1, "measure", task, 1.0, 1.0, "answered", False))
        assert rounds[0].attempts == len(rounds[0].outcomes) == number + 1
        if number < 2:
            rounds = closed(rounds, StageFinished(1, "measure"))
            assert not rounds[0].chunks
    assert [one.task for one in rounds[0].outcomes] == ["a", "b", "c"]
    other = closed(rounds, StageFinished(2, "measure"))
    assert other == rounds
