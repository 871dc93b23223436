from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.task import Attempt, Brief, Message, Section, Task
from skillopt_cli.stages.digest import BUDGET, clipped, digest
from skillopt_cli.stages.prompt_text import trajectory_text
from skillopt_cli.testing import ToyBenchmark


def step(number: int, result: str = "fine", *, failed: bool = False) -> list[Message]:
    call = ToolCall(f"c{number}", "exec", f"command-{number}")
    return [
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", result, call_id=call.id, failed=failed),
    ]


def steps(count: int, size: int, failing: int | None) -> list[Message]:
    made: list[Message] = [Message("user", "the task")]
    for number in range(count):
        wrong = number == failing
        text = f"start-{number} {'x' * size} {'WRONG HERE' if wrong else 'end'}"
        made += step(number, text, failed=wrong)
    return [*made, Message("assistant", "I am done")]


@pytest.mark.parametrize("failing", [0, 1, 57, 98, 99])
def test_a_trace_of_200_000_characters_is_short_and_holds_the_failing_step(failing: int) -> None:
    messages = steps(100, 2_000, failing)
    assert sum(len(message.content) for message in messages) > 200_000
    text = digest(messages)
    assert len(text) < BUDGET + 500
    assert f"{failing + 1}. exec: command-{failing}\n   failed: start-{failing}" in text
    assert "WRONG HERE" in text
    assert "steps left out)" in text
    assert "1. exec: command-0" in text and "101. said: I am done" in text


def test_one_enormous_failing_step_keeps_its_beginning_and_its_end() -> None:
    text = digest([*step(0, f"begin {'x' * 200_000} Traceback: boom", failed=True)])
    assert len(text) < 3_000
    assert "begin" in text and "Traceback: boom" in text and "characters left out" in text


def test_a_short_trace_is_whole_and_in_order() -> None:
    call = ToolCall("w", "edit", '{"path": "a"}')
    messages = [
        Message("user", "task"),
        Message("assistant", "I look first."),
        *step(1, "", failed=False),
        *step(2, "exit code 1\nno such file", failed=True),
        Message("assistant", "", tool_calls=(call,)),
    ]
    assert digest(messages) == (
        "1. said: I look first.\n"
        "2. exec: command-1\n"
        "3. exec: command-2\n"
        "   failed: exit code 1\nno such file\n"
        '4. edit: {"path": "a"}\n'
        "   failed: (nothing)"
    )


def test_an_attempt_without_tools_has_no_digest() -> None:
    assert digest([Message("system", "s"), Message("user", "u"), Message("assistant", "a")]) == ""


@given(st.integers(1, 60), st.integers(0, 900), st.integers(0, 59), st.integers(500, 9_000))
def test_the_failing_step_is_there_whatever_the_room(
    count: int, size: int, failing: int, budget: int
) -> None:
    messages = steps(count, size, failing % count)
    text = digest(messages, budget)
    assert "WRONG HERE" in text and f"command-{failing % count}\n" in text


@given(st.text(), st.integers(3, 50))
def test_a_clipped_text_keeps_both_ends(text: str, length: int) -> None:
    cut = clipped(text, length)
    assert cut == text if len(text) <= length else cut.endswith(text[-length // 2 :])
    assert cut.startswith(text[: length // 3])


def test_reflection_reads_the_steps_and_learns_that_the_skill_was_not_loaded() -> None:
    benchmark = ToyBenchmark({"train": 1})
    task = benchmark.tasks("train")[0]
    messages = (*step(1, "boom", failed=True), Message("assistant", "x"))
    attempt = Attempt("x", messages, skill_loaded=False, trace="{}")
    text = trajectory_text(benchmark, Trajectory(task, attempt, Score(0.0, 0.0)), 1)
    assert "### Steps\n1. exec: command-1\n   failed: boom" in text
    assert "### Note\nThe agent did not load the skill." in text
    plain = trajectory_text(benchmark, Trajectory(task, Attempt("x"), Score(0.0, 0.0)), 1)
    assert "### Steps" not in plain and "### Note" not in plain


def test_a_brief_with_whole_documents_leaves_room_for_other_trajectories() -> None:
    class Long(ToyBenchmark):
        def brief(self, task: Task) -> Brief:
            return Brief(task.id, "You read.", (Section("Pages", f"first {'x' * 50_000} last"),))

    benchmark = Long({"train": 1})
    task = benchmark.tasks("train")[0]
    text = trajectory_text(benchmark, Trajectory(task, Attempt("x"), Score(0.0, 0.0)), 1)
    assert len(text) < 9_000
    assert "### Pages\nfirst x" in text
    assert "x last\n" in text
