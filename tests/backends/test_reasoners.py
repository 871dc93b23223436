"""Only the answer of a reasoning model is scored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.backends.reasoners import answer_only


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>Hm, 7?</think>\n\n<answer>7</answer>\n", "<answer>7</answer>\n"),
        ("\n <think>\na\n</think>b", "b"),
        ("<think>\n\n</think>\n\nb", "b"),
        ("opened by the template</think>\nb", "b"),
        ("<think>cut in the middle of a", ""),
        ("<think>a</think>", ""),
        ("<think>a</think>b </think> c", "b </think> c"),
        ("Write <think>so</think> around it", "Write <think>so</think> around it"),
        (" plain \n", " plain \n"),
        ("", ""),
    ],
)
def test_a_think_block_at_the_start_is_left_out(text, answer):
    assert answer_only(text) == answer


@given(st.text(), st.text())
def test_whatever_was_thought_the_answer_stays_byte_for_byte(thought, answer):
    thought, answer = thought.replace("</think>", ""), answer.lstrip()
    assert answer_only(f"<think>{thought}</think>\n\n{answer}") == answer


@given(st.text().filter(lambda text: "think>" not in text))
def test_a_text_without_such_a_block_is_left_as_it_is(text):
    assert answer_only(text) == text
