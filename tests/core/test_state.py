"""How a step moves the state on, and what it teaches later steps."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.core.gate import EPSILON, GatePolicy, GateRule, gain, gate, surpasses
from skillopt_cli.core.plan import LearningRate, TrainPlan
from skillopt_cli.core.score import HARD, SOFT, Mark, Measured, Metric, Score, Settled, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import (
    Lesson,
    Reflection,
    TrainState,
    lesson_from,
    optimizer_was_silent,
    stop_reason,
)
from skillopt_cli.core.task import Attempt, Task
from skillopt_cli.stages.prompt_text import lessons_text

RULE = GateRule(HARD)
PLAN = TrainPlan(2, 4, 2, 1, 42, LearningRate(4, 2))
STEP = PLAN.step(3)


def measured(text: str, *scores: float) -> Measured:
    return Measured(SkillDocument(text), {f"t{i}": Mark(s, s / 2) for i, s in enumerate(scores)})


def decide(state: TrainState, new: Measured | Settled, **rule: bool) -> TrainState:
    decision = gate(new, state.current, state.best, GateRule(**rule))  # type: ignore[arg-type]
    return state.after_step(STEP, lesson(), new, decision)


def lesson(**more: int) -> Lesson:
    return Lesson(3, 4, 2, **more)  # type: ignore[arg-type]


SEED = measured("seed", 1, 0, 0)
START = TrainState(SEED, SEED, done=2, idle=1)


def test_a_new_best_becomes_current_and_best() -> None:
    state = decide(START, measured("new", 1, 1, 0))
    assert (state.current.skill.text, state.best.skill.text) == ("new", "new")
    assert (state.current_step, state.best_step, state.idle, state.done) == (3, 3, 0, 3)
    assert state.lessons == (lesson(),)
    assert (state.gates, state.undecided) == (1, 0)


def test_an_accept_below_the_best_moves_only_the_current() -> None:
    best = measured("best", 1, 1, 1)
    state = decide(replace(START, best=best, best_step=1), measured("new", 1, 1, 0))
    assert (state.current.skill.text, state.best.skill.text) == ("new", "best")
    assert (state.current_step, state.best_step) == (3, 1)


@pytest.mark.parametrize(
    "new",
    [
        measured("new", 0, 0, 0),
        Settled(SkillDocument("new"), {"t1": Mark(0.0, 0.0)}, 0.3, 3),
        Measured(SkillDocument("new"), {f"t{i}": Mark(None, None) for i in range(3)}),
    ],
)
def test_whatever_is_not_accepted_leaves_text_and_score_alone(new: Measured | Settled) -> None:
    state = decide(START, new)
    assert (state.current, state.best) == (SEED, SEED)
    assert (state.idle, state.done, state.gates) == (2, 3, 1)


def test_indecisive_gates_are_counted() -> None:
    broken = Measured(SkillDocument("new"), {f"t{i}": Mark(None, None) for i in range(3)})
    state = decide(decide(START, broken), measured("new", 1, 1, 1))
    assert (state.gates, state.undecided) == (2, 1)


def test_a_skipped_step_is_idle_but_no_gate() -> None:
    state = START.after_step(STEP, lesson())
    assert (state.done, state.idle, state.gates, state.current) == (3, 2, 0, SEED)


def test_without_a_gate_a_worse_text_takes_its_own_score_along() -> None:
    state = decide(START, measured("new", 0, 0, 0), use_gate=False)
    assert (state.current, state.current_step) == (measured("new", 0, 0, 0), 3)
    assert (state.best, state.best_step) == (SEED, 0)


def test_without_a_gate_the_best_measured_text_stays_the_best() -> None:
    better, equal = measured("better", 1, 1, 0), measured("equal", 0, 1, 1)
    state = decide(START, better, use_gate=False)
    assert (state.current, state.best, state.best_step) == (better, better, 3)
    state = decide(state, equal, use_gate=False)
    assert (state.current, state.best) == (equal, better)
    marks = {"t0": Mark(1, 1), "t1": Mark(1, 1), "t2": Mark(None, None)}
    unknown = Measured(SkillDocument("new"), marks)
    assert decide(START, unknown, use_gate=False).best == SEED


@pytest.mark.parametrize(
    ("policy", "best_step", "best"),
    [("not_worse", 1, "new"), ("not_worse", 0, "best"), ("strict", 1, "best")],
)
def test_where_ties_are_accepted_the_later_of_equal_texts_is_the_best_but_never_over_the_seed(
    policy: GatePolicy, best_step: int, best: str
) -> None:
    current = measured("best", 1, 1, 0)
    state = replace(START, current=current, best=current, best_step=best_step)
    rule, new = GateRule(policy=policy), measured("new", 0, 1, 1)
    decision = gate(new, current, current, rule, ties_lead=state.ties_lead(rule))
    assert decision.accepted == decision.tied == (policy == "not_worse")
    # A tie is no new best, even where it takes the place of the best text.
    assert decision.verdict == ("accept" if decision.accepted else "reject")
    assert decision.leads == decision.ties_best == (best == "new")
    assert state.after_step(STEP, lesson(), new, decision).best.skill.text == best


def test_an_epoch_forgets_its_lessons() -> None:
    state = START.after_step(STEP, lesson())
    assert state.after_epoch() == replace(state, lessons=(), epoch_skill=state.current.skill)


def trajectories() -> list[Trajectory]:
    def one(name: str, hard: float | None) -> Trajectory:
        ending = "broken" if hard is None else "answered"
        score = None if hard is None else Score(hard, hard)
        return Trajectory(Task(name, "k", {}), Attempt("x", ending=ending), score)  # type: ignore[arg-type]

    return [one("a", 1.0), one("b", 0.2), one("c", 0.0), one("d", None)]


EDITS = (Edit("append", "x", support=2),)
REFLECTION = Reflection(
    (Patch(EDITS, patterns=("too long", "too long", "wrong")), Patch(patterns=("too long",))), 3
)


def test_a_lesson_counts_scored_tasks_and_who_named_a_pattern() -> None:
    got = lesson_from(STEP, trajectories(), REFLECTION)
    assert (got.step, got.n_total, got.n_failed) == (3, 3, 2)
    assert got.patterns == (("too long", 2), ("wrong", 1))
    assert (got.asked, got.answered, got.verdict, got.rejected) == (3, 2, None, ())


def test_a_rejected_step_teaches_the_same_whether_or_not_it_was_settled_early() -> None:
    full = measured("new", 0, 0, 0)
    settled = Settled(full.skill, {"t1": Mark(0.0, 0.0), "t2": Mark(0.0, 0.0)}, 1 / 3, 3)
    chosen = Patch(EDITS)
    lessons = [
        lesson_from(STEP, trajectories(), REFLECTION, chosen, gate(new, SEED, SEED, GateRule()))
        for new in (full, settled)
    ]
    assert lessons[0] == lessons[1]
    assert lessons[0].rejected == EDITS
    assert lessons_text(lessons[:1]) == lessons_text(lessons[1:])


def test_only_rejected_edits_are_remembered_as_such() -> None:
    for scores in ((1.0, 1.0, 0.0), (None, None, None)):
        marks = {f"t{i}": Mark(s, s) for i, s in enumerate(scores)}
        decision = gate(Measured(SkillDocument("new"), marks), SEED, SEED, GateRule())
        got = lesson_from(STEP, trajectories(), REFLECTION, Patch(EDITS), decision)
        assert got.verdict in ("new_best", "indecisive")
        assert got.rejected == ()


def test_silence_is_asking_without_one_answer() -> None:
    assert optimizer_was_silent([lesson(asked=2), lesson(asked=0)])
    assert not optimizer_was_silent([lesson(asked=2), lesson(asked=2, answered=1)])
    assert not optimizer_was_silent([lesson()])
    assert not optimizer_was_silent([])


def test_nothing_to_gain_is_full_marks_or_used_up_patience() -> None:
    full = measured("seed", 1, 1)
    done = TrainState(full, full)
    assert "every" in (stop_reason(done, RULE, 0) or "")
    assert stop_reason(done, GateRule(SOFT), 0) is None
    idle = TrainState(SEED, SEED, idle=2)
    assert stop_reason(idle, RULE, 0) is None
    assert stop_reason(idle, RULE, 3) is None
    assert "patience 2" in (stop_reason(idle, RULE, 2) or "")
    # A score of exactly nought is a score.
    nought = TrainState(measured("seed", 0, 0), measured("seed", 0, 0))
    assert stop_reason(nought, RULE, 0) is None


def marked(*hard: float | None, text: str = "seed") -> TrainState:
    marks = {f"t{i}": Mark(h, h) for i, h in enumerate(hard)}
    return TrainState(Measured(SkillDocument(text), marks), Measured(SkillDocument(text), marks))


@pytest.mark.parametrize(
    ("policy", "hard", "stops"),
    [
        ("strict", (1, 1, None), True),  # what is left is broken
        ("strict", (1, 1, 0), False),
        ("not_worse", (1, 1, 0), False),
        ("paired", (1, 0, 0, 0), True),  # three wins happen by chance in one of eight cases
        ("paired", (0, 0, 0, 0), False),
        ("paired", (None, 0, 0, 0), True),
        ("strict", (None, None), True),  # nothing to be compared with
        ("not_worse", (None, None), False),
        ("pooled", (None, None), False),  # measured again in each step
    ],
)
def test_training_ends_when_no_candidate_could_be_accepted(
    policy: GatePolicy, hard: tuple[float | None, ...], stops: bool
) -> None:
    state, rule = marked(*hard), GateRule(policy=policy)
    assert (stop_reason(state, rule, 0) is not None) == stops
    # Guidance is judged by another rule, and without a gate everything is accepted.
    full = state.current.mean() == 1.0
    assert (stop_reason(state, rule, 0, guided=True) is not None) == full
    assert (stop_reason(state, replace(rule, use_gate=False), 0) is not None) == full


def test_training_ends_when_the_best_skill_cannot_be_surpassed() -> None:
    state = replace(marked(1, 0), best=measured("best", 1, 1))
    assert "best skill" in (stop_reason(state, GateRule(policy="not_worse"), 0) or "")


GRADED = st.one_of(
    st.none(), st.sampled_from([0.0, 1.0]), st.floats(0, 1), st.sampled_from([1 - 1e-10, 1 - 1e-8])
)


@st.composite
def races(draw: st.DrawFn) -> tuple[TrainState, Measured, GateRule]:
    """A state, marks of a candidate, and a rule."""
    n = draw(st.integers(1, 6))
    texts = ["current", draw(st.sampled_from(["current", "best"])), "new"]
    rows = [draw(st.lists(GRADED, min_size=n, max_size=n)) for _ in texts]
    rows[1] = rows[0] if texts[1] == texts[0] else rows[1]
    current, best, new = (
        Measured(SkillDocument(text), {f"t{i}": Mark(g, g) for i, g in enumerate(row)})
        for text, row in zip(texts, rows, strict=True)
    )
    metric = draw(st.sampled_from([HARD, SOFT, Metric("mixed", 0.3)]))
    policy = draw(st.sampled_from(get_args(GatePolicy)))
    rule = GateRule(metric, draw(st.sampled_from([0.0, 0.9])), policy=policy)
    return TrainState(current, best), new, rule


@given(races())
def test_what_ends_a_training_is_proven(race: tuple[TrainState, Measured, GateRule]) -> None:
    state, candidate, rule = race
    reason = stop_reason(state, rule, 0)
    decision = gate(candidate, state.current, state.best, rule)
    perfect = Measured(candidate.skill, dict.fromkeys(candidate.marks, Mark(1.0, 1.0)))
    if reason is None:
        # Full marks would be accepted, and be the new best.
        if rule.policy != "pooled":
            won = gate(perfect, state.current, state.best, rule)
            assert won.accepted
            assert won.leads or state.best.scored == 0 or state.current.scored == 0
    elif reason.startswith("the current"):
        assert gain(candidate.marks, state.current.marks, rule.metric) <= 2 * EPSILON * 6
    elif reason.startswith("the best"):
        assert not surpasses(candidate, state.best, rule)
    else:
        assert not decision.accepted
