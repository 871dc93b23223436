import pytest

from skillopt_cli.benchmarks.kit.answers import contrast, extract_answer, tagged_or_all


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<answer>Paris</answer>", "Paris"),
        ("I think <ANSWER> Paris\n</Answer> is it", "Paris"),
        ("<answer>Rome</answer> no, <answer>Paris</answer>", "Paris"),
        ("<answer>line one\nline two</answer>", "line one\nline two"),
        ("My <answer> tag comes last. <answer>Paris</answer>", "Paris"),
        ("<answer></answer>", ""),
        ("It is a city.\nParis\n\n  ", "Paris"),
        ("<answer>Paris", "Paris"),
        ("I think so.\n<ANSWER> Paris \n", "Paris"),
        ("<answer>\nParis", "Paris"),
        ("Paris\n</answer>", "Paris"),
        ("<answer>\n", ""),
        ("Paris </answer>", "Paris"),
        ("<response>\nParis\n</response>\n", "Paris"),
        ("<response>Paris</response>", "Paris"),
        ("It goes between <answer> tags", "It goes between <answer> tags"),
        ("one line\u2028still one", "one line\u2028still one"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_extract_answer(reply: str, answer: str) -> None:
    assert extract_answer(reply) == answer


def test_tagged_or_all_keeps_every_line_without_tags() -> None:
    assert tagged_or_all(" one\ntwo ") == "one\ntwo"
    assert tagged_or_all("one <answer> two </answer>") == "two"


def test_a_hundred_thousand_open_tags_are_read_at_once() -> None:
    reply = "<answer>" * 100_000 + "Paris</answer>"
    assert extract_answer(reply) == "Paris"


@pytest.mark.timeout(120)
def test_a_long_stretch_of_blanks_is_read_at_once() -> None:
    reply = f"Paris{' ' * 1_000_000}France"
    assert extract_answer(reply) == reply


def test_contrast_is_one_line_and_bounded() -> None:
    assert contrast(["a"], " ") == 'expected "a", got an empty answer'
    long = contrast(["a\nb"], "x " * 1000)
    assert "\n" not in long
    assert len(long) < 250
