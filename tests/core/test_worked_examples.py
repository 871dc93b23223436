"""Marks of worked examples: for people and the guard, never for a target."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("Q: a\nA: b\n- Be brief.\n- Cite.\n", "Q: a\nA: b\n\n- Be brief.\n- Cite.\n"),
        ("Q: a\r\nA: b\r\n- Be brief.\r\n", "Q: a\r\nA: b\r\n\r\n- Be brief.\r\n"),
        ("Q: a\nA: b\n- Be brief.", "Q: a\nA: b\n\n- Be brief."),
        # A list of the task itself, and what stands apart already.
        ("Q:\n- a\n- b\nA: b\n", None),
        ("Q: a\nA: b\n\n- Be brief.\n", None),
        ("- a\n- b\n", None),
    ],
)
def test_rules_right_below_an_example_are_set_apart_where_it_is_shipped(
    text: str, apart: str | None
) -> None:
    marked = f"# Skill\n\n- One.\n{mark('t1')}{text}"
    expected = f"# Skill\n\n- One.\n{apart or text}"
    assert SkillDocument(marked).shipped() == expected
    assert SkillDocument(expected).shipped() == expected
