"""Marks of worked examples: for people and the guard, never for a target."""

from __future__ import annotations

from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.worked_examples import mark, without_examples, without_marks

EXAMPLE = "Question: Who?\nAnswer: Ada"


def test_a_target_reads_the_example_without_its_mark() -> None:
    text = f"# Skill\n\n{mark('t1')}{EXAMPLE}\n"
    assert without_marks(text) == f"# Skill\n\n{EXAMPLE}\n"
    assert SkillDocument(text).sent == SkillDocument(f"# Skill\n\n{EXAMPLE}\n")


def test_only_the_marked_paragraph_of_a_known_task_is_taken_out() -> None:
    text = f"Rule.\n\n{mark('t1')}{EXAMPLE}\n\nAfter.\n\n{mark('t2')}{EXAMPLE}"
    assert without_examples(text, ["t1"]) == f"Rule.\n\n\nAfter.\n\n{mark('t2')}{EXAMPLE}"
    assert without_examples(text, []) == text


def test_no_id_ends_its_comment_early() -> None:
    marked = mark("a --> b\n<!-- c")
    assert marked.count("\n") == 1
    assert marked.count("-->") == 1
    assert without_examples(f"{marked}{EXAMPLE}", ["a --> b\n<!-- c"]) == ""
