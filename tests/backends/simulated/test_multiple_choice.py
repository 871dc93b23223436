"""The simulated target in front of options."""

from __future__ import annotations

import re

import pytest

from skillopt_cli.backends.simulated.solvers import solve
from skillopt_cli.backends.simulated.world import FAMILIES, family_of, harm, needed
from skillopt_cli.core.task import ChatRequest, Message, Tool

OPTIONS = "## Options\nA. a lamp\nB. a kettle\nC. a wall clock\nD. a broom"
QUESTIONS = [f"What is thing {n} called?" for n in range(80)]
TAGS = "End with <answer>letter</answer>"


def request(question: str, told: str = TAGS, options: str = OPTIONS, context: str = ""):
    parts = ([f"## Context\n{context}"] if context else []) + [f"## Question\n{question}", options]
    messages = (Message("system", told), Message("user", "\n\n".join(parts)))
    return ChatRequest(messages, "rollout")


def played(question: str, told: str = TAGS, options: str = OPTIONS, context: str = "") -> str:
    reply = solve(request(question, told, options, context))
    assert reply is not None
    return reply.text


def taught(question: str) -> str:
    return "\n".join((*needed(family_of(question)), TAGS))


def test_a_taught_target_guesses_evenly_and_always_the_same() -> None:
    replies = [played(question, taught(question)) for question in QUESTIONS]
    assert replies == [played(question, taught(question)) for question in QUESTIONS]
    letters = [match[1] for r in replies if (match := re.fullmatch("<answer>(.)</answer>", r))]
    assert len(letters) == len(QUESTIONS)
    assert all(10 <= letters.count(letter) <= 30 for letter in "ABCD")


def test_without_the_rules_of_its_family_it_names_two_options() -> None:
    split = {True: 0, False: 0}
    for question in QUESTIONS:
        split[" or " in played(question)] += 1
        assert (" or " in played(question)) == bool(needed(family_of(question)))
    assert split[True] > split[False] > 0


def test_harm_undoes_what_it_was_taught() -> None:
    for question in QUESTIONS[:FAMILIES]:
        harmed = harm(family_of(question)) + "\n" + taught(question)
        assert " or " in played(question, harmed)


def test_the_order_of_the_options_does_not_move_the_guess() -> None:
    turned = "## Choices\n(A) a broom\n(B) a wall clock\n(C) a kettle\n(D) a lamp"
    for question in QUESTIONS[:10]:
        one, other = (
            played(question, taught(question), options)[len("<answer>")]
            for options in (OPTIONS, turned)
        )
        assert "ABCD".index(one) == 3 - "ABCD".index(other)


def test_it_takes_the_option_the_text_speaks_of() -> None:
    text = "The cook bought a kettle in Ghent. The broom stood in the yard."
    question = "What did the cook buy? What bought?"
    assert played(question, taught(question), context=text) == "<answer>B</answer>"


@pytest.mark.parametrize(
    ("told", "form"),
    [
        ("Put the letter into \\boxed{...}", r"\\boxed\{[A-D].*\}"),
        ("A skill with <answer> in it.\n\nPut it into \\boxed{...}", r"\\boxed\{[A-D].*\}"),
        ("Say the letter.", r"[A-D]( or [A-D])?"),
    ],
)
def test_it_marks_the_answer_as_it_is_told(told: str, form: str) -> None:
    assert re.fullmatch(form, played(QUESTIONS[0], told))


def test_other_requests_are_not_its_own() -> None:
    whole = request(QUESTIONS[0])
    one_line = request(QUESTIONS[0], options="## Options\nA. a lamp")
    other_title = request(QUESTIONS[0], options="## Notes\nA. a lamp\nB. a kettle")
    tools = ChatRequest(whole.messages, "rollout", tools=(Tool("look", "looks", {}),))
    schema = ChatRequest(whole.messages, "reflect", schema={"type": "object"})
    assert solve(whole) is not None
    assert all(solve(one) is None for one in (one_line, other_title, tools, schema))
