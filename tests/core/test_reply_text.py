"""Reading a reply: the answer alone, whatever a server or a model puts around it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_tables import rows

from skillopt_cli.core.control_characters import CONTROL, terminal_text
from skillopt_cli.core.reply_text import read_text


@pytest.mark.parametrize("row", rows("1_replies"), ids=lambda row: repr(row["reply"]))
def test_a_reply_is_read_as_the_table_shows(row: dict[str, Any]) -> None:
    read = read_text(row["reply"])
    assert read.text == row["answer"]
    assert sorted(read.removed) == sorted(filter(None, row.get("removed", "").split(", ")))
    assert read.unfinished == row.get("unfinished", False)
    assert read_text(read.text).text == read.text


@given(st.text(), st.text())
def test_whatever_was_thought_the_answer_stays_byte_for_byte(thought: str, answer: str) -> None:
    answer = terminal_text(answer).lstrip().removeprefix("\ufeff")
    assert read_text(f"<think>{thought}</think>\n\n{answer}").text == answer


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="<[◁\ufeff")))
def test_a_text_without_anything_of_the_kind_is_left_as_it_is(text: str) -> None:
    if not CONTROL.search(text):
        assert read_text(text).text == text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("thing\n", "thing\n"),
        ("10%\r50%\rthing\n", "thing\n"),
        ("thing\r\n", "thing\r\n"),
        ("working\r\r\nthing\r", "working\r\nthing"),
        ("\x1b]0;title\x07\x1b[1;32mthing\x1b[0m\x1b[K\n", "thing\n"),
        ("a\x08\x00b", "ab"),
    ],
)
def test_a_programs_output_is_what_a_terminal_would_show(output: str, text: str) -> None:
    assert terminal_text(output) == text


PIECES = [
    "<think>", "</think>", "<thinking>", "</reasoning>", "[THINK]", "[/THINK]", "◁/think▷",
    "<|channel|>", "analysis", "final", "<|message|>", "<|end|>", "<|im_end|>", "</s>", "<s>",
    "<|im_start|>assistant", "<|im_start|>user", "{", "}", '{"a": "</think>"}', '"', "`", "\n",
    " ", "\r", "\x1b[31m", "\x00", "\ufeff", "<answer>thing</answer>", "thing", "assistantfinal",
]  # fmt: skip


def check_reading(text: str) -> None:
    """What holds of every reply: no answer comes from a thought, and nothing is left to remove."""
    read = read_text(text)
    assert read_text(read.text).text == read.text
    assert not CONTROL.search(read.text)
    assert not (read.unfinished and read.text)
    assert (read.text == text) or read.removed
    assert read_text(f"{text}\n<think>So <answer>x</answer>,\n").text == ""
    assert "thing" not in read_text(f"{text}\n</think>\nx").text


@settings(max_examples=100)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_every_reply_can_be_read(text: str) -> None:
    check_reading(text)


@pytest.mark.slow
def test_twenty_thousand_replies_can_be_read() -> None:
    draw = Random(18)
    for _ in range(20_000):
        check_reading("".join(draw.choices(PIECES, k=draw.randrange(16))))
