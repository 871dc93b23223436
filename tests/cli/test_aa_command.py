"""`skillopt aa`."""

from __future__ import annotations

from pathlib import Path

from command_line import SMALLEST, finished_run, refused, skillopt


def test_a_gate_is_measured_against_itself_and_the_run_s_attempts_are_used_again() -> None:
    finished_run(*SMALLEST)
    ended = skillopt("aa", "a:seed", "--repeats", "3", "--run-id", "x", "--json")
    assert ended.code == 0, ended.err
    found = ended.json
    n = found["n_items"]
    assert f"{n * 2} attempts to make, {n} in the journal" in ended.err
    assert 0.0 <= found["false_accept_rate"] <= 1.0
    assert found["accepted"] == round(found["false_accept_rate"] * found["comparisons"])
    again = skillopt("aa", "a:seed", "--repeats", "3", "--run-id", "y")
    assert f"0 attempts to make, {n * 3} in the journal" in again.err
    assert "gate accepts this skill against itself in" in again.out


def test_a_file_needs_a_benchmark_and_one_attempt_is_not_enough() -> None:
    Path("mine.md").write_text("# Mine\n", encoding="utf-8")
    assert skillopt("aa", "mine.md", "searchqa", *SMALLEST, "--repeats", "2").code == 0
    refused(2, "aa", "mine.md", "searchqa", *SMALLEST, "--repeats", "1")
