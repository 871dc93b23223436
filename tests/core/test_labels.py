"""Labels recur over tasks, secrets belong to one."""

from __future__ import annotations

import pytest

from skillopt_cli.core.labels import MOST_LABELS, Labels, TaskAnswers, find_labels, named_choice


def answers(*references: str) -> list[TaskAnswers]:
    return [TaskAnswers(f"t{n}", (text,)) for n, text in enumerate(references)]


def test_answers_of_many_tasks_are_labels_and_the_others_are_secrets() -> None:
    found = find_labels(answers(*["billing", "login", "Billing "] * 3, "a lost parcel"))
    assert found == Labels(("billing", "login"), (("a lost parcel", "t9"),))


@pytest.mark.parametrize(
    "references",
    [
        pytest.param(
            ["Oslo", "Oslo", "Oslo", *"abcdefghijk", "Rome", "Rome", "Rome"], id="few_tasks_covered"
        ),
        pytest.param([*"aabbccddeeff"], id="two_tasks_each"),
        pytest.param(["yes"] * 12, id="one_answer"),
        pytest.param(["yes", "no", "yes"] * 3, id="few_tasks"),
        pytest.param([f"l{n}" for n in range(MOST_LABELS + 1)] * 3, id="too_many"),
        pytest.param([], id="no_tasks"),
    ],
)
def test_what_is_no_label_set_names_nothing(references: list[str]) -> None:
    assert find_labels(answers(*references)).names == ()


def test_a_recurring_answer_is_no_secret_even_where_there_is_no_label_set() -> None:
    found = find_labels(answers("Oslo", "Oslo", "Rome", "Bonn", "Bern", "Riga"))
    assert {text for text, _ in found.secrets} == {"Rome", "Bonn", "Bern", "Riga"}


def test_options_that_most_tasks_offer_are_labels_and_an_option_of_one_task_is_a_secret() -> None:
    tasks = [
        TaskAnswers("t0", ("yes",), ("yes", "no", "perhaps")),
        TaskAnswers("t1", ("no",), ("yes", "no")),
        TaskAnswers("t2", ("the blue door",), ("the blue door", "the red door")),
    ]
    found = find_labels(tasks)
    assert found.names == ("no", "yes")
    assert found.secrets == (
        ("the blue door", "t2"),
        ("perhaps", "t0"),
        ("the red door", "t2"),
    )


def test_other_wordings_of_one_task_do_not_recur() -> None:
    tasks = [TaskAnswers("t0", ("NATO", "nato", "the alliance"))]
    assert find_labels(tasks).names == ()
    assert len(find_labels(tasks).secrets) == 2


@pytest.mark.parametrize(
    ("reference", "text"),
    [("B. rye", "rye"), ("b", "rye"), ("Rye", "rye"), ("C", "C"), ("barley", "barley")],
)
def test_a_reference_names_an_option_by_letter_or_text(reference: str, text: str) -> None:
    assert named_choice(reference, ("corn", "rye")) == text


def test_the_label_of_references_keeps_its_spelling() -> None:
    labels = Labels(("Billing", "Login"))
    assert labels.label_of(["other", "LOGIN"]) == "Login"
    assert labels.label_of(["other"]) is None
