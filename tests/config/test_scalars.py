"""Plain scalars stay as written until their key says what they are."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_cli.config.scalars import (
    MOST_UNFOLDED,
    Written,
    dump_yaml,
    read_value,
    read_yaml,
    settle_written,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("-3", -3),
        ("1_000", 1000),
        ("0x10", 16),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("yes", True),
        ("Off", False),
        ("null", None),
        ("", None),
        ("007", "007"),
        ("2:1:7", "2:1:7"),
        ("2024-01-01", "2024-01-01"),
        ("'4'", "4"),
        ("[1, 007, a]", [1, "007", "a"]),
        ("{a: 1}", {"a": 1}),
        ("a: 1", "a: 1"),
        ("# no comment", "# no comment"),
        ("[open", "[open"),
        ("*anchor", "*anchor"),
        ("<<", "<<"),
    ],
)
def test_a_text_is_read_by_the_core_schema(text: str, value: Any) -> None:
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)


def test_plain_scalars_of_a_document_are_kept_and_quoted_ones_are_texts() -> None:
    found = read_yaml("a: 007\nb: '4'\nc:\nd: [1, x]\n")
    assert isinstance(found["a"], Written)
    assert found["b"] == "4"
    assert not isinstance(found["b"], Written)
    assert found["c"] is None
    assert settle_written(found["d"]) == [1, "x"]


@pytest.mark.parametrize("text", ["a: 1\na: 2", "x:\n  a: 1\n  b: 2\n  a: 3", "a: [", "a: !py x"])
def test_a_key_twice_and_bad_yaml_are_errors(text: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError):
        read_yaml(text)


@pytest.mark.parametrize("text", ["[!!bool 1]", "[!!int x]", "[!!timestamp x]", "[" * 5000])
def test_a_value_that_cannot_be_what_it_says_is_no_yaml(text: str) -> None:
    assert read_value(text) == text


def test_brackets_without_end_are_no_yaml() -> None:
    with pytest.raises(yaml.MarkedYAMLError, match="too deep"):
        read_yaml("[" * 5000)


@pytest.mark.parametrize("text", ["9" * 5000, f"-{'9' * 5000}", "0x" + "f" * 5000])
def test_a_number_without_end_is_a_text(text: str) -> None:
    assert read_value(text) == text
    assert read_value(f"[{text}]") == [text]


def test_a_merge_key_still_merges() -> None:
    found = read_yaml("base: &b {x: 1, y: 2}\nover:\n  <<: *b\n  y: 3\n")
    assert found["over"] == {"x": "1", "y": "3"}


VALUES = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=12),
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.sampled_from(["007", "1e3", "2:1:7", "yes", "null", "~", "2024-01-01", "0x1", " 4 ", ""]),
)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from("abcd"), VALUES | st.lists(VALUES, max_size=3)))
def test_what_is_dumped_is_read_back(values: dict[str, Any]) -> None:
    found = {key: settle_written(value) for key, value in read_yaml(dump_yaml(values)).items()}
    assert found == values
    assert [type(v) for v in found.values()] == [type(v) for v in values.values()]


def test_aliases_and_merges_are_followed_as_far_as_they_are_few() -> None:
    text = "base: &base {a: 1, b: [1, 2]}\nx: {<<: *base, a: 2}\ny: *base\n"
    base = {"a": 1, "b": [1, 2]}
    assert settle_written(read_yaml(text)) == {"base": base, "x": {**base, "a": 2}, "y": base}
    few = f"a: &a [{', '.join('1' * 99)}]\nb: [{', '.join(['*a'] * (MOST_UNFOLDED // 100))}]\n"
    assert len(read_yaml(few)["b"]) == MOST_UNFOLDED // 100
    with pytest.raises(yaml.YAMLError, match="aliases stand for more than"):
        read_yaml(few + "c: *a\n")
    # What is written out is as long as its file.
    assert len(read_yaml(f"[{', '.join('1' * 2 * MOST_UNFOLDED)}]")) == 2 * MOST_UNFOLDED


def test_an_alias_in_what_it_names_is_refused() -> None:
    for text in ("a: &a [*a]", "&a {b: {c: *a}}", "&a {*a : 1}"):
        with pytest.raises(yaml.YAMLError):
            read_yaml(text)
