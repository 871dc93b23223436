"""SealQA's score: what needs no judge, and what a judge's words mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from skillopt_cli.benchmarks.sealqa import SealQA
from skillopt_cli.core.score import Private, Score
from skillopt_cli.core.task import Attempt, Message, Task
from skillopt_cli.ports import BenchmarkRequest

GOLDS = ("Greta Holm",)
REPLY = "I weighed it.\n<answer>Pavel Niemi</answer>"
SEALQA = SealQA(BenchmarkRequest(data_root=Path()))


def task(references: Sequence[str]) -> Task:
    return Task("q", "people", {"question": "Who is it?", "answers": list(references)})


def clear_score(reply: str, references: Sequence[str]) -> Score | None:
    return SEALQA.clear_score(task(references), SEALQA.answered(reply))


def judged_score(verdict: str, reply: str, references: Sequence[str]) -> Score | None:
    return SEALQA.hear_judge(task(references), Attempt(reply), verdict)


def question_for_judge(references: Sequence[str], reply: str) -> tuple[Message, ...]:
    asked = SEALQA.ask_judge(task(references), Attempt(reply))
    assert not isinstance(asked, Score)
    return asked


@pytest.mark.parametrize(
    ("reply", "hard"),
    [
        ("<answer>Greta Holm</answer>", 1.0),
        ("<answer>greta  holm.</answer>", 1.0),
        ('<answer>"Greta Holm"</answer>', 1.0),
        ("<answer>The Greta Holm</answer>", 1.0),
        ("<answer>Pavel</answer> no: <answer>Greta Holm</answer>", 1.0),
        ("<answer>Greta Holm</answer> no: <answer>Pavel</answer>", None),
        ("It is so.\nGreta Holm", 1.0),
        ("<answer>Mayor Greta Holm</answer>", None),
        ("<answer>Greta Holm or Pavel Niemi</answer>", None),
        ("<answer>not Greta Holm</answer>", None),
        ("<answer>Greta</answer>", None),
        ("<answer>I do not know</answer>", None),
        ("<answer>?!</answer>", None),
        ("<answer></answer>", 0.0),
        ("<answer> \n </answer>", 0.0),
        ("", 0.0),
        (" \n", 0.0),
    ],
)
def test_only_what_equals_the_reference_or_is_empty_is_clear(
    reply: str, hard: float | None
) -> None:
    score = clear_score(reply, GOLDS)
    assert (None if score is None else score.hard) == hard


@pytest.mark.parametrize(
    ("reference", "answer"),
    [("1.5", "15"), ("-5", "5"), ("10%", "10"), ("<5", ">5"), ("C++", "C"), ("5-7", "57")],
)
def test_what_differs_in_a_sign_is_left_to_the_judge(reference: str, answer: str) -> None:
    assert clear_score(f"<answer>{answer}</answer>", [reference]) is None


@pytest.mark.parametrize("reply", ["<answer>1,966</answer>", "<answer>in 1966</answer>"])
def test_containing_the_reference_is_not_enough(reply: str) -> None:
    score = clear_score(reply, ("1966",))
    assert score is None or score.hard == 1.0
    assert clear_score("<answer>11966</answer>", ("1966",)) is None


def test_any_of_several_references_will_do() -> None:
    score = clear_score("<answer>NYC</answer>", ("New York City", "NYC"))
    assert score is not None
    assert score.hard == 1.0
    assert score.expected == ("New York City", "NYC")


WRONG = 'expected "Greta Holm", got "Pavel Niemi"'
OPEN = f"{WRONG}; it leaves the question open"


@pytest.mark.parametrize(
    ("verdict", "hard", "feedback"),
    [
        ("CORRECT", 1.0, ""),
        ("correct.", 1.0, ""),
        ("A", 1.0, ""),
        ("A: CORRECT", 1.0, ""),
        ("**CORRECT**", 1.0, ""),
        ("The name is the same.\n\nCORRECT", 1.0, ""),
        ('{"grade": "CORRECT"}', 1.0, ""),
        ("INCORRECT", 0.0, WRONG),
        ("B", 0.0, WRONG),
        ("Grade: incorrect", 0.0, WRONG),
        ("NOT_ATTEMPTED", 0.0, OPEN),
        ("C", 0.0, OPEN),
        ("(C)", 0.0, OPEN),
        ("not attempted", 0.0, OPEN),
    ],
)
def test_a_verdict_is_a_score(verdict: str, hard: float, feedback: str) -> None:
    score = judged_score(verdict, REPLY, GOLDS)
    assert score is not None
    assert (score.hard, score.soft, score.feedback) == (hard, hard, feedback)
    assert score.private == Private(verdict)
    assert verdict not in score.feedback


@pytest.mark.parametrize(
    "verdict",
    ["", "D", "Answer: maybe", "not correct", "CORRECT or INCORRECT", "A B", "A: B", "All right"],
)
def test_what_is_no_verdict_is_none(verdict: str) -> None:
    assert judged_score(verdict, REPLY, GOLDS) is None


def test_the_judge_sees_question_reference_and_answer_and_no_more() -> None:
    system, user = question_for_judge(("Greta Holm", "G. Holm"), REPLY)
    assert user.content == (
        "## Question\nWho is it?\n\n## Reference answer\nGreta Holm or G. Holm\n\n"
        "## Answer to judge\n> Pavel Niemi"
    )
    assert system.content.endswith("Reply with one word: CORRECT, INCORRECT, NOT_ATTEMPTED.")
