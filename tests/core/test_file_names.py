"""File names for task ids."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skillopt_cli.core.formatting import safe_name

NEAR = st.text("aA/.~-_ :\\0", max_size=6)


@pytest.mark.parametrize("task_id", ["42", "nq_dev-0017", "x" * 60, "a-b_c"])
def test_a_plain_id_is_its_own_name(task_id: str) -> None:
    assert safe_name(task_id) == task_id


@pytest.mark.parametrize(
    ("task_id", "stem"),
    [
        ("a/b", "a-b"),  # T8
        ("../../x", "x"),  # T8
        ("CON", "con"),
        ("con", "con"),
        ("lpt9", "lpt9"),
        ("nul.txt", "nul-txt"),
        ("", "task"),
        ("..", "task"),
        ("-rf", "rf"),
        ("Q7", "q7"),
        ("x" * 61, "x" * 40),
        ("a~b", "a-b"),
        ("line\n", "line"),
        ("漢字", "task"),
        ("\ud800", "task"),
    ],
)
def test_any_other_id_gets_a_stem_and_a_hash(task_id: str, stem: str) -> None:
    name = safe_name(task_id)
    assert name.startswith(f"{stem}~")
    assert len(name) == len(stem) + 13


@settings(max_examples=150)
@given(st.sets(st.one_of(st.text(st.characters()), NEAR), max_size=30))
@example({"task", "Task", "TASK"})
@example({"a/b", safe_name("a/b"), safe_name(safe_name("a/b"))})
def test_names_differ_also_where_case_does_not_count_and_stay_inside(ids: set[str]) -> None:
    names = [safe_name(task_id) for task_id in ids]
    assert len({name.casefold() for name in names}) == len(ids)
    for name in names:
        assert name.isascii()
        assert name.isprintable()
        assert not set(name) & set('/\\:*?"<>| .')
        assert name[0] not in "-~"
        assert 0 < len(name) <= 60
